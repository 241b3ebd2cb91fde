package robustness

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// CustomResourceDefinitions and their objects. Nobody but these events writes to them.
const (
	crdAdd        = "crd-add"     // definitions at once, with objects of each
	crdSwitch     = "crd-switch"  // served and stored version of the oldest ones from v1 to v2
	crdUnserve    = "crd-unserve" // the oldest ones in no version, and again after a time
	crdRemove     = "crd-remove"  // the oldest ones
	changeCustoms = "change-customs"
	// removeVersion takes the only version of definitions that were there before the watcher,
	// and that discovery found, out of service, and serves another one, as an upgrade of the
	// apiserver does.
	removeVersion = "remove-version"
)

var customEvents = []string{crdAdd, crdSwitch, crdUnserve, crdRemove, changeCustoms, removeVersion}

// Bounds on the wait until storage has followed.
const (
	followLimit = 30 * time.Second
	followPoll  = 50 * time.Millisecond
)

func customResources() faults.Family {
	u := &customs{}
	declare := func(name string, inject func(context.Context, faults.Cell, spec.Event) (faults.Done, error), takes ...string) faults.Failpoint {
		return faults.Failpoint{Name: name, Takes: append(takes, "count"), Available: repairsIfDown, Inject: inject}
	}
	return faults.Family{Arrange: u.arrange, Prepare: u.prepare, State: u.served, Remove: u.remove, Rules: u.rules, Failpoints: []faults.Failpoint{
		declare(crdAdd, u.injectAdd), declare(crdSwitch, u.injectSwitch), declare(crdUnserve, u.injectUnserve, "for"),
		declare(crdRemove, u.injectRemove), declare(changeCustoms, u.injectChange),
		declare(removeVersion, u.injectSwitch),
	}}
}

// repairsIfDown: what a definition leaves that is removed while no watcher runs, only the synchronizer finds.
func repairsIfDown(t *spec.Timeline, _ spec.Event) error {
	t.Repairs = t.Repairs || !t.Runs
	return nil
}

// arrange has the watcher follow the definitions, and the judge expect their kinds.
func (u *customs) arrange(c faults.Cell) error {
	if !faults.Asks(c.Scenario(), customEvents...) {
		return nil
	}
	n := 0
	for _, e := range c.Scenario().Events {
		switch e.What {
		case crdAdd:
			n += e.Number()
		case removeVersion:
			u.before += e.Number()
		}
	}
	u.belong(c.Run(), faults.Namespace(c, 0))
	c.Setup().CustomKinds = customKinds(n + u.before)
	if u.before > 0 {
		c.Setup().Listed = u.groupVersions()
	} else {
		c.Setup().Customs = u.groupVersions()
	}
	return nil
}

// prepare takes the way to the apiserver, and makes what the watcher is to find.
func (u *customs) prepare(ctx context.Context, c faults.Cell) error {
	u.api = c.API()
	if u.before == 0 {
		return nil
	}
	_, err := u.add(ctx, u.before, true)
	return err
}

// served is what the apiserver serves of the custom resources.
func (u *customs) served(ctx context.Context, c faults.Cell) ([]history.StateRecord, error) {
	return u.state(ctx, c.Rules())
}

// remove deletes what is left of the definitions.
func (u *customs) remove(ctx context.Context, c faults.Cell) error {
	if u.api == nil || u.run == "" {
		return nil
	}
	return u.removeAll(ctx)
}

// follow is what storage made of one event.
type follow struct {
	// Seconds from the apiserver's last answer until storage held the same.
	Seconds float64 `json:"seconds"`
	Behind  string  `json:"behind,omitempty"` // why it never did; empty if it did
	// Cached is how many definitions and objects there were.
	Cached int `json:"cached"`
	// Defined are the definitions that the event added or removed.
	Defined []defined `json:"defined,omitempty"`
}

// defined is what the apiserver said of a definition, in Unix nanoseconds; 0 if it did
// not happen in this event.
type defined struct {
	Kind        string `json:"kind"`
	Established int64  `json:"established,omitempty"`
	First       int64  `json:"first,omitempty"` // its first object was made
	Gone        int64  `json:"gone,omitempty"`  // it is no longer there
}

func (u *customs) injectAdd(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	added, err := u.add(ctx, e.Number(), false)
	if err != nil {
		return faults.Done{}, err
	}
	done, f, err := u.followed(ctx, c, e, added)
	for _, d := range added {
		f.Defined = append(f.Defined, defined{Kind: d.kind, Established: d.established, First: d.first})
	}
	done.Seen = f
	return done, err
}

func (u *customs) injectSwitch(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	some := u.oldest(e.Number(), func(d *definition) bool { return d.version == "v1" })
	if err := u.serve(ctx, some, func(d *definition) { d.version = "v2" }); err != nil {
		return faults.Done{}, err
	}
	done, _, err := u.followed(ctx, c, e, some)
	return done, err
}

