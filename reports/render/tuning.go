package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// TuningDocument reports a search for settings, the answer first.
func TuningDocument(t *result.Tuning) *Document {
	d := &Document{Title: tuningTitle(t), Subtitle: tuningSubtitle(t), Findings: []string{t.Sentence}}
	if t.Interrupted {
		d.Findings = append(d.Findings, "Interrupted: partial results.")
	}
	add := func(s Section) { d.Sections = append(d.Sections, s) }
	add(Section{Title: "Settings", Text: tuningFragments(t)})
	if len(t.Why) > 0 {
		add(Section{Title: "Why", Table: tuningFacts(t.Why)})
	}
	if len(t.Changes) > 0 {
		var rows [][]Cell
		for _, c := range t.Changes {
			rows = append(rows, Cells(c.If, c.Answer))
		}
		add(Section{Title: "What would change it", Table: Table{Heads: Heads("if", "then, by simulation"),
			Rows: rows}})
	}
	add(Section{Title: "Candidates", Table: candidates(t), Notes: candidateNotes(t)})
	add(Section{Title: "Question", Table: tuningFacts(tuningQuestion(t))})
	return d
}

// tuningTitle names the scenario, or the load of a question without one, which is called
// TuningQuestion.
func tuningTitle(t *result.Tuning) string {
	if t.Scenario == result.TuningQuestion && len(t.Asked) > 0 {
		return "settings for " + t.Asked[0].Value
	}
	return "settings for " + t.Scenario
}

func tuningSubtitle(t *result.Tuning) string {
	took := t.Finished.Sub(t.Started).Seconds()
	return strings.Join([]string{when(t.Started), "took " + short(took) + " s", t.Provider + " cluster"}, " · ")
}

func tuningFacts(all []result.TuningFact) (t Table) {
	t = Table{Heads: Heads("", "")}
	for _, f := range all {
		t.Rows = append(t.Rows, Cells(f.Name, f.Value))
	}
	return t
}

// tuningQuestion lists the question, the objective and the limits.
func tuningQuestion(t *result.Tuning) []result.TuningFact {
	facts := slices.Clone(t.Asked)
	facts = append(facts, result.TuningFact{Name: "objective", Value: t.Objective.Text + ": " + tuningGoal(t)})
	if len(t.Limits) > 0 {
		facts = append(facts, result.TuningFact{Name: "limits", Value: strings.Join(t.Limits, ", ")})
	}
	return append(facts, result.TuningFact{Name: "measured on", Value: t.Provider + " cluster"})
}

func tuningFragments(t *result.Tuning) (lines []string) {
	for _, f := range t.Fragments {
		text := fmt.Sprintf("%s, in %s: %s", f.For, f.File, strings.Join(strings.Fields(f.Text), " "))
		if f.Note != "" {
			text += " (" + f.Note + ")"
		}
		lines = append(lines, text)
	}
	return lines
}

// shown are the candidates of the table: those that were measured.
func shown(t *result.Tuning) (all []*result.TunedCandidate) {
	for i := range t.Candidates {
		c := &t.Candidates[i]
		if len(c.Cells) > 0 || i == t.Best || i == t.RunnerUp || i == t.Original {
			all = append(all, c)
		}
	}
	return all
}

func candidates(t *result.Tuning) Table {
	table := Table{Heads: []Head{
		{Title: "setting", Words: true}, {Title: "handler length"}, {Title: "predicted", Unit: "s"}, {Title: "measured",
			Unit: "s"},
		{Title: "error", Unit: "%"}, {Title: "n"}, {Title: "requests per event"}, {Title: "memory", Unit: "MiB"},
		{Title: "verdict", Words: true}, {Words: true},
	}}
	for _, c := range shown(t) {
		valid, figures := 0, c.Predicted
		var rss *float64
		for i := range c.Cells {
			if !c.Cells[i].Valid {
				continue
			}
			valid++
			figures = c.Cells[i].Figures
			if v := figures.RSSMiB; v != nil && (rss == nil || *v > *rss) {
				rss = v
			}
		}
		n, per, off := fmt.Sprint(valid), unknown, unknown
		if valid < len(c.Cells) {
			n += fmt.Sprintf(" of %d", len(c.Cells))
		}
		if figures.Events > 0 && figures.Requests > 0 {
			per = short(float64(figures.Requests) / float64(figures.Events))
		}
		if c.Error != nil {
			off = fmt.Sprintf("%+.1f", 100**c.Error)
		}
		row := Cells(c.Name(), fmt.Sprint(c.HandlerLen), shortOf(c.Value), shortOf(c.Measured), off, n, per, shortOf(rss))
		table.Rows = append(table.Rows, append(row, candidateVerdict(c), Cell{Text: chosenAs(t, c)}))
	}
	return table
}

// chosenAs says what a candidate was chosen for.
func chosenAs(t *result.Tuning, c *result.TunedCandidate) string {
	var is []string
	for _, x := range []struct {
		at   int
		name string
	}{{t.Best, "recommended"}, {t.RunnerUp, "runner-up"}, {t.Original, "for the original"}} {
		if t.At(x.at) == c {
			is = append(is, x.name)
		}
	}
	s := strings.Join(is, ", ")
	if !t.Met {
		s = strings.Replace(s, "recommended", "closest", 1)
	}
	return s
}

func candidateVerdict(c *result.TunedCandidate) Cell {
	v := Cell{Text: c.Verdict}
	if c.Excluded != "" {
		v.Text += ": " + c.Excluded
	}
	switch c.Verdict {
	case result.TunedHolds:
		v.Tone = Good
	case result.TunedFails, result.TunedWrong:
		v.Tone = Bad
	case result.TunedInvalid:
		v.Tone = Warn
	}
	return v
}

// candidateNotes say how the table came about.
func candidateNotes(t *result.Tuning) []string {
	n := []string{
		fmt.Sprintf("%s in virtual time, %s measured; a sweep over all settings that were screened would be %d cells.",
			plural(t.Simulations, "cell"), plural(t.Measured, "cell"), t.Exhaustive),
		"Predicted is " + t.Objective.Metric + " of the worst simulated seed, measured of the worst valid cell; error is " +
			"the median " +
			"of the cells' excess over the prediction for their own seed.",
	}
	if t.Reused > 0 {
		n = append(n, plural(t.Reused, "cell")+" of an earlier search used again.")
	}
	n = append(n, secondTries(t)...)
	return append(n, t.Notes...)
}

// secondTries are the cells that were measured once more.
func secondTries(t *result.Tuning) (all []string) {
	for i := range t.Candidates {
		for j := range t.Candidates[i].Cells {
			if r := t.Candidates[i].Cells[j].Retry; r != nil {
				all = append(all, fmt.Sprintf("%s was measured again: its first cell was late (%s).", r.Scenario, r.Why))
			}
		}
	}
	return all
}

// tuningGoal is the objective in words.
func tuningGoal(t *result.Tuning) string {
	o := t.Objective
	switch {
	case o.Rate > 0 && o.Bound != nil:
		return fmt.Sprintf("what is owed at the end of the load is in storage within %s s, and nothing is lost",
			Brief(*o.Bound))
	case o.Bound != nil:
		return fmt.Sprintf("the fewest requests in flight with %s of at most %s s in every run", o.Metric, Brief(*o.Bound))
	}
	return "the fewest requests in flight with " + o.Metric + " within 5 % of the fastest setting that was measured"
}
