package runner

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// evidence is what the facts of a row are computed from.
type evidence struct {
	ops     []oplog.Record
	entries []ledger.Entry
	changes iter.Seq[history.Change]
}

// faultEnd is when the last fault of the cell ended, and whether that was before the
// end of the load.
func (c *cellRun) faultEnd() (end int64, windowed bool) {
	type window struct {
		faultlist.Window
		max int
	}
	var all []window
	for _, s := range c.s.Storage.FaultSpecs() {
		all = append(all, window{s.Window, s.Max})
	}
	for _, s := range c.s.Watch.FaultSpecs() {
		all = append(all, window{s.Window, s.Max})
	}
	if len(all) == 0 {
		return 0, false
	}
	for _, w := range all {
		if w.For == 0 || w.Every > 0 || w.max > 0 {
			return c.loadFinished, false
		}
		end = max(end, c.faultsSet+int64(w.From+w.For))
	}
	return min(end, c.loadFinished), end < c.loadFinished
}

// facts are what columns are judged by beside the guarantees.
func (c *cellRun) facts(cell *result.Cell) []result.Fact {
	var out []result.Fact
	add := func(f result.Fact) {
		f.Value = round3(f.Value)
		out = append(out, f)
	}
	within := func(col, name, unit string, v, limit float64) result.Fact {
		f := result.Fact{Column: col, Name: name, Unit: unit, Value: v, OK: true}
		if limit > 0 {
			f.Limit, f.OK = &limit, v <= limit
		}
		return f
	}
	row := c.s.Fault
	limit := row.Recovery.Std().Seconds()
	c.timeFacts(within, add, limit)
	c.customFacts(within, add, limit)
	c.amplificationFacts(within, add)
	c.orderFacts(add)
	c.lossFacts(add)
	if q := c.queuedLimit(); q > 0 {
		most := 0.0
		for _, x := range c.sampler.taken() {
			if x.QueueDepth != nil {
				most = max(most, *x.QueueDepth)
			}
		}
		add(within("B", "events queued", "events", most, float64(q)))
	}
	if row.FromAnswer {
		if q := c.bystanderFromAnswer(); q != nil {
			add(result.Fact{Column: "I", Name: "bystander freshness p99 from the apiserver's answer", Unit: "s", Value: q.P99, OK: true})
		}
	}
	if q := cell.Bystander.Freshness; q != nil {
		add(result.Fact{Column: "I", Name: "bystander freshness p99", Unit: "s", Value: q.P99, OK: true})
	}
	return out
}

// queuedLimit bounds the events of Pods that wait: by the scenario's ceiling or, where
// the strategy keeps one event per key, by the keys that existed at once.
func (c *cellRun) queuedLimit() int {
	q := c.s.Ceilings.Queued
	if s := c.s.Watcher.Strategy; q == 0 && (s == "dedup" || s == "adaptive") && c.s.Watcher.Profile != profileLegacy {
		q = measure.PeakLive(c.evidence.ops) + c.s.Extra.Namespaces*c.s.Extra.Pods
	}
	return q
}

type bounded func(col, name, unit string, v, limit float64) result.Fact