// injectUnserve takes definitions away from the watcher and gives them back. What the
// apiserver does not serve must leave storage.
func (u *customs) injectUnserve(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	some, began := u.first(e.Number()), time.Now()
	markKinds(c, history.MarkUnserved, some)
	if err := u.serve(ctx, some, func(d *definition) { d.served = false }); err != nil {
		return faults.Done{}, err
	}
	_, away, err := u.followed(ctx, c, e, nil)
	if err != nil {
		return faults.Done{}, err
	}
	if err := lifecycle.Pause(ctx, max(0, e.For.Std()-time.Since(began))); err != nil {
		return faults.Done{}, err
	}
	markKinds(c, history.MarkServed, some)
	if err := u.serve(ctx, some, func(d *definition) { d.served = true }); err != nil {
		return faults.Done{}, err
	}
	done, back, err := u.followed(ctx, c, e, some)
	if away.Behind != "" || away.Seconds > back.Seconds && back.Behind == "" {
		back.Seconds, back.Behind = away.Seconds, away.Behind // the worse of the two
	}
	done.Seen = back
	return done, err
}

func (u *customs) injectRemove(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	some := u.first(e.Number())
	rows, err := u.rows(ctx, c)
	if err != nil {
		return faults.Done{}, err
	}
	if err := u.drop(ctx, some); err != nil {
		return faults.Done{}, err
	}
	done, f := faults.Done{}, &follow{}
	if !c.Watcher().Ended() { // else there is nobody to wait for: the ledger tells
		done, f, err = u.followed(ctx, c, e, nil)
	}
	for _, d := range some {
		f.Defined = append(f.Defined, defined{Kind: d.kind, Gone: d.gone})
	}
	done.Keys, done.Seen = rowsOf(rows, some), f
	return done, err
}

func (u *customs) injectChange(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	if err := u.change(ctx, e.Number()); err != nil {
		return faults.Done{}, err
	}
	done, _, err := u.followed(ctx, c, e, nil)
	done.Keys = int64(e.Number())
	return done, err
}

// first are the n oldest definitions.
func (u *customs) first(n int) []*definition {
	return slices.Clone(u.live[:min(n, len(u.live))])
}

func markKinds(c faults.Cell, what string, some []*definition) {
	for _, d := range some {
		c.Mark(history.Mark{What: what, Kind: d.kind})
	}
}

// followed waits until storage has the custom objects that the apiserver serves, marks
// what came of it, and counts the rows of some as those that the event concerned.
func (u *customs) followed(ctx context.Context, c faults.Cell, e spec.Event, some []*definition) (faults.Done, *follow, error) {
	began := time.Now()
	f := &follow{}
	want, err := u.state(ctx, c.Rules())
	if err != nil {
		return faults.Done{}, f, err
	}
	f.Cached = len(u.live) + len(want)
	for {
		have, err := u.rows(ctx, c)
		if err != nil {
			return faults.Done{}, f, err
		}
		took := time.Since(began)
		f.Seconds, f.Behind = took.Seconds(), history.Difference(want, have)
		note := fmt.Sprintf("storage followed after %s", took.Round(time.Millisecond))
		if f.Behind != "" {
			note = fmt.Sprintf("after %s %s", took.Round(time.Millisecond), f.Behind)
		}
		if f.Behind == "" || took > followLimit {
			c.Mark(history.Mark{What: e.What, Note: note})
			return faults.Done{Keys: rowsOf(have, some), Seen: f}, f, nil
		}
		if c.Watcher().Ended() {
			return faults.Done{}, f, c.Watcher().Failure()
		}
		if err := lifecycle.Pause(ctx, followPoll); err != nil {
			return faults.Done{}, f, err
		}
	}
}

// rows is what storage holds of custom resources.
func (u *customs) rows(ctx context.Context, c faults.Cell) ([]history.StateRecord, error) {
	all, err := c.Storage().StateIn(ctx, u.namespace, c.Rules())
	if err != nil {
		return nil, c.Storage().Lost(ctx, err)
	}
	return slices.DeleteFunc(all, func(r history.StateRecord) bool {
		return !slices.ContainsFunc(u.all, func(d *definition) bool { return d.kind == r.Kind })
	}), nil
}

func rowsOf(rows []history.StateRecord, some []*definition) (n int64) {
	for _, r := range rows {
		if slices.ContainsFunc(some, func(d *definition) bool { return d.kind == r.Kind }) {
			n++
		}
	}
	return n
}

