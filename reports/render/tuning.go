package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// TuningDocument reports a search for settings, the answer first.
func TuningDocument(t *result.Tuning) *Document {
	d := &Document{Title: tuningTitle(t), Subtitle: tuningSubtitle(t), Findings: []string{t.Sentence}, Last: true}
	if len(t.Rates) > 0 {
		d.Findings = nil
	}
	for _, r := range t.Rates {
		d.Findings = append(d.Findings, r.Sentence)
	}
	if t.Interrupted {
		d.Findings = append(d.Findings, "Interrupted: partial results.")
	}
	found := Section{ID: "answer", Title: "Settings", Plots: []Plot{tuningPlot(t)}}
	for _, f := range t.Fragments {
		found.Code = append(found.Code, Code{f.For + ", in " + f.File + leading(" (", f.Note, ")"), f.Text})
	}
	d.Sections = []Section{found,
		{Title: "Candidates", Table: candidates(t), Notes: candidateNotes(t)},
		{Title: "Question", Table: tuningFacts(tuningQuestion(t))}}
	d.add(Section{Title: "Why", Table: tuningFacts(t.Why)})
	return d
}

// tuningPlot has the objective's figure over the number of queues, or the rate, with the bound and the answer.
func tuningPlot(t *result.Tuning) Plot {
	p := Plot{Title: t.Objective.Metric, Unit: "s", X: "podQueueNum",
		Caption: "A broken line is predicted in virtual time, a point was measured: the worst of its cells."}
	if len(t.Rates) > 0 {
		p.X = "offered rate (/s)"
	}
	measured, answer := PlotLine{Name: "measured", Marks: true}, PlotLine{Name: "answer", Marks: true}
	for i := range t.Candidates {
		c := &t.Candidates[i]
		x := cmp.Or(c.Rate, float64(max(1, c.Queues)))
		k := slices.IndexFunc(p.Lines, func(l PlotLine) bool { return l.Name == c.Strategy })
		if k < 0 {
			k, p.Lines = len(p.Lines), append(p.Lines, PlotLine{Name: c.Strategy, Model: true})
		}
		if c.Value != nil {
			p.Lines[k].Points = append(p.Lines[k].Points, [2]float64{x, *c.Value})
		}
		if c.Measured != nil {
			measured.Points = append(measured.Points, [2]float64{x, *c.Measured})
		}
		if v := cmp.Or(c.Measured, c.Value); v != nil && (c == t.At(t.Best) || carried(t, c)) {
			answer.Points = append(answer.Points, [2]float64{x, *v})
		}
	}
	for _, l := range p.Lines {
		slices.SortFunc(l.Points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	}
	p.Lines = append(p.Lines, measured)
	p.bound("at most "+Brief(t.Objective.Bound)+" s", t.Objective.Bound)
	if t.Met {
		p.Lines = append(p.Lines, answer)
	}
	return p
}

// carried reports whether a candidate is the highest rate of its strategy.
func carried(t *result.Tuning, c *result.TunedCandidate) bool {
	return slices.ContainsFunc(t.Rates, func(r result.TunedRate) bool {
		return r.Strategy == c.Strategy && r.Rate != nil && *r.Rate == c.Rate
	})
}

// tuningTitle names the scenario, or the load of a question without one, which is called
// TuningQuestion.
func tuningTitle(t *result.Tuning) string {
	if len(t.Rates) > 0 {
		return "highest rates of " + t.Scenario
	}
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

func tuningQuestion(t *result.Tuning) []result.TuningFact {
	facts := slices.Clone(t.Asked)
	bound := fmt.Sprintf("%s of at most %s s", t.Objective.Metric, Brief(t.Objective.Bound))
	facts = append(facts, result.TuningFact{Name: "objective", Value: bound})
	return append(facts, result.TuningFact{Name: "measured on", Value: t.Provider + " cluster"})
}

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
		{Title: "error", Unit: "%"}, {Title: "n"}, {Title: "requests per event"},
		{Title: "verdict", Words: true}, {Words: true},
	}}
	for _, c := range shown(t) {
		valid, figures := 0, c.Predicted
		for i := range c.Cells {
			if !c.Cells[i].Valid {
				continue
			}
			valid++
			figures = c.Cells[i].Figures
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
		length := unknown
		if c.HandlerLen > 0 {
			length = fmt.Sprint(c.HandlerLen)
		}
		row := Cells(c.Name(), length, shortOf(c.Value), shortOf(c.Measured), off, n, per)
		table.Rows = append(table.Rows, append(row, candidateVerdict(c), Cell{Text: chosenAs(t, c)}))
	}
	return table
}

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
	if c.Excluded != "" && c.Verdict != result.TunedInvalid { // whose reasons are long
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

func candidateNotes(t *result.Tuning) []string {
	return append([]string{
		fmt.Sprintf("%s in virtual time, %s measured.", plural(t.Simulated, "cell"), plural(t.Measured, "cell")),
		"Predicted is " + t.Objective.Metric + " of the worst simulated plan, measured of the worst valid cell; error is " +
			"the median of the cells' excess over the prediction for their own plan.",
	}, t.Notes...)
}