func (c *cellRun) timeFacts(within bounded, add func(result.Fact), limit float64) {
	c.tokenFacts(within, add, limit)
	c.setbackFacts(within, add, limit)
	c.pauseFacts(within, add)
	if c.s.Watch.AtStart && c.restarts == 0 {
		add(within("T", "until the first lists were complete", "s", c.ready.Sub(c.started).Seconds(), limit))
	}
	if end, windowed := c.faultEnd(); windowed {
		if s, ok := measure.Recovery(c.evidence.changes, end); ok {
			add(within("T", "recovery after the fault", "s", s, limit))
		}
	} else if end > 0 || len(c.s.Events) == 0 {
		add(delayFact(within, "longest delay of a change", longestDelay(c.evidence.changes, 0), limit))
	}
	if len(c.catchUps) > 0 && len(c.takeOvers) == 0 {
		add(within("T", "longest catch-up after a restart", "s", slices.Max(c.catchUps).Seconds(), limit))
	}
	for _, t := range c.takeOvers {
		f := within("T", "take-over by another replica", "s", t.took.Seconds(), limit)
		f.OK = f.OK && t.replaced
		add(f)
	}
	for _, t := range c.terminations {
		f := within("T", "end after SIGTERM", "s", t.took.Seconds(), (t.limit + exitTolerance).Seconds())
		f.Detail = fmt.Sprintf("drain limit %s, exit code %d", t.limit, t.code)
		f.OK = f.OK && !t.killed && t.code == 0
		if t.abandoned > 0 && t.took < t.limit-exitTolerance {
			f.OK, f.Detail = false, fmt.Sprintf("it gave up %d events before its drain limit of %s", t.abandoned, t.limit)
		}
		add(f)
	}
	if c.timeline.fired[spec.EventRotateCA] > 0 {
		if s, ok := measure.Recovery(c.evidence.changes, c.lastEvent); ok {
			add(within("T", "recovery after the new CA", "s", s, limit))
		}
	}
	if s, n, ok := c.repairs(); ok {
		f := within("T", "longest repair of a row", "s", s, limit)
		f.Detail = fmt.Sprintf("%d rows", n)
		add(f)
	}
}

// delays is how long changes took to reach storage.
type delays struct {
	changes, missing int
	longest          float64 // seconds
}

// longestDelay looks at the changes that were made since a time.
func longestDelay(changes iter.Seq[history.Change], since int64) (d delays) {
	for c := range changes {
		if c.Started < since {
			continue
		}
		d.changes++
		if c.Stored != 0 {
			d.longest = max(d.longest, float64(c.Stored-c.Intended)/1e9)
		} else if !c.Gone {
			d.missing++
		}
	}
	return d
}

func delayFact(within bounded, name string, d delays, limit float64) result.Fact {
	f := within("T", name, "s", d.longest, limit)
	if d.missing > 0 {
		f.OK, f.Detail = limit == 0, fmt.Sprintf("%d changes never arrived", d.missing)
	}
	return f
}

// repairs is the longest time that a row which was tampered with stayed so; ok is
// false if there was none.
func (c *cellRun) repairs() (seconds float64, rows int, ok bool) {
	for _, m := range c.marks {
		if m.What != history.MarkTamperAdd && m.What != history.MarkTamperEdit && m.What != history.MarkTamperRemove {
			continue
		}
		took := math.Inf(1)
		for _, e := range c.evidence.entries {
			if e.Kind == m.Kind && e.Namespace == m.Namespace && e.Name == m.Name && e.Took() && e.Applied >= m.Time && (e.Method == "DELETE") == (m.What == history.MarkTamperAdd) {
				took = float64(e.Applied-m.Time) / 1e9
				break
			}
		}
		rows++
		if math.IsInf(took, 1) {
			took = float64(c.scraped[1].UnixNano()-m.Time) / 1e9 // G12 says that it was never repaired
		}
		seconds = max(seconds, took)
	}
	return seconds, rows, rows > 0
}

func (c *cellRun) amplificationFacts(within bounded, add func(result.Fact)) {
	row := c.s.Fault
	until := c.scraped[1].UnixNano()
	attempts, states := measure.Attempts(c.evidence.entries, c.loadStarted, until)
	if states > 0 {
		add(within("A", "write attempts per state", "", float64(attempts)/float64(states), row.Amplification))
	}
	if row.PerStep {
		c.stepFacts(within, add)
	}
	if row.Lists != nil {
		// Custom resources that come and go are listed when they come; no other kind is.
		most, told, name := 0.0, false, "lists of a kind after its first"
		for kind, n := range c.after.By(metric.Relists, "kind") {
			if c.customs == nil || !c.customs.has(kind) {
				most, told = max(most, n), true
			}
		}
		if c.customs != nil {
			name = "lists of another kind after its first"
		}
		limit := float64(*row.Lists)
		add(result.Fact{Column: "A", Name: name, Value: most, Limit: &limit, OK: told && most <= limit})
	}
	pauses := map[string]int64{}
	for _, s := range c.s.Storage.FaultSpecs() {
		if s.RetryAfter > 0 {
			pauses[s.Name] = int64(s.RetryAfter)
		}
	}
	if len(pauses) > 0 {
		const slack = int64(20e6) // between the mock's clock reading and the socket
		obeyed, disobeyed, first := measure.Disobeyed(c.evidence.entries, func(f string) int64 { return pauses[f] }, slack)
		zero := 0.0
		add(result.Fact{Column: "A", Name: "Retry-After disobeyed", Value: float64(disobeyed), Limit: &zero,
			OK: disobeyed == 0 && obeyed > 0, Detail: strings.TrimPrefix(fmt.Sprintf("%s, obeyed %d times", first, obeyed), ", ")})
	}
}

