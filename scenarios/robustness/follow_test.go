package robustness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// CustomResourceDefinitions and their objects. Nobody but these events writes to them.
const (
	crdAdd        = "crd-add"     // definitions at once, with objects of each
	crdSwitch     = "crd-switch"  // served and stored version of the oldest ones from v1 to v2
	crdUnserve    = "crd-unserve" // the oldest ones in no version, and again after a time
	crdRemove     = "crd-remove"  // the oldest ones
	changeCustoms = "change-customs"
	// removeVersion takes the only version of definitions that were there before the watcher, and that discovery found,
	// out of service, and serves another one, as an upgrade of the apiserver does.
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
	if !asks(c.Scenario(), customEvents...) {
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
}

func (u *customs) injectAdd(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	added, err := u.add(ctx, e.Number(), false)
	if err != nil {
		return faults.Done{}, err
	}
	done, _, err := u.followed(ctx, c, e, added)
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

// injectUnserve takes definitions away from the watcher and gives them back. What the apiserver does not serve must
// leave storage.
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
	done := faults.Done{Seen: &follow{}}
	if !c.Watcher().Ended() { // else there is nobody to wait for
		done, _, err = u.followed(ctx, c, e, nil)
	}
	done.Keys = rowsOf(rows, some)
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

// followed waits until storage has the custom objects that the apiserver serves, marks what came of it, and counts the
// rows of some as those that the event concerned.
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
	if !asks(&c.Cell.Scenario, customEvents...) {
		return nil, nil
	}
	cached, waited, missed, first := 0, 0, int64(0), ""
	var times []result.Fact
	for _, what := range customEvents {
		some, err := history.Deeds[follow](c.Deeds, what)
		if err != nil {
			return nil, err
		}
		longest, behind := 0.0, ""
		for _, f := range some {
			cached, waited = max(cached, f.Cached), waited+1
			longest, behind = max(longest, f.Seconds), cmp.Or(behind, f.Behind)
			if f.Behind != "" {
				missed++
				first = cmp.Or(first, what+": "+f.Behind)
			}
		}
		switch name := "until storage followed " + what; {
		case behind != "":
			times = append(times, matrix.Missing("T", name, "s", "it never did: "+behind))
		case len(some) > 0:
			times = append(times, matrix.Within("T", name, "s", longest, c.Recovery()))
		}
	}
	f := matrix.None("C", "events that storage did not follow", missed,
		strings.TrimPrefix(fmt.Sprintf("%s; %d waited for", first, waited), "; "))
	f.OK = f.OK && waited > 0
	r := matrix.States(append([]result.Fact{f}, times...)...)
	r.Cached = cached
	return []matrix.Rule{r}, nil
}
