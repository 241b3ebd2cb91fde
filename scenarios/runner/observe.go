package runner

import (
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Observer follows a run. Observe is called one at a time and must not block: what is measured waits for it.
type Observer interface {
	Observe(Moment)
}

// Moment is the state of a run at one time.
type Moment struct {
	Cell   string // "" before the first
	Number int    // of the cell, from 1
	Of     int
	Phase  string
	Fault  string // the faults of storage and watch that are in force
	Note   string // what is done to the parties just now

	// Sample is a reading just taken, Metrics the watcher's text of it, Err why there is none; else nil.
	Sample  *history.Sample
	Metrics []byte
	Err     error

	Verdict *Verdict // of the cell that was just judged
}

// Verdict is the outcome of a cell in a few words.
type Verdict struct {
	Valid    bool
	Violated []string // guarantees
	Allowed  bool     // a check failed that the scenario allows to
	Open     bool     // a core check was not judged, or had no power
	Text     string
}

func verdictOf(c *result.Cell) *Verdict {
	allowed := slices.ContainsFunc(slices.Collect(maps.Values(c.Checks)), func(x result.Check) bool {
		return x.Verdict == result.Allowed
	})
	open := slices.ContainsFunc(result.Core, func(g string) bool {
		return slices.Contains([]string{result.NotJudged, result.NoPower}, c.Checks[g].Verdict)
	})
	return &Verdict{c.Valid, violated(c), allowed, open, summary(*c)}
}

// faultText names the faults of a cell that hold during its load.
func (c *cell) faultText() string {
	var all []string
	if f := c.s.Storage.FaultText(); f != "" {
		all = append(all, "storage: "+f)
	}
	if f := c.s.Watch.FaultText(); f != "" {
		all = append(all, "watch: "+f)
	}
	return strings.Join(all, "; ")
}
