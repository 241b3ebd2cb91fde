package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// TuningDocument is what a search for settings found, the answer first.
func TuningDocument(t *result.Tuning) *Document {
	d := &Document{Title: tuningTitle(t), Subtitle: tuningSubtitle(t), Findings: []string{t.Sentence}}
	if t.Interrupted {
		d.Findings = append(d.Findings, "Interrupted: this is what was measured until then.")
	}
	add := func(s Section) { d.Sections = append(d.Sections, s) }
	add(Section{Title: "Settings", Text: tuningFragments(t)})
	if len(t.Why) > 0 {
		add(Section{Title: "Why", Table: factTable(t.Why)})
	}
	if len(t.Changes) > 0 {
		var rows [][]Cell
		for _, c := range t.Changes {
			rows = append(rows, Cells(c.If, c.Answer))
		}
		add(Section{Title: "What would change it", Table: Table{Keys: 1, Heads: []Head{{Title: "if", Words: true}, {Title: "then, by simulation", Words: true}}, Rows: rows}})
	}
	add(Section{Title: "Candidates", Table: candidates(t), Plots: []Plot{kneePlot(t)}, Notes: candidateNotes(t)})
	add(Section{Title: "Question", Table: factTable(tuningQuestion(t))})
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

func factTable(facts []result.TuningFact) (t Table) {
	t = Table{Keys: 1, Heads: []Head{{Words: true}, {Words: true}}}
	for _, f := range facts {
		t.Rows = append(t.Rows, Cells(f.Name, f.Value))
	}
	return t
}

// tuningQuestion is what was asked, with the objective and the limits.
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
	table := Table{Keys: 1, Heads: []Head{
		{Title: "setting", Words: true}, {Title: "handler length"}, {Title: "predicted", Unit: "s"}, {Title: "measured", Unit: "s"}, {Title: "error", Unit: "%"}, {Title: "n"},
		{Title: "requests per event"}, {Title: "memory", Unit: "MiB"}, {Title: "verdict", Words: true}, {Words: true},
	}}
	for _, c := range shown(t) {
		valid, second := 0, c.Predicted
		var rss *float64
		for i := range c.Cells {
			if !c.Cells[i].Valid {
				continue
			}
			valid++
			second = c.Cells[i].Figures
			if v := c.Cells[i].Figures.RSSMiB; v != nil && (rss == nil || *v > *rss) {
				rss = v
			}
		}
		var is []string
		for at, name := range []string{"recommended", "runner-up", "for the original"} {
			if i := []int{t.Best, t.RunnerUp, t.Original}[at]; t.At(i) == c {
				if at == 0 && !t.Met {
					name = "closest"
				}
				is = append(is, name)
			}
		}
		n := fmt.Sprint(valid)
		if valid < len(c.Cells) {
			n += fmt.Sprintf(" of %d", len(c.Cells))
		}
		per := unknown
		if second.Events > 0 && second.Requests > 0 {
			per = short(float64(second.Requests) / float64(second.Events))
		}
		off := unknown
		if c.Error != nil {
			off = fmt.Sprintf("%+.1f", 100**c.Error)
		}
		row := Cells(c.Name(), fmt.Sprint(c.HandlerLen), shortOf(c.Value), shortOf(c.Measured), off, n, per, shortOf(rss))
		row = append(row, candidateVerdict(c), Cell{Text: strings.Join(is, ", ")})
		table.Rows = append(table.Rows, row)
	}
	return table
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
		fmt.Sprintf("%s in virtual time, %s measured; a sweep over all settings that were screened, each as often as the recommendation, would be %d cells.",
			plural(t.Simulations, "cell"), plural(t.Measured, "cell"), t.Exhaustive),
		"Predicted and measured are " + t.Objective.Metric + ". Predicted is the worst of the seeds that were simulated, measured the worst of the n valid cells; error is what part a cell is above the prediction for its own seed, the median of the cells.",
	}
	if t.Reused > 0 {
		n = append(n, plural(t.Reused, "cell")+" of an earlier search used again.")
	}
	n = append(n, secondTries(t)...)
	return append(n, t.Notes...)
}

// secondTries are the cells that were measured once more, with the evidence for it.
func secondTries(t *result.Tuning) (all []string) {
	for i := range t.Candidates {
		for j := range t.Candidates[i].Cells {
			if r := t.Candidates[i].Cells[j].Retry; r != nil {
				all = append(all, fmt.Sprintf("Second try: %s was late (%s) while the machine stood still: %s.", r.Scenario, r.Why, strings.Join(r.Stalled, ", ")))
			}
		}
	}
	return all
}

// byNumber are the screened candidates of a strategy that has a number, by it; of several
// lengths the one that was measured, else the longest.
func byNumber(t *result.Tuning, strategy string) (all []*result.TunedCandidate) {
	for i := range t.Candidates {
		c := &t.Candidates[i]
		if c.Strategy != strategy || c.Value == nil && c.Measured == nil {
			continue
		}
		if n := len(all); n > 0 && all[n-1].Queues == c.Queues {
			if all[n-1].Measured == nil {
				all[n-1] = c
			}
			continue
		}
		all = append(all, c)
	}
	return all
}

// strategiesOf are those of a tuning, in its order.
func strategiesOf(t *result.Tuning) (all []string) {
	for i := range t.Candidates {
		if s := t.Candidates[i].Strategy; !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// kneePlot is the objective against the number of queues: predictions as lines,
// measurements as points.
func kneePlot(t *result.Tuning) Plot {
	p := Plot{
		Title: t.Objective.Metric + " against podQueueNum", X: "podQueueNum", Unit: "s", Log: true,
		Caption: "Broken lines are predicted in virtual time, points are measured. Where a line turns flat, more requests in flight bring nothing. Both axes are logarithmic.",
	}
	low, high := 0, 0
	for _, s := range strategiesOf(t) {
		predicted, measured := PlotLine{Name: s + ", predicted", Model: true}, PlotLine{Name: s + ", measured"}
		for _, c := range byNumber(t, s) {
			if c.Queues == 0 {
				continue
			}
			if low == 0 || c.Queues < low {
				low = c.Queues
			}
			high = max(high, c.Queues)
			if c.Value != nil {
				predicted.Points = append(predicted.Points, [2]float64{float64(c.Queues), *c.Value})
			}
			if c.Measured != nil {
				measured.Points = append(measured.Points, [2]float64{float64(c.Queues), *c.Measured})
			}
		}
		p.Lines = append(p.Lines, predicted, measured)
	}
	if b := t.Objective.Bound; b != nil && high > 0 {
		p.Lines = append(p.Lines, PlotLine{Name: "objective", Model: true, Points: [][2]float64{{float64(low), *b}, {float64(high), *b}}})
	}
	return p
}

// tuningGoal is the objective in words.
func tuningGoal(t *result.Tuning) string {
	o := t.Objective
	switch {
	case o.Rate > 0 && o.Bound != nil:
		return fmt.Sprintf("what is owed at the end of the load is in storage within %s s, and nothing is lost", Brief(*o.Bound))
	case o.Bound != nil:
		return fmt.Sprintf("the fewest requests in flight with %s of at most %s s in every run", o.Metric, Brief(*o.Bound))
	}
	return "the fewest requests in flight with " + o.Metric + " within 5 % of the fastest setting that was measured"
}
