package matrix

import (
	"cmp"
	"math"
	"slices"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// mostMoments bounds what a results.json holds of them: the first ones are kept.
const mostMoments = 400

// Moments lists what was done to the parties of a cell, in order of time: faults with their
// windows, what the failpoints did, and the runner's marks. They are counted from the start of
// the load; a cell without a load has none.
func Moments(c *Case) (all []result.Moment) {
	cell := c.Cell
	if cell.LoadStarted == 0 {
		return nil
	}
	at := func(ns int64) float64 { return math.Round(float64(ns-cell.LoadStarted)/1e6) / 1e3 }
	fault := func(text string, w faultlist.Window) {
		from := cell.FaultsSet + int64(w.From)
		until := cell.LoadFinished
		if w.For > 0 && w.Every == 0 {
			until = from + int64(w.For)
		}
		if from < until {
			all = append(all, result.Moment{T: at(from), Until: new(at(until)), What: text})
		}
	}
	for _, s := range cell.Scenario.Storage.FaultSpecs() {
		fault(s.Text, s.Window)
	}
	for _, s := range cell.Scenario.Watch.FaultSpecs() {
		fault(s.Text, s.Window)
	}
	for _, d := range c.Deeds {
		all = append(all, result.Moment{T: at(d.Began), Until: new(at(d.Ended)), What: d.What, Count: d.Keys})
	}
	var last *history.Mark
	for i := range c.Marks {
		m := &c.Marks[i]
		if last != nil && last.What == m.What && m.Note == "" {
			same := &all[len(all)-1]
			same.Until, same.Count = new(at(m.Time)), max(same.Count, 1)+1
			continue
		}
		all = append(all, result.Moment{T: at(m.Time), What: m.What, Note: m.Note})
		last = m
	}
	if cell.LoadFinished > 0 {
		all = append(all, result.Moment{T: at(cell.LoadFinished), What: "load ends"})
	}
	if cell.DrainEnd > 0 {
		all = append(all, result.Moment{T: at(cell.DrainEnd), What: map[bool]string{false: "drained",
			true: "drain cut"}[cell.Cut]})
	}
	slices.SortStableFunc(all, func(a, b result.Moment) int { return cmp.Compare(a.T, b.T) })
	return all[:min(len(all), mostMoments)]
}
