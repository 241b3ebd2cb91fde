package runner

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// follow is what storage made of one event of custom resources.
type follow struct {
	what   string
	took   time.Duration // from the apiserver's last answer until storage held the same
	behind string        // why it never did; empty if it did
}

// custom carries out an event of custom resources, and waits until storage holds what
// the apiserver serves of them: nobody else writes to them meanwhile.
func (t *timeline) custom(ctx context.Context, e spec.Event) error {
	u, n := t.c.customs, e.Number()
	some := u.live[:min(n, len(u.live))]
	switch e.What {
	case spec.EventCRDAdd:
		added, err := u.add(ctx, n)
		if err != nil {
			return err
		}
		return t.followed(ctx, e.What, added)
	case spec.EventCRDSwitch:
		some = u.oldest(n, func(d *definition) bool { return d.version == "v1" })
		if err := u.serve(ctx, some, func(d *definition) { d.version = "v2" }); err != nil {
			return err
		}
		return t.followed(ctx, e.What, some)
	case spec.EventCRDUnserve:
		return t.unserve(ctx, e, some)
	case spec.EventCRDRemove:
		some = slices.Clone(some)
		rows, err := t.c.customRows(ctx)
		if err != nil {
			return err
		}
		t.keys[e.What] += rowsOf(rows, some)
		if err := u.drop(ctx, some); err != nil {
			return err
		}
		return t.followed(ctx, e.What, nil)
	default:
		if err := u.change(ctx, n); err != nil {
			return err
		}
		t.keys[e.What] += int64(n)
		return t.followed(ctx, e.What, nil)
	}
}

// unserve takes definitions away from the watcher and gives them back. What the
// apiserver does not serve must leave storage.
func (t *timeline) unserve(ctx context.Context, e spec.Event, some []*definition) error {
	u, began := t.c.customs, time.Now()
	t.c.markKinds(history.MarkUnserved, some)
	if err := u.serve(ctx, some, func(d *definition) { d.served = false }); err != nil {
		return err
	}
	if err := t.followed(ctx, e.What, nil); err != nil {
		return err
	}
	if err := pause(ctx, max(0, e.For.Std()-time.Since(began))); err != nil {
		return err
	}
	t.c.markKinds(history.MarkServed, some)
	if err := u.serve(ctx, some, func(d *definition) { d.served = true }); err != nil {
		return err
	}
	return t.followed(ctx, e.What, some)
}

func (c *cellRun) markKinds(what string, some []*definition) {
	for _, d := range some {
		c.marks = append(c.marks, history.Mark{Time: time.Now().UnixNano(), What: what, Kind: d.kind})
	}
}

// Bounds on the wait until storage has followed.
const (
	followLimit = 30 * time.Second
	followPoll  = 50 * time.Millisecond
)

// followed waits until storage has the custom objects that the apiserver has, notes
// what came of it, and counts the rows of some as those that the event concerned.
func (t *timeline) followed(ctx context.Context, what string, some []*definition) error {
	c := t.c
	began := time.Now()
	want, err := c.customs.state(ctx, c.rules)
	if err != nil {
		return err
	}
	c.customs.cached = max(c.customs.cached, len(c.customs.live)+len(want))
	f := follow{what: what}
	for {
		have, err := c.customRows(ctx)
		if err != nil {
			return err
		}
		f.took, f.behind = time.Since(began), difference(want, have)
		if f.behind == "" || f.took > followLimit {
			t.keys[what] += rowsOf(have, some)
			break
		}
		select {
		case <-c.watcher.done:
			return c.watcher.failure()
		default:
		}
		if err := pause(ctx, followPoll); err != nil {
			return err
		}
	}
	note := fmt.Sprintf("storage followed after %s", f.took.Round(time.Millisecond))
	if f.behind != "" {
		note = fmt.Sprintf("after %s %s", f.took.Round(time.Millisecond), f.behind)
	}
	c.markNote(what, note)
	c.customs.follows = append(c.customs.follows, f)
	return nil
}

// customRows is what storage holds of custom resources.
func (c *cellRun) customRows(ctx context.Context) ([]history.StateRecord, error) {
	all, err := c.mock.stateIn(ctx, c.customs.namespace, c.rules)
	if err != nil {
		return nil, lost(ctx, c.mock.process, err)
	}
	return slices.DeleteFunc(all, func(r history.StateRecord) bool { return !c.customs.has(r.Kind) }), nil
}

func (u *customs) has(kind string) bool {
	return slices.ContainsFunc(u.all, func(d *definition) bool { return d.kind == kind })
}

