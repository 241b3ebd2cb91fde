package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

const podKind = "Pod"

const profileLegacy = "legacy"

// General are the rules that every row of the matrix is judged by. What a single fault did is judged by rules of its
// own.
func General(c *Case) []Rule {
	switch {
	case c.Cell.Scenario.Fault == nil:
		return nil
	case c.Cell.Refusal != nil:
		return []Rule{refusedRule(c)}
	}
	rules := []Rule{
		timeRule(c), freshRule(c), arrivalRule(c), repairsRule(c), attemptsRule(c), stepRule(c), listsRule(c),
		throttleRule(c), patienceRule(c), retriesRule(c), queuedRule(c), bystanderRule(c),
		exitRule(c), waitedRule(c),
	}
	return slices.DeleteFunc(rules, func(r Rule) bool { return r.Facts == nil && r.Vacuous == nil })
}

func stating(facts func(Seen) []result.Fact) Rule { return Rule{Facts: facts} }

// timeRule: how long storage needed after the fault or, if that never ended, for any change.
func timeRule(c *Case) Rule {
	limit := c.Cell.Scenario.Fault.Recovery.Std().Seconds()
	return stating(func(seen Seen) (facts []result.Fact) {
		if w := c.Cell.Watcher; c.Cell.Scenario.Watch.AtStart && w.Restarts == 0 {
			facts = append(facts, Within("T", "until the first lists were complete", "s", float64(w.Ready-w.Started)/1e9, limit))
		}
		if end, windowed := FaultEnd(c); windowed {
			facts = append(facts, RecoveryFact("recovery after the fault", seen.Changes, end, limit))
		} else if end > 0 || len(c.Cell.Scenario.Events) == 0 {
			facts = append(facts, DelayFact("longest delay of a change", seen.Changes, 0, limit))
		}
		return facts
	})
}

func freshRule(c *Case) Rule {
	limit := c.Cell.Scenario.Fault.Freshness.Std().Seconds()
	if limit == 0 {
		return Rule{}
	}
	return stating(func(seen Seen) []result.Fact {
		q := seen.Figures.Freshness
		if q == nil {
			return []result.Fact{Missing("T", "freshness p99", "s", "no change was made")}
		}
		return []result.Fact{Within("T", "freshness p99", "s", q.P99, limit)}
	})
}

// arrivalRule: whatever was changed is in storage, or was deleted before anybody saw it.
func arrivalRule(c *Case) Rule {
	return stating(func(seen Seen) []result.Fact {
		never, first := int64(0), ""
		for ch := range seen.Changes {
			if ch.Stored == 0 && !ch.Gone && !ch.Unconfirmed && (!ch.Deletion || !diedWith(c, ch.Finished)) {
				if never++; never == 1 {
					first = fmt.Sprintf("operation %d, on a %s", ch.Operation, ch.Kind)
				}
			}
		}
		return []result.Fact{None("C", "changes that never arrived", never, first)}
	})
}

// unread is how long before storage was killed a DELETE may have been sent that it never read.
const unread = int64(time.Second)

// diedWith reports whether a deletion at that time may have been under way when storage was killed: the ledger has
// nothing of it, and the client finds that the storage that came back never had the object. G1 sees one that it has.
func diedWith(c *Case, deleted int64) bool {
	killed := int64(0)
	for _, m := range c.Marks {
		switch {
		case m.What == history.MarkStorageKilled:
			killed = m.Time
		case m.What == history.MarkStorageBack && deleted > killed-unread && deleted < m.Time:
			return true
		}
	}
	return false
}

// repairsRule: unless something happened to storage that only a comparison can find, the synchronizer has nothing to
// repair. What it repairs then was lost on the way. Kinds that came and went are left out: their rows are the
// synchronizer's to remove.
func repairsRule(c *Case) Rule {
	s := &c.Cell.Scenario
	if !c.Cell.Watcher.Own || s.Watcher.Profile == profileLegacy || s.Watcher.Synchronizer.Disabled {
		return Rule{}
	}
	return stating(func(Seen) []result.Fact {
		const name = "repairs of the synchronizer"
		if !c.After.Has(metric.SyncRuns) {
			return []result.Fact{Missing("C", name, "", "the watcher's metrics lack it")}
		}
		repairs := 0.0
		for kind, n := range c.After.By(metric.SyncRepairs, "kind") {
			if !slices.Contains(c.CustomKinds, kind) {
				repairs += n
			}
		}
		if s.Fault.Repairs {
			f := Within("C", name, "", repairs, 0)
			if c.Cell.Watcher.Restarts > 0 {
				f.Detail = "of the last watcher"
			}
			return []result.Fact{f}
		}
		return []result.Fact{None("C", name, int64(repairs), "")}
	})
}

