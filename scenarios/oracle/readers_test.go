package oracle

import (
	"cmp"
	"math"
	"path/filepath"
	"regexp"
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
	WebhookFaults     []string
}

func (a *asking) records() bool { return a.Get+a.List > 0 || a.Watches+a.Webhooks > 0 }
func (a *asking) any() bool     { return a.From != "" || a.records() }

var faultAt = regexp.MustCompile(`receiver=([0-9|]+)`)

// healthy says that no fault is meant for a receiver.
func (a *asking) healthy(receiver int) bool {
	return !slices.ContainsFunc(a.WebhookFaults, func(text string) bool {
		at := faultAt.FindStringSubmatch(text)
		return at == nil || slices.Contains(strings.Split(at[1], "|"), strconv.Itoa(receiver))
	})
}

type apiCount struct{ Gets, Lists, Watches, Events float64 }

// readerFigures are those of the readers, and what the apiserver was asked.
func (r *record) readerFigures(a answers) {
	if before, after := r.cell.APIBefore, r.cell.APIAfter; before != nil && after != nil {
		a["api.gets"], a["api.lists"], a["api.events"] = after.Gets-before.Gets, after.Lists-before.Lists, after.Events-before.Events
		a["api.watches"] = after.Watches
		r.cores(a, "api.cpuCores", "apiserver")
	}
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

// cores is a party's CPU over load and drain, by the figures that are published.
func (r *record) cores(a answers, figure, party string) {
	used, known := number(a["parties."+party+".cpuSeconds"])
	if length, has := number(a["watcher.cpuWindowSeconds"]); known && has {
		a.number(figure, six(used)/six(length))
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
	var sent, done, items, bytes float64
	var fromIntent, fromActual []int64
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
			done, items, bytes = done+1, items+float64(x.Items), bytes+float64(x.Bytes)
			fromIntent, fromActual = append(fromIntent, x.Ended-x.Intended), append(fromActual, x.Ended-x.Started)
		}
	}
	a[at+"planned"] = max(math.Floor(rate*length), sent) // one may have been due in the last interval
	a[at+"sent"], a[at+"done"] = sent, done
	if done > 0 {
		a.number(at+"qps", done/length)
	}
	a.number(at+"itemsPerAnswer", items/done)
	a.number(at+"bytesPerAnswer", bytes/done)
	a.quantiles(at+"latencyIntendedMs", fromIntent, milli)
	a.quantiles(at+"latencyActualMs", fromActual, milli)
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

// delays are those of changes at their readers, from when they were due and from the control.
type delays struct{ lag, behind []int64 }

func (d *delays) add(h *happening, version uint64, at int64) {
	if due, load := h.due[version]; load {
		d.lag = append(d.lag, at-due)
		d.behind = append(d.behind, at-h.changes[version].Ended)
	}
}

func (r *record) watches(a answers, h *happening) {
	n := r.cell.Scenario.Readers.Watches
	if n == 0 {
		return
	}
	const at = "readers.watches."
	a[at+"count"], a[at+"changes"] = float64(n), float64(len(h.changes))
	var d delays
	for reader := 1; reader <= n; reader++ {
		w := r.watched(h, reader)
		a.count(at+"events", len(w.first))
		a.count(at+"missed", w.missed)
		a.count(at+"resumed", w.resumed)
		a.count(at+"relisted", w.relisted)
		for version, when := range w.first {
			d.add(h, version, when)
		}
	}
	a.quantiles(at+"lagMs", d.lag, milli)
	a.quantiles(at+"behindMs", d.behind, milli)
}

func (r *record) webhooks(a answers, h *happening) {
	s := &r.cell.Scenario.Readers
	if s.Webhooks == 0 {
		return
	}
	const at = "readers.webhooks."
	a[at+"receivers"], a[at+"changes"] = float64(s.Webhooks), float64(len(h.changes))
	a.count(at+"healthy", 0)
	a.count(at+"missed", 0)
	most := int64(0)
	var well, faulty delays
	for reader := 1; reader <= s.Webhooks; reader++ {
		d := &faulty
		if s.healthy(reader) {
			d = &well
			a.count(at+"healthy", 1)
		}
		attempts, delivered, seen := 0, 0, map[uint64]bool{}
		for _, x := range r.reads {
			if x.What != "delivery" || x.Reader != reader {
				continue
			}
			attempts++
			most = max(most, x.Items)
			if x.faulty() {
				a.count(at+"faults."+x.Error, 1)
			}
			if _, known := h.changes[x.Version]; !known || !x.told() {
				continue
			}
			delivered++
			if !seen[x.Version] {
				d.add(h, x.Version, x.Started)
			}
			seen[x.Version] = true
		}
		a.count(at+"attempts", attempts)
		a.count(at+"delivered", delivered)
		a.count(at+"repeated", delivered-len(seen))
		if d == &well {
			a.count(at+"missed", len(h.changes)-len(seen))
		}
	}
	if most > 0 {
		a[at+"answerBytes"] = float64(most)
	}
	a.quantiles(at+"lagMs", well.lag, milli)
	a.quantiles(at+"behindMs", well.behind, milli)
	a.quantiles(at+"faultyLagMs", faulty.lag, milli)
}

// faulty says that a fault hit the delivery. What a receiver itself has to say of one is a
// sentence, and the name of a fault has no blanks.
func (x *read) faulty() bool { return x.Error != "" && !strings.Contains(x.Error, " ") }

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
	for figure, of := range map[string]string{"freshnessRatio": "freshness.p99", "cpuRatio": "watcher.cpuCores", "rssRatio": "watcher.rssPeakMiB"} {
		mine, known := number(a[of])
		if other, has := number(without[of]); known && has {
			a.number("readers."+figure, six(mine)/six(other))
		}
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
