package knee

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/stats"
)

// Document is the report as terminal, Markdown and page draw it.
func (r *Report) Document() *render.Document {
	d := &render.Document{
		Title:    "knee of " + r.Scenario,
		Subtitle: fmt.Sprintf("%s · %s · provider %s · each probe %s s", r.Started.UTC().Format("2006-01-02 15:04:05 UTC"), r.Objective, r.Provider, number(r.LoadS)),
	}
	if r.Interrupted {
		d.Findings = append(d.Findings, "Interrupted: this is what was found so far.")
	}
	if s := r.most(); s != "" {
		d.Findings = append(d.Findings, s)
	}
	for i := range r.Strategies {
		d.Findings = append(d.Findings, r.sentence(&r.Strategies[i]))
	}
	d.Sections = []render.Section{r.knees(), r.probes(), r.method()}
	return d
}

// most names the strategy that carries most, where its bracket is above all others.
func (r *Report) most() string {
	if len(r.Strategies) < 2 {
		return ""
	}
	best := slices.MaxFunc(r.Strategies, func(a, b Strategy) int { return cmp.Compare(orZero(a.Knee), orZero(b.Knee)) })
	if best.Knee == nil {
		return ""
	}
	var ratios []string
	for _, s := range r.Strategies {
		switch {
		case s.Strategy == best.Strategy:
		case s.Above == nil || s.Bound != ByStrategy || *s.Above > *best.Knee:
			return "No strategy is shown to carry more than all others."
		case s.Knee == nil:
			ratios = append(ratios, s.Strategy+" carries none of the rates that were tried")
		default:
			ratios = append(ratios, fmt.Sprintf("at least %.2f × as much as %s", *best.Knee / *s.Above, s.Strategy))
		}
	}
	return fmt.Sprintf("%s carries the most: %s.", best.Strategy, strings.Join(ratios, ", "))
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// sentence says what was found of a strategy.
func (r *Report) sentence(s *Strategy) string {
	switch {
	case s.Knee == nil && s.Above == nil:
		return s.Strategy + ": nothing was measured."
	case s.Knee == nil:
		return fmt.Sprintf("%s carries none of the rates that were tried, the lowest of them %s %s: %s.", s.Strategy, number(*s.Above), r.Unit, s.Why)
	}
	text := fmt.Sprintf("%s carries %s%s %s with %s and nothing lost%s", s.Strategy, map[bool]string{true: "at least "}[s.AtLeast()], number(*s.Knee), r.Unit, r.Objective, s.limit())
	if y := s.Steady; y != nil && y.P99 != nil {
		text += fmt.Sprintf("; at %s %s, %.0f%% of it, freshness p99 was %s s (n = %d)", number(y.Rate), r.Unit, 100*y.Share, number(*y.P99), y.Valid)
	}
	return text + "."
}

// limit says in brackets what is above the knee.
func (s *Strategy) limit() string {
	switch {
	case s.Bound == ByFormat:
		return " (the highest rate that a scenario can have)"
	case s.Above == nil:
		return " (no higher rate was tried)"
	case s.Bound == ByGenerator:
		return fmt.Sprintf(" (the generator's limit: it was late at %s)", number(*s.Above))
	case s.Bound == ByMachine:
		return fmt.Sprintf(" (the machine's limit: invalid at %s: %s)", number(*s.Above), s.Why)
	}
	return fmt.Sprintf(" (not %s: %s)", number(*s.Above), s.Why)
}

const unknown = "–"

func orUnknown(v *float64) string {
	if v == nil {
		return unknown
	}
	return number(*v)
}

func count(v *int64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprint(*v)
}

func (r *Report) knees() render.Section {
	s := render.Section{Title: "knees", Table: render.Table{Keys: 1, Heads: []render.Head{
		{Title: "strategy", Words: true}, {Title: "knee", Unit: r.Unit}, {Title: "not at", Unit: r.Unit}, {Title: "because", Words: true}, {Title: "cells"},
		{Title: "at 70%", Unit: r.Unit}, {Title: "freshness p50", Unit: "s"}, {Title: "freshness p99", Unit: "s"}, {Title: "p99 from–to", Unit: "s"}, {Title: "lost", Unit: "objects"}, {Title: "n"},
	}}}
	plot := render.Plot{
		Title: "Freshness against rate", X: r.Unit, Unit: "s", Log: true,
		Caption: "Median of the valid cells at each rate, by the objective's quantile; the broken line is the objective. Both axes are logarithmic.",
	}
	low, high := math.Inf(1), 0.0
	for i := range r.Strategies {
		x := &r.Strategies[i]
		knee := orUnknown(x.Knee)
		if x.AtLeast() {
			knee = "≥ " + knee
		}
		row := render.Cells(x.Strategy, knee, orUnknown(x.Above), cmp.Or(x.Why, unknown), fmt.Sprint(x.Cells))
		if y := x.Steady; y != nil {
			span := unknown
			if y.P99Low != nil {
				span = number(*y.P99Low) + "–" + number(*y.P99High)
			}
			row = append(row, render.Cells(number(y.Rate), orUnknown(y.P50), orUnknown(y.P99), span, count(y.Lost), y.n())...)
		} else {
			row = append(row, render.Cells(unknown, unknown, unknown, unknown, unknown, unknown)...)
		}
		s.Table.Rows = append(s.Table.Rows, row)
		for _, n := range x.Remarks {
			s.Notes = append(s.Notes, x.Strategy+": "+n)
		}
		line := render.PlotLine{Name: x.Strategy, Points: x.curve()}
		for _, p := range line.Points {
			low, high = min(low, p[0]), max(high, p[0])
		}
		plot.Lines = append(plot.Lines, line)
	}
	if high > low {
		plot.Lines = append(plot.Lines, render.PlotLine{Name: "objective", Model: true, Points: [][2]float64{{low, r.Limit}, {high, r.Limit}}})
		s.Plots = []render.Plot{plot}
	}
	return s
}

// n is how many cells are valid, of how many, and how many of these had a second try.
func (s *Steady) n() string {
	n := fmt.Sprintf("%d/%d", s.Valid, s.Cells)
	if len(s.SecondTries) > 0 {
		n += fmt.Sprintf(", %d repeated", len(s.SecondTries))
	}
	return n
}

// curve is the median of what was reached at each rate, in valid cells.
func (s *Strategy) curve() (points [][2]float64) {
	at := map[float64][]float64{}
	for _, p := range s.Probes {
		if p.Verdict != Invalid && p.Reached != nil {
			at[p.Rate] = append(at[p.Rate], *p.Reached)
		}
	}
	for _, rate := range slices.Sorted(maps.Keys(at)) {
		m, _ := stats.Median(at[rate])
		points = append(points, [2]float64{rate, m})
	}
	return points
}

func (r *Report) probes() render.Section {
	s := render.Section{Title: "probes", Table: render.Table{Keys: 2, Heads: []render.Head{
		{Title: "strategy", Words: true}, {Title: "rate", Unit: r.Unit}, {Title: "written", Unit: "writes/s"}, {Title: "reached", Unit: "s"}, {Title: "lost", Unit: "objects"},
		{Title: "verdict", Words: true}, {Title: "because", Words: true}, {Title: "run", Words: true},
	}}}
	for _, x := range r.Strategies {
		for _, p := range x.Probes {
			written := number(p.QPS)
			if p.QPS == 0 {
				written = unknown
			}
			row := render.Cells(x.Strategy, number(p.Rate), written, orUnknown(p.Reached), count(p.Lost), p.Verdict, p.Why, p.Run)
			row[5].Tone = map[string]render.Tone{Carried: render.Good, Not: render.Bad, Invalid: render.Warn}[p.Verdict]
			s.Table.Rows = append(s.Table.Rows, row)
		}
	}
	return s
}

func (r *Report) method() render.Section {
	return render.Section{Title: "method", Notes: []string{
		fmt.Sprintf("A cell carries its rate if it is valid, lost nothing, violates no guarantee that it must keep, was drained, has %s, and storage kept up as far as that can be told.", r.Objective),
		fmt.Sprintf("Rates are doubled or halved until one is carried and one is not; then the bracket is halved until it is at most %.3g%% wide. A cell within %.0f%% of the objective, and the knee itself, is measured again with other plans, and most of its cells decide.", 100*r.Resolution, 100*noise),
		"An invalid cell says nothing about a strategy: it is run a second time, and then taken for the ceiling of the generator or the machine.",
		fmt.Sprintf("The load of a probe lasts %s s. A longer one, bursts and another machine have other knees.", number(r.LoadS)),
	}}
}