// exitRule: every watcher ended as it was asked to, and none panicked. In a cut cell the last one is killed, so its
// exit is not judged.
func exitRule(c *Case) Rule {
	return stating(func(Seen) []result.Fact {
		exits := c.Cell.Watcher.Exits
		if len(exits) == 0 {
			return []result.Fact{Missing("X", "watchers that did not exit cleanly", "", "no exit was recorded")}
		}
		unclean, panics, firstExit, firstPanic := int64(0), int64(0), "", ""
		for _, e := range exits {
			if e.Panics > 0 {
				panics += int64(e.Panics)
				firstPanic = cmp.Or(firstPanic, e.Process+": "+e.FirstPanic)
			}
			if how := notClean(e); how != "" {
				unclean++
				firstExit = cmp.Or(firstExit, e.Process+": "+how)
			}
		}
		facts := []result.Fact{None("X", "watchers that did not exit cleanly", unclean, firstExit),
			None("X", "panics logged", panics, firstPanic)}
		return slices.DeleteFunc(facts, func(f result.Fact) bool { return c.Cell.Cut && f.OK })
	})
}

// notClean says how a watcher ended otherwise than it was asked to; empty if it did not.
func notClean(e history.Exit) string {
	switch {
	case e.Terminated && e.Killed:
		return "it did not end after SIGTERM, SIGKILL was needed"
	case e.Killed && e.ExitCode >= 0:
		return fmt.Sprintf("it ended by itself before SIGKILL, exit code %d", e.ExitCode)
	case e.Killed:
		return ""
	case !e.Terminated:
		return fmt.Sprintf("it ended by itself, exit code %d", e.ExitCode)
	case e.ExitCode != 0:
		return fmt.Sprintf("exit code %d after SIGTERM", e.ExitCode)
	}
	return ""
}

// FaultEnd is when the last fault of storage or watch ended (Unix nanoseconds; 0 if there was none), and whether that
// was before the end of the load.
func FaultEnd(c *Case) (end int64, windowed bool) {
	cell := c.Cell
	last := func(w faultlist.Window, most int) bool {
		end = max(end, cell.FaultsSet+int64(w.From+w.For))
		return w.For > 0 && w.Every == 0 && most == 0
	}
	for _, s := range cell.Scenario.Storage.FaultSpecs() {
		if !last(s.Window, s.Max) {
			return cell.LoadFinished, false
		}
	}
	for _, s := range cell.Scenario.Watch.FaultSpecs() {
		if !last(s.Window, s.Max) {
			return cell.LoadFinished, false
		}
	}
	return min(end, cell.LoadFinished), end > 0 && end < cell.LoadFinished
}

// attemptsRule: a retry of a state, or a write of what storage had already, is an attempt more.
func attemptsRule(c *Case) Rule {
	a := attempts{from: c.Cell.LoadStarted, to: c.Cell.ScrapeFinished, states: map[uint64]struct{}{}}
	return Rule{Request: a.request, Facts: func(Seen) []result.Fact {
		if len(a.states) == 0 {
			return []result.Fact{Missing("A", "write attempts per state", "", "no state reached storage")}
		}
		return []result.Fact{Within("A", "write attempts per state", "", float64(a.tried)/float64(len(a.states)),
			c.Cell.Scenario.Fault.Amplification)}
	}}
}

// stepRule counts what a watcher tried while nobody listened. Its own counter is the only record of that; G14 holds the
// counter to the ledger where there is one.
func stepRule(c *Case) Rule {
	if !c.Cell.Scenario.Fault.PerStep {
		return Rule{}
	}
	var down time.Duration
	for _, s := range c.Cell.Scenario.Storage.FaultSpecs() {
		down += s.For
	}
	failed := func(s history.Scrape) float64 {
		return s.Value(metric.StorageRequests, "resource_type", podKind, "status", "failure")
	}
	return stating(func(Seen) []result.Fact {
		if !c.Before.Has(metric.StorageRequests) || !c.After.Has(metric.StorageRequests) {
			return []result.Fact{Missing("A", "attempts while storage was down", "", "the watcher's metrics lack it")}
		}
		tried := failed(c.After) - failed(c.Before)
		steps, workers := BackoffSteps(down), c.Cell.Scenario.Largest().Concurrency()
		f := Within("A", "attempts while storage was down", "", tried, float64(steps*workers))
		f.Detail = fmt.Sprintf("%d workers, %d steps in %s", workers, steps, down)
		f.OK = f.OK && tried > 0
		return []result.Fact{f}
	})
}

// BackoffSteps is how many steps of the watcher's backoff fit into a time at most: delays double from 100 ms to 5 s,
// and jitter may halve each.
func BackoffSteps(in time.Duration) int {
	steps, at, d := 1, time.Duration(0), firstBackoff
	for at+d/2 <= in {
		at += d / 2
		steps++
		d = min(2*d, longestBackoff)
	}
	return steps
}