// stepFacts counts what a watcher tried while nobody listened. Its own counter is the
// only record of that; G14 holds the counter to the ledger where there is one.
func (c *cellRun) stepFacts(within bounded, add func(result.Fact)) {
	var down time.Duration
	for _, s := range c.s.Storage.FaultSpecs() {
		down += s.For
	}
	failed := func(s history.Scrape) float64 {
		return value(s.Sum(metric.StorageRequests, "resource_type", podKind, "status", "failure"))
	}
	tried := failed(c.after) - failed(c.before)
	steps := backoffSteps(down)
	workers := c.s.Largest().Concurrency()
	f := within("A", "attempts while storage was down", "", tried, float64(steps*workers))
	f.Detail = fmt.Sprintf("%d workers, %d steps in %s", workers, steps, down)
	f.OK = f.OK && tried > 0
	add(f)
}

// backoffSteps is how many steps of the backoff fit into a time at most: delays double
// from 100 ms to 5 s, and jitter may halve each.
func backoffSteps(in time.Duration) int {
	const first, longest = 100 * time.Millisecond, 5 * time.Second
	steps, at, d := 1, time.Duration(0), first
	for at+d/2 <= in {
		at += d / 2
		steps++
		d = min(2*d, longest)
	}
	return steps
}

// orderFacts: a name that the runner re-created must end with the uid of its last
// object.
func (c *cellRun) orderFacts(add func(result.Fact)) {
	if len(c.recreated) == 0 {
		return
	}
	last := map[objectID]string{}
	for _, r := range c.recreated {
		last[objectID{podKind, r.namespace, r.name}] = r.uid
	}
	wrong, first := 0.0, ""
	for id, uid := range last {
		have := ""
		for _, s := range c.drained.state {
			if idOf(s) == id {
				have = s.UID
			}
		}
		if have != uid {
			wrong++
			first = fmt.Sprintf("%s/%s ends with uid %q, its last object is %s", id.namespace, id.name, have, uid)
		}
	}
	zero := 0.0
	add(result.Fact{Column: "O", Name: "re-created names with a wrong uid", Value: wrong, Limit: &zero, OK: wrong == 0, Detail: first})
}

// lossFacts: what a watcher gave up when it was told to end is what its counters
// still had queued, and only one leader wrote at a time.
func (c *cellRun) lossFacts(add func(result.Fact)) {
	for _, t := range c.terminations {
		if !t.known {
			continue
		}
		// What was acknowledged after the last reading is no longer queued.
		var since int64
		for _, e := range c.evidence.entries {
			if e.Acked() && e.Responded >= t.read {
				since++
			}
		}
		f := result.Fact{Column: "L", Name: "events given up at the end", Unit: "events", Value: float64(t.abandoned)}
		f.OK = t.balanced && t.abandoned <= t.queued && t.abandoned >= t.queued-since
		f.Detail = fmt.Sprintf("%d were queued at the last reading", t.queued)
		add(f)
	}
	for _, t := range c.takeOvers {
		double := 0.0
		for _, e := range c.evidence.entries {
			if e.Instance == t.before && e.Received > t.killed+int64(100*time.Millisecond) ||
				e.Instance != t.before && e.Received < t.killed {
				double++
			}
		}
		zero := 0.0
		add(result.Fact{Column: "O", Name: "requests of a replica that did not lead", Value: double, Limit: &zero, OK: double == 0})
	}
}

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }
