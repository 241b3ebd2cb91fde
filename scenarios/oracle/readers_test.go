package oracle

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/readers"
)

// read is a line of the readers' record.
type read readers.Record

func (x *read) told() bool { return x.Code/100 == 2 }

// asking is the section readers of a scenario.
type asking struct {
	From              string
	Get, List         float64
	Limit             int64
	Watches, Webhooks int
}

func (a *asking) records() bool { return a.Get+a.List > 0 || a.Watches+a.Webhooks > 0 }
func (a *asking) any() bool     { return a.From != "" || a.records() }

// readerFigures are those of the readers.
func (r *record) readerFigures(a answers) {
	s := &r.cell.Scenario.Readers
	if !s.any() {
		return
	}
	a["readers.from"] = cmp.Or(s.From, "watcher")
	if s.records() {
		r.queries(a, "get", s.Get, 1)
		r.queries(a, "list", s.List, r.alwaysThere())
		happened := r.happened()
		r.watches(a, happened)
		r.webhooks(a, happened)
	}
}

// when the readers' record says that something happened: started, stopped.
func (r *record) when(what string) int64 {
	i := slices.IndexFunc(r.reads, func(x read) bool { return x.What == what })
	return r.reads[i].Ended
}

// queries are those of one verb, of which a right answer has at least so many objects.
func (r *record) queries(a answers, verb string, rate float64, least int64) {
	if rate == 0 {
		return
	}
	at := "readers." + verb + "."
	length := seconds(r.when("stopped") - r.when("started"))
	var sent, done float64
	var fromIntent []int64
	for _, x := range r.reads {
		if x.What != verb {
			continue
		}
		sent++
		switch {
		case x.Code != 0 && x.Code != 200:
			a.count(at+"errors."+strconv.Itoa(x.Code), 1)
		case x.Error != "":
			a.count(at+"errors."+x.Error, 1)
		case x.Items < least:
			a.count(at+"errors.objects are missing", 1)
		default:
			done, fromIntent = done+1, append(fromIntent, x.Ended-x.Intended)
		}
	}
	a[at+"planned"] = max(math.Floor(rate*length), sent) // one may have been due in the last interval
	a[at+"sent"], a[at+"done"] = sent, done
	if done > 0 {
		a.number(at+"qps", done/length)
	}
	a.quantiles(at+"latencyIntendedMs", fromIntent, milli)
}

func (a answers) count(path string, n int) {
	was, _ := a[path].(float64)
	a[path] = was + float64(n)
}

// alwaysThere is how many Pods a LIST has at least: those that existed before the control and
// to the end, or its limit.
func (r *record) alwaysThere() int64 {
	s := &r.cell.Scenario.Readers
	there, gone := map[string]bool{}, map[string]bool{}
	h := r.happened()
	for i := range r.ops {
		o := &r.ops[i]
		if o.Kind == "Pod" && o.ok() && o.Phase != "teardown" {
			there[o.UID] = there[o.UID] || o.Type == "create" && o.ResourceVersion <= h.from
			gone[o.UID] = gone[o.UID] || o.delete()
		}
	}
	for _, c := range h.changes {
		gone[c.UID] = gone[c.UID] || c.Type == "DELETED"
	}
	n := int64(0)
	for uid := range there {
		if there[uid] && !gone[uid] {
			n++
		}
	}
	if s.Limit > 0 {
		n = min(n, s.Limit)
	}
	return n
}

// happening is what happened to Pods, by version: what the control saw of it, and when it
// was due where the load did it. Nothing is known of versions up to from, nor after last.
type happening struct {
	from, last uint64
	changes    map[uint64]read
	due        map[uint64]int64
}

func (h *happening) unknown(version uint64) bool { return version <= h.from || version > h.last }

func (r *record) happened() *happening {
	h := &happening{changes: map[uint64]read{}, due: map[uint64]int64{}}
	for _, x := range r.reads {
		switch {
		case x.Reader != 0:
		case x.What == "opened":
			h.from = cmp.Or(h.from, x.Version)
			h.last = max(h.last, h.from)
		case x.What == "event" && x.Type != "BOOKMARK":
			h.changes[x.Version] = x
			h.last = max(h.last, x.Version)
		}
	}
	for i := range r.ops {
		if o := &r.ops[i]; o.Kind == "Pod" && o.counted() {
			version := o.ResourceVersion
			if o.delete() {
				version = o.DeletedVersion
			}
			h.due[version] = o.Intended
		}
	}
	delete(h.due, 0) // an answer without a version
	return h
}

// lag adds that of a change of the load at a reader.
func (h *happening) lag(lags []int64, version uint64, at int64) []int64 {
	if due, load := h.due[version]; load {
		return append(lags, at-due)
	}
	return lags
}

func (r *record) watches(a answers, h *happening) {
	n := r.cell.Scenario.Readers.Watches
	if n == 0 {
		return
	}
	const at = "readers.watches."
	a[at+"count"], a[at+"changes"] = float64(n), float64(len(h.changes))
	var lags []int64
	for reader := 1; reader <= n; reader++ {
		w := r.watched(h, reader)
		a.count(at+"events", len(w.first))
		a.count(at+"missed", w.missed)
		a.count(at+"resumed", w.resumed)
		a.count(at+"relisted", w.relisted)
		for version, when := range w.first {
			lags = h.lag(lags, version, when)
		}
	}
	a.quantiles(at+"lagMs", lags, milli)
}

func (r *record) webhooks(a answers, h *happening) {
	s := &r.cell.Scenario.Readers
	if s.Webhooks == 0 {
		return
	}
	const at = "readers.webhooks."
	a[at+"receivers"], a[at+"changes"] = float64(s.Webhooks), float64(len(h.changes))
	a.count(at+"missed", 0)
	var lags []int64
	for reader := 1; reader <= s.Webhooks; reader++ {
		attempts, delivered, seen := 0, 0, map[uint64]bool{}
		for _, x := range r.reads {
			if x.What != "delivery" || x.Reader != reader {
				continue
			}
			attempts++
			if _, known := h.changes[x.Version]; !known || !x.told() {
				continue
			}
			delivered++
			if !seen[x.Version] {
				lags = h.lag(lags, x.Version, x.Started)
			}
			seen[x.Version] = true
		}
		a.count(at+"attempts", attempts)
		a.count(at+"delivered", delivered)
		a.count(at+"repeated", delivered-len(seen))
		a.count(at+"missed", len(h.changes)-len(seen))
	}
	a.quantiles(at+"lagMs", lags, milli)
}

// ratios compare a valid cell with the valid one of the same plan and repetition that has no
// readers, by figures that are published.
func (r *record) ratios(t *testing.T, a answers) {
	base := r.withoutReaders(t)
	if base == nil || a["valid"] != true || r.cell.Cut || base.cell.Cut {
		return
	}
	without := compute(t, base)
	if without["valid"] != true {
		return
	}
	mine, known := number(a["freshness.p99"])
	if other, has := number(without["freshness.p99"]); known && has {
		a.number("readers.freshnessRatio", six(mine)/six(other))
	}
}

// withoutReaders is nil if there is no such cell, or several.
func (r *record) withoutReaders(t *testing.T) *record {
	t.Helper()
	if !r.cell.Scenario.Readers.any() {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(r.dir), "*", "cell.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		var c cellFile
		readJSON(t, path, &c)
		if !c.Scenario.Readers.any() && c.Repetition == r.cell.Repetition && samePlan(c.Params, r.cell.Params) && samePlan(r.cell.Params, c.Params) {
			found = append(found, filepath.Dir(path))
		}
	}
	if len(found) != 1 {
		return nil
	}
	return load(t, found[0])
}

func samePlan(a, b map[string]string) bool {
	for axis, point := range a {
		if axis != "readers" && !strings.HasPrefix(axis, "readers.") && b[axis] != point {
			return false
		}
	}
	return true
}
