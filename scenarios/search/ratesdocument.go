package search

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

const unknown = "–"

// Document is the report as terminal, Markdown and page draw it.
func (r *Rates) Document() *render.Document {
	d := &render.Document{
		Title: "highest rates of " + r.Scenario,
		Subtitle: fmt.Sprintf("%s · %s · provider %s · each cell %s s",
			r.Started.UTC().Format("2006-01-02 15:04:05 UTC"), r.Objective, r.Provider, figure(r.LoadS)),
	}
	if r.Interrupted {
		d.Findings = append(d.Findings, "Interrupted: only results so far.")
	}
	if s := r.most(); s != "" {
		d.Findings = append(d.Findings, s)
	}
	for i := range r.Strategies {
		d.Findings = append(d.Findings, r.sentence(&r.Strategies[i]))
	}
	d.Sections = []render.Section{r.rates(), r.cells(), {Title: "method", Notes: []string{
		"A cell carries its rate if it is valid, drained, lost nothing, violates no required guarantee, " +
			"meets the objective, and its backlog did not grow (where that could be judged).",
		"Two cells that agree decide a rate; one that lost something or violates a guarantee decides alone.",
		"Where no cell is valid, the generator or the machine is the limit: the strategy carries at least what is below.",
		"A longer load, bursts or another machine change these rates.",
	}}}
	return d
}

// most names the strategy that carries the most, if its rate is above the brackets of all others.
func (r *Rates) most() string {
	if len(r.Strategies) < 2 {
		return ""
	}
	var open []string
	for _, s := range r.Strategies {
		if s.Rate == nil && s.Above == nil {
			open = append(open, s.Strategy)
		}
	}
	if len(open) > 0 {
		return "Which strategy carries the most is not known: nothing was decided of " + strings.Join(open, ", ") + "."
	}
	carries := func(s StrategyRate) float64 {
		if s.Rate == nil {
			return 0
		}
		return *s.Rate
	}
	best := slices.MaxFunc(r.Strategies, func(a, b StrategyRate) int { return cmp.Compare(carries(a), carries(b)) })
	if best.Rate == nil {
		return ""
	}
	var ratios []string
	for _, s := range r.Strategies {
		switch {
		case s.Strategy == best.Strategy:
		case s.Above == nil || s.AtLeast || *s.Above > *best.Rate:
			return "No strategy is shown to carry more than all others."
		case s.Rate == nil:
			ratios = append(ratios, s.Strategy+" carries none of the rates that were tried")
		default:
			ratios = append(ratios, fmt.Sprintf("at least %.2f × as much as %s", *best.Rate / *s.Above, s.Strategy))
		}
	}
	return fmt.Sprintf("%s carries the most: %s.", best.Strategy, strings.Join(ratios, ", "))
}

// sentence is the result for a strategy.
func (r *Rates) sentence(s *StrategyRate) string {
	switch {
	case s.Rate == nil && s.Above == nil && len(s.Cells) > 0:
		last := s.Cells[len(s.Cells)-1]
		return fmt.Sprintf("%s: no rate was decided; the last cell, at %s %s, was %s.", s.Strategy, figure(last.Rate),
			r.Unit, last.Verdict)
	case s.Rate == nil && s.Above == nil:
		return s.Strategy + ": nothing was measured."
	case s.Rate == nil:
		return fmt.Sprintf("%s carries no rate that was tried, down to %s %s: %s.", s.Strategy, figure(*s.Above), r.Unit,
			s.Why)
	}
	var limit string
	switch {
	case s.Above == nil && s.Complete:
		limit = "the highest rate that a scenario can have"
	case s.Above == nil:
		limit = "no higher rate was tried"
	case s.AtLeast:
		limit = fmt.Sprintf("not the strategy's limit: at %s no valid cell: %s", figure(*s.Above), s.Why)
	default:
		limit = fmt.Sprintf("not %s: %s", figure(*s.Above), s.Why)
	}
	return fmt.Sprintf("%s carries %s%s %s with %s and nothing lost (%s).",
		s.Strategy, map[bool]string{true: "at least "}[s.AtLeast], figure(*s.Rate), r.Unit, r.Objective, limit)
}

func orUnknown(v *float64) string {
	if v == nil {
		return unknown
	}
	return figure(*v)
}

// rates is the table of strategies, with the curve of freshness over rate.
func (r *Rates) rates() render.Section {
	s := render.Section{Title: "highest rates", Table: render.Table{Heads: []render.Head{
		{Title: "strategy", Words: true}, {Title: "carries", Unit: r.Unit}, {Title: "not at", Unit: r.Unit},
		{Title: "because", Words: true}, {Title: "cells"},
	}}}
	plot := render.Plot{
		Title: "Freshness against rate", X: r.Unit, Unit: "s", Log: true,
		Caption: "Median of the valid cells at each rate; the broken line is the objective. Both axes are logarithmic.",
	}
	low, high := math.Inf(1), 0.0
	for i := range r.Strategies {
		x := &r.Strategies[i]
		carries := orUnknown(x.Rate)
		if x.AtLeast {
			carries = "≥ " + carries
		}
		row := render.Cells(x.Strategy, carries, orUnknown(x.Above), cmp.Or(x.Why, unknown), fmt.Sprint(len(x.Cells)))
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
		limit := [][2]float64{{low, r.Limit}, {high, r.Limit}}
		plot.Lines = append(plot.Lines, render.PlotLine{Name: "objective", Model: true, Points: limit})
		s.Plots = []render.Plot{plot}
	}
	return s
}

// curve has the median over the valid cells of each rate.
func (s *StrategyRate) curve() (points [][2]float64) {
	at := map[float64][]float64{}
	for _, c := range s.Cells {
		if c.Verdict != Invalid && c.Reached != nil {
			at[c.Rate] = append(at[c.Rate], *c.Reached)
		}
	}
	for _, rate := range slices.Sorted(maps.Keys(at)) {
		m, _ := stats.Median(at[rate])
		points = append(points, [2]float64{rate, m})
	}
	return points
}

func (r *Rates) cells() render.Section {
	s := render.Section{Title: "cells", Table: render.Table{Heads: []render.Head{
		{Title: "strategy", Words: true}, {Title: "rate", Unit: r.Unit}, {Title: "written", Unit: "writes/s"},
		{Title: "reached", Unit: "s"}, {Title: "lost", Unit: "objects"},
		{Title: "verdict", Words: true}, {Title: "because", Words: true}, {Title: "run", Words: true},
	}}}
	for _, x := range r.Strategies {
		for _, c := range x.Cells {
			written, lost := unknown, unknown
			if c.QPS > 0 {
				written = figure(c.QPS)
			}
			if c.Lost != nil {
				lost = fmt.Sprint(*c.Lost)
			}
			row := render.Cells(x.Strategy, figure(c.Rate), written, orUnknown(c.Reached), lost, c.Verdict, c.Why, c.Run)
			row[5].Tone = map[string]render.Tone{Carried: render.Good, NotCarried: render.Bad, Invalid: render.Warn}[c.Verdict]
			s.Table.Rows = append(s.Table.Rows, row)
		}
	}
	return s
}