// rules state what storage made of each event, and how long it took.
func (*customs) rules(c *matrix.Case) ([]matrix.Rule, error) {
	if !faults.Asks(&c.Cell.Scenario, customEvents...) {
		return nil, nil
	}
	all, err := history.Deeds[follow](c.Deeds, customEvents...)
	if err != nil {
		return nil, err
	}
	cached := 0
	for _, f := range all {
		cached = max(cached, f.Cached)
	}
	times := newCustomTimes(all)
	return []matrix.Rule{{
		Cached:  cached,
		Request: times.see,
		Vacuous: func(matrix.Seen) []string { return customVacuous(c) },
		Facts: func(matrix.Seen) []result.Fact {
			limit := c.Recovery()
			facts := append([]result.Fact{missed(c)}, times.facts(limit)...)
			for _, what := range []string{crdSwitch, crdUnserve, changeCustoms, removeVersion} {
				some, err := history.Deeds[follow](c.Deeds, what)
				if err != nil || len(some) == 0 {
					continue // read above
				}
				longest, behind := 0.0, ""
				for _, f := range some {
					longest, behind = max(longest, f.Seconds), cmp.Or(behind, f.Behind)
				}
				if name := "until storage followed " + what; behind != "" {
					facts = append(facts, matrix.Missing("T", name, "s", "it never did: "+behind))
				} else {
					facts = append(facts, matrix.Within("T", name, "s", longest, limit))
				}
			}
			return facts
		},
	}}, nil
}

// missed counts the events that storage did not follow. At least one must have been
// waited for.
func missed(c *matrix.Case) result.Fact {
	n, waited, first := int64(0), 0, ""
	for _, what := range customEvents {
		some, err := history.Deeds[follow](c.Deeds, what)
		if err != nil {
			continue // Rules reports it
		}
		for _, f := range some {
			waited++
			if f.Behind == "" {
				continue
			}
			if n++; first == "" {
				first = what + ": " + f.Behind
			}
		}
	}
	f := matrix.None("C", "events that storage did not follow", n, strings.TrimPrefix(fmt.Sprintf("%s; %d waited for", first, waited), "; "))
	f.OK = f.OK && waited > 0
	return f
}

// customTimes reads from the ledger when the first write of each kind arrived, and the
// last delete.
type customTimes struct {
	definitions      []defined
	written, deleted map[string]int64
}

func newCustomTimes(all []follow) *customTimes {
	t := &customTimes{written: map[string]int64{}, deleted: map[string]int64{}}
	for _, f := range all {
		t.definitions = append(t.definitions, f.Defined...)
	}
	return t
}

func (t *customTimes) see(e *ledger.Entry) {
	switch {
	case !e.Took():
	case e.Method == http.MethodDelete:
		t.deleted[e.Kind] = e.Applied
	case t.written[e.Kind] == 0:
		t.written[e.Kind] = e.Applied
	}
}

// facts are in seconds; 0 where storage was faster than the apiserver's answer.
func (t *customTimes) facts(limit float64) []result.Fact {
	type times struct {
		name  string
		all   []float64
		never string // a kind of which it did not happen
	}
	established := &times{name: "definition established until its first object is in storage"}
	made := &times{name: "first object of a definition made until it is in storage"}
	left := &times{name: "definition removed until its last row is gone"}
	since := func(to *times, kind string, from, at int64) {
		switch {
		case from == 0: // the event was another
		case at == 0:
			to.never = kind
		default:
			to.all = append(to.all, max(0, float64(at-from)/1e9))
		}
	}
	for _, d := range t.definitions {
		since(established, d.Kind, d.Established, t.written[d.Kind])
		since(made, d.Kind, d.First, t.written[d.Kind])
		since(left, d.Kind, d.Gone, t.deleted[d.Kind])
	}
	var facts []result.Fact
	for _, x := range []*times{established, made, left} {
		if x.never != "" {
			facts = append(facts, matrix.Missing("T", x.name, "s", "it never happened for "+x.never))
		} else if len(x.all) > 0 {
			f := matrix.Within("T", x.name, "s", slices.Max(x.all), limit)
			f.Detail = fmt.Sprintf("the longest of %d definitions", len(x.all))
			facts = append(facts, f)
		}
	}
	return facts
}

// customVacuous names what the events did not show.
func customVacuous(c *matrix.Case) []string {
	var why []string
	want, fired, keys := map[string]int{}, map[string]int{}, map[string]int64{}
	for _, e := range c.Cell.Scenario.Events {
		want[e.What]++
	}
	for _, d := range c.Deeds {
		fired[d.What]++
		keys[d.What] += d.Keys
	}
	for _, what := range customEvents {
		switch n := want[what]; {
		case n == 0:
		case fired[what] < n:
			why = append(why, fmt.Sprintf("the event %s happened %d times instead of %d", what, fired[what], n))
		case keys[what] < matrix.MinKeys:
			why = append(why, fmt.Sprintf("the event %s concerned %d custom objects; at least %d are needed", what, keys[what], matrix.MinKeys))
		}
	}
	return why
}