// listsRule: custom resources that come and go are listed when they come; no other kind is.
func listsRule(c *Case) Rule {
	s := &c.Cell.Scenario
	if s.Fault.Lists == nil {
		return Rule{}
	}
	return stating(func(Seen) []result.Fact {
		name := "lists of a kind after its first"
		if len(c.CustomKinds) > 0 {
			name = "lists of another kind after its first"
		}
		lists := c.After.By(metric.Relists, "kind")
		maps.DeleteFunc(lists, func(kind string, _ float64) bool { return slices.Contains(c.CustomKinds, kind) })
		most := 0.0
		for _, n := range lists {
			most = max(most, n)
		}
		limit := float64(*s.Fault.Lists)
		return []result.Fact{{Column: "A", Name: name, Value: most, Limit: &limit, OK: len(lists) > 0 && most <= limit}}
	})
}

// throttleRule: what Retry-After asks for is obeyed.
func throttleRule(c *Case) Rule {
	pauses := map[string]time.Duration{}
	for _, s := range c.Cell.Scenario.Storage.FaultSpecs() {
		if s.RetryAfter > 0 {
			pauses[s.Name] = s.RetryAfter
		}
	}
	if len(pauses) == 0 {
		return Rule{}
	}
	t := throttle{asked: func(e *ledger.Entry) time.Duration { return pauses[e.Fault] }, until: map[uint64]int64{}}
	return Rule{Request: t.request, Facts: func(Seen) []result.Fact {
		f := None("A", "Retry-After disobeyed", t.disobeyed,
			strings.TrimPrefix(fmt.Sprintf("%s, obeyed %d times", t.first, t.obeyed), ", "))
		f.OK = f.OK && t.obeyed > 0
		return []result.Fact{f}
	}}
}

// queuedRule bounds the events of Pods that wait by the keys that existed at once, where the strategy keeps one event
// per key.
func queuedRule(c *Case) Rule {
	s := &c.Cell.Scenario
	if w := s.Watcher; w.Strategy != "dedup" && w.Strategy != "adaptive" || w.Profile == profileLegacy {
		return Rule{}
	}
	return stating(func(seen Seen) []result.Fact {
		limit, most, known := seen.PeakLive+s.Extra.Namespaces*s.Extra.Pods, 0.0, false
		for _, x := range c.Samples {
			if x.QueueDepth != nil {
				most, known = max(most, *x.QueueDepth), true
			}
		}
		if limit == 0 || !known {
			return []result.Fact{Missing("B", "events queued", "events", "no object existed, or the queues could not be read")}
		}
		return []result.Fact{Within("B", "events queued", "events", most, float64(limit))}
	})
}

func bystanderRule(c *Case) Rule {
	return stating(func(seen Seen) (facts []result.Fact) {
		if c.Cell.Scenario.Fault.FromAnswer {
			if q := fromAnswer(seen.Changes); q != nil {
				facts = append(facts, Within("I", "bystander freshness p99 from the apiserver's answer", "s", q.P99, 0))
			}
		}
		if q := seen.Figures.Bystander.Freshness; q != nil {
			facts = append(facts, Within("I", "bystander freshness p99", "s", q.P99, 0))
		}
		return facts
	})
}

// refusals are the messages of crypto/tls and crypto/x509 for each storage.tls: a watcher must have refused storage for
// what is wrong with it and not for something else.
var refusals = map[string]string{
	"wrong-ca":   "certificate signed by unknown authority",
	"expired":    "certificate has expired",
	"wrong-host": "cannot validate certificate for 127.0.0.1",
	"tls-1.1":    "protocol version",
}

// refusedRule: a watcher that must not trust storage ends with an error that names the reason, and sends nothing.
func refusedRule(c *Case) Rule {
	var requests int64
	s, r := &c.Cell.Scenario, c.Cell.Refusal
	return Rule{Request: func(*ledger.Entry) { requests++ }, Facts: func(Seen) []result.Fact {
		facts := []result.Fact{
			None("S", "requests that reached storage", requests, ""),
			{Column: "X", Name: "exit code of the watcher", Value: float64(r.ExitCode), OK: r.Ended &&
				r.ExitCode != 0, Detail: r.LastLine},
		}
		if s.Watcher.Command == "" {
			why := refusals[s.Storage.TLS]
			f := result.Fact{Column: "S", Name: "it names what is wrong", OK: strings.Contains(r.LastLine, why),
				Detail: "want: " + why}
			if f.OK {
				f.Value = 1
			}
			facts = append(facts, f)
		}
		const name = "until it refused"
		if !r.Ended {
			return append(facts, Missing("T", name, "s",
				"it had not ended after "+time.Duration(r.Seconds*1e9).Round(time.Second).String()))
		}
		return append(facts, Within("T", name, "s", r.Seconds, s.Fault.Recovery.Std().Seconds()))
	}}
}
