package matrix

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// The watcher's backoff of an object: delays double from the first to the longest, and jitter may halve each.
const firstBackoff, longestBackoff = 100 * time.Millisecond, 5 * time.Second

// patienceRule: an object whose request failed is left alone for a while. It keeps every request that met a fault or
// came near one, for rows in which the same watcher runs throughout.
func patienceRule(c *Case) Rule {
	if !c.Cell.Scenario.Fault.Patience {
		return Rule{}
	}
	p := patience{timeout: c.Cell.Scenario.Watcher.StorageTimeout.Std(), tries: map[uint64][]try{}}
	p.errors, p.silence = c.Cell.Scenario.Failures()
	return Rule{Request: p.request, Facts: func(Seen) []result.Fact { return p.facts() }}
}

type try struct {
	received, responded int64
	failed, unknown     bool
	until               int64 // the end of its fence
	what                string
}

type patience struct {
	timeout time.Duration // of a request
	tries   map[uint64][]try
	// errors and silence say that requests must have failed, and had no answer.
	errors, silence bool
}

func (p *patience) request(e *ledger.Entry) {
	if e.Fault == history.FaultTamper {
		return
	}
	k := object(e.Kind, e.Namespace, e.Name)
	p.tries[k] = append(p.tries[k], try{
		received: e.Received, responded: e.Responded,
		unknown: e.Responded == 0 || time.Duration(e.Responded-e.Received) > p.timeout,
		failed:  e.Status >= http.StatusInternalServerError,
		until:   check.FenceEnd(e, p.timeout),
		what:    e.Kind + "/" + e.Namespace + "/" + e.Name,
	})
}

// pauses counts the writes that came too early, of those before which one had to wait.
type pauses struct {
	early, all int64
	first      string
}

func (w *pauses) note(t try, until int64) {
	w.all++
	if short := until - t.received; short > throttleSlack {
		if w.early++; w.first == "" {
			w.first = fmt.Sprintf("%s came %.3f s too early", t.what, float64(short)/1e9)
		}
	}
}

// facts: the ledger is in the order of effects, and what was applied late was received long before.
func (p *patience) facts() (facts []result.Fact) {
	var backoff, fenced pauses
	for _, all := range p.tries {
		slices.SortFunc(all, func(a, b try) int { return int(a.received - b.received) })
		failures := 0
		for i, t := range all {
			if i > 0 {
				switch before := all[i-1]; {
				case before.unknown:
					fenced.note(t, before.until)
				case before.failed:
					backoff.note(t, before.responded+int64(leastBackoff(failures)))
				}
			}
			if failures++; !t.unknown && !t.failed {
				failures = 0
			}
		}
	}
	for _, f := range []struct {
		pauses
		due          bool
		column, name string
	}{{backoff, p.errors, "A", "writes before the backoff of their object had passed"},
		{fenced, p.silence, "O", "writes within the fence of their object"}} {
		switch {
		case f.due && f.all < MinKeys && f.early == 0:
			facts = append(facts, Missing(f.column, f.name, "",
				fmt.Sprintf("%d writes had to wait, at least %d are needed", f.all, MinKeys)))
		case f.all > 0:
			facts = append(facts, None(f.column, f.name, f.early, strings.TrimSuffix(fmt.Sprintf("%d writes had to wait; %s",
				f.all, f.first), "; ")))
		}
	}
	return facts
}

func leastBackoff(failures int) time.Duration {
	d := firstBackoff
	for range failures - 1 {
		d = min(2*d, longestBackoff)
	}
	return d / 2
}
