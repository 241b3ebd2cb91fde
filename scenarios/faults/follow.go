package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
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

func customResources() family {
	u := &customs{}
	declare := func(name string, inject func(context.Context, Cell, spec.Event) (Done, error), takes ...string) Injector {
		return kind{name: name, takes: append(takes, "count"), validate: u.validate, inject: inject}
	}
	return family{shared: u, injectors: []Injector{
		declare(crdAdd, u.injectAdd), declare(crdSwitch, u.injectSwitch), declare(crdUnserve, u.injectUnserve, "for"),
		declare(crdRemove, u.injectRemove), declare(changeCustoms, u.injectChange),
		declare(removeVersion, u.injectSwitch),
	}}
}

func (u *customs) validate(t *spec.Timeline, e spec.Event) error {
	if e.What == crdUnserve && e.For == 0 {
		return t.Bad("for", "write for example for: 3s", "missing: it says how long nothing is served")
	}
	if e.What == crdRemove && !t.Runs {
		t.Repairs = true // only the synchronizer finds what they leave
	} else if err := needsWatcher(t, e); err != nil {
		return err
	}
	if err := t.Need(t.Extra.Namespaces > 0, e.What+" without a namespace for custom objects", "set extra: {namespaces: 1, pods: 1}"); err != nil {
		return err
	}
	return u.planned.follow(t, e)
}

var (
	_ Arranger = (*customs)(nil)
	_ Preparer = (*customs)(nil)
	_ Stater   = (*customs)(nil)
	_ Remover  = (*customs)(nil)
	_ Ruler    = (*customs)(nil)
)

// Arrange has the watcher follow the definitions, and the judge expect their kinds.
func (u *customs) Arrange(c Cell) error {
	if !hasEvent(c.Scenario(), customEvents...) {
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
	u.belong(c.Run(), namespace(c, 0))
	c.Setup().CustomKinds = customKinds(n + u.before)
	if u.before > 0 {
		c.Setup().Listed = u.groupVersions()
	} else {
		c.Setup().Customs = u.groupVersions()
	}
	return nil
}

// Prepare takes the way to the apiserver, and makes what the watcher is to find.
func (u *customs) Prepare(ctx context.Context, c Cell) error {
	u.api = c.API()
	if u.before == 0 {
		return nil
	}
	_, err := u.add(ctx, u.before, true)
	return err
}

// State is what the apiserver serves of the custom resources.
func (u *customs) State(ctx context.Context, c Cell) ([]history.StateRecord, error) {
	return u.state(ctx, c.Rules())
}

// Remove deletes what is left of the definitions.
func (u *customs) Remove(ctx context.Context, c Cell) error {
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

func (u *customs) injectAdd(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	added, err := u.add(ctx, e.Number(), false)
	if err != nil {
		return Done{}, err
	}
	done, f, err := u.followed(ctx, c, e, added)
	for _, d := range added {
		f.Defined = append(f.Defined, defined{Kind: d.kind, Established: d.established, First: d.first})
	}
	done.Seen = f
	return done, err
}

func (u *customs) injectSwitch(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	some := u.oldest(e.Number(), func(d *definition) bool { return d.version == "v1" })
	if err := u.serve(ctx, some, func(d *definition) { d.version = "v2" }); err != nil {
		return Done{}, err
	}
	done, _, err := u.followed(ctx, c, e, some)
	return done, err
}

// injectUnserve takes definitions away from the watcher and gives them back. What the
// apiserver does not serve must leave storage.
func (u *customs) injectUnserve(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	some, began := u.first(e.Number()), time.Now()
	markKinds(c, history.MarkUnserved, some)
	if err := u.serve(ctx, some, func(d *definition) { d.served = false }); err != nil {
		return Done{}, err
	}
	_, away, err := u.followed(ctx, c, e, nil)
	if err != nil {
		return Done{}, err
	}
	if err := lifecycle.Pause(ctx, max(0, e.For.Std()-time.Since(began))); err != nil {
		return Done{}, err
	}
	markKinds(c, history.MarkServed, some)
	if err := u.serve(ctx, some, func(d *definition) { d.served = true }); err != nil {
		return Done{}, err
	}
	done, back, err := u.followed(ctx, c, e, some)
	if away.Behind != "" || away.Seconds > back.Seconds && back.Behind == "" {
		back.Seconds, back.Behind = away.Seconds, away.Behind // the worse of the two
	}
	done.Seen = back
	return done, err
}

func (u *customs) injectRemove(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	some := u.first(e.Number())
	rows, err := u.rows(ctx, c)
	if err != nil {
		return Done{}, err
	}
	if err := u.drop(ctx, some); err != nil {
		return Done{}, err
	}
	done, f := Done{}, &follow{}
	if !c.Watcher().Ended() { // else there is nobody to wait for: the ledger tells
		done, f, err = u.followed(ctx, c, e, nil)
	}
	for _, d := range some {
		f.Defined = append(f.Defined, defined{Kind: d.kind, Gone: d.gone})
	}
	done.Keys, done.Seen = rowsOf(rows, some), f
	return done, err
}

func (u *customs) injectChange(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	if err := u.change(ctx, e.Number()); err != nil {
		return Done{}, err
	}
	done, _, err := u.followed(ctx, c, e, nil)
	done.Keys = int64(e.Number())
	return done, err
}

// first are the n oldest definitions.
func (u *customs) first(n int) []*definition {
	return slices.Clone(u.live[:min(n, len(u.live))])
}

func markKinds(c Cell, what string, some []*definition) {
	for _, d := range some {
		c.Mark(history.Mark{What: what, Kind: d.kind})
	}
}

// followed waits until storage has the custom objects that the apiserver serves, marks
// what came of it, and counts the rows of some as those that the event concerned.
func (u *customs) followed(ctx context.Context, c Cell, e spec.Event, some []*definition) (Done, *follow, error) {
	began := time.Now()
	f := &follow{}
	want, err := u.state(ctx, c.Rules())
	if err != nil {
		return Done{}, f, err
	}
	f.Cached = len(u.live) + len(want)
	for {
		have, err := u.rows(ctx, c)
		if err != nil {
			return Done{}, f, err
		}
		took := time.Since(began)
		f.Seconds, f.Behind = took.Seconds(), history.Difference(want, have)
		note := fmt.Sprintf("storage followed after %s", took.Round(time.Millisecond))
		if f.Behind != "" {
			note = fmt.Sprintf("after %s %s", took.Round(time.Millisecond), f.Behind)
		}
		if f.Behind == "" || took > followLimit {
			c.Mark(history.Mark{What: e.What, Note: note})
			return Done{Keys: rowsOf(have, some), Seen: f}, f, nil
		}
		if c.Watcher().Ended() {
			return Done{}, f, c.Watcher().Failure()
		}
		if err := lifecycle.Pause(ctx, followPoll); err != nil {
			return Done{}, f, err
		}
	}
}

// rows is what storage holds of custom resources.
func (u *customs) rows(ctx context.Context, c Cell) ([]history.StateRecord, error) {
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