func rowsOf(rows []history.StateRecord, some []*definition) (n int64) {
	for _, r := range rows {
		if slices.ContainsFunc(some, func(d *definition) bool { return d.kind == r.Kind }) {
			n++
		}
	}
	return n
}

// difference names an object of which storage does not hold what the apiserver does;
// empty if there is none.
func difference(apiserver, storage []history.StateRecord) string {
	have := make(map[objectID]history.StateRecord, len(storage))
	for _, r := range storage {
		have[idOf(r)] = r
	}
	for _, w := range apiserver {
		s, there := have[idOf(w)]
		delete(have, idOf(w))
		switch {
		case !there:
			return fmt.Sprintf("%s/%s/%s is not in storage", w.Kind, w.Namespace, w.Name)
		case s.UID != w.UID || s.Digest != w.Digest:
			return fmt.Sprintf("%s/%s/%s: storage holds uid %s version %d, the apiserver uid %s version %d, or another content",
				w.Kind, w.Namespace, w.Name, s.UID, s.ResourceVersion, w.UID, w.ResourceVersion)
		}
	}
	var left []string
	for id := range have {
		left = append(left, fmt.Sprintf("%s/%s/%s", id.kind, id.namespace, id.name))
	}
	if len(left) == 0 {
		return ""
	}
	slices.Sort(left)
	return left[0] + " is in storage, the apiserver serves no such object"
}

// customFacts: what storage made of each event, and how long it took.
func (c *cellRun) customFacts(within bounded, add func(result.Fact), limit float64) {
	u := c.customs
	if u == nil {
		return
	}
	missed, first := 0.0, ""
	longest := map[string]time.Duration{}
	for _, f := range u.follows {
		if f.behind != "" {
			if missed++; first == "" {
				first = f.what + ": " + f.behind
			}
		}
		longest[f.what] = max(longest[f.what], f.took)
	}
	zero := 0.0
	add(result.Fact{Column: "C", Name: "events that storage did not follow", Value: missed, Limit: &zero,
		OK: missed == 0 && len(u.follows) > 0, Detail: strings.TrimPrefix(fmt.Sprintf("%s; %d waited for", first, len(u.follows)), "; ")})
	established, made, left := u.times(c.evidence.entries)
	for _, x := range []struct {
		name string
		all  []float64
	}{
		{"definition established until its first object is in storage", established},
		{"first object of a definition made until it is in storage", made},
		{"definition removed until its last row is gone", left},
	} {
		if len(x.all) > 0 {
			f := within("T", x.name, "s", slices.Max(x.all), limit)
			f.Detail = fmt.Sprintf("the longest of %d definitions", len(x.all))
			add(f)
		}
	}
	for _, what := range []string{spec.EventCRDSwitch, spec.EventCRDUnserve, spec.EventChangeCustoms} {
		if took, ok := longest[what]; ok {
			add(within("T", "until storage followed "+what, "s", took.Seconds(), limit))
		}
	}
}

// times are read from the ledger, in seconds per definition: from its establishment, and
// from its first object, to the first write of its kind, and from its removal to the
// last delete; 0 where the ledger was faster than the apiserver's answer.
func (u *customs) times(entries []ledger.Entry) (established, made, left []float64) {
	written, deleted := map[string]int64{}, map[string]int64{}
	for _, e := range entries {
		switch {
		case !e.Took():
		case e.Method == http.MethodDelete:
			deleted[e.Kind] = e.Applied
		case written[e.Kind] == 0:
			written[e.Kind] = e.Applied
		}
	}
	since := func(to *[]float64, from, at int64) {
		if from != 0 && at != 0 {
			*to = append(*to, max(0, float64(at-from)/1e9))
		}
	}
	for _, d := range u.all {
		since(&established, d.established, written[d.kind])
		since(&made, d.first, written[d.kind])
		since(&left, d.gone, deleted[d.kind])
	}
	return established, made, left
}

// customVacuous names what the events of custom resources did not show.
func (t *timeline) customVacuous(events []spec.Event) []string {
	var why []string
	want := map[string]int64{}
	for _, e := range events {
		want[e.What]++
	}
	for _, what := range []string{spec.EventCRDAdd, spec.EventCRDSwitch, spec.EventCRDUnserve, spec.EventCRDRemove, spec.EventChangeCustoms} {
		switch n := want[what]; {
		case n == 0:
		case t.fired[what] < n:
			why = append(why, fmt.Sprintf("the event %s happened %d times instead of %d", what, t.fired[what], n))
		case t.keys[what] < minKeys:
			why = append(why, fmt.Sprintf("the event %s concerned %d custom objects; at least %d are needed", what, t.keys[what], minKeys))
		}
	}
	return why
}
