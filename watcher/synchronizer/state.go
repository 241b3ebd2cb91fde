package synchronizer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

// StateKind is the kind of the record in which the Synchronizer remembers, in storage itself, the kinds that were
// collected: storage cannot list them, and what a kind leaves that ended while no watcher ran could not be found.
const StateKind = "K8sWatchState"

// claimRounds is how many comparisons another watcher has to claim a kind before what storage holds of it is removed.
const claimRounds = 2

// state is that record.
type state struct {
	// Kinds were collected by a watcher of this name when it last looked.
	Kinds []string `json:"kinds"`
	// Leaving are not any more. Their records are removed unless a watcher that collects
	// one of them, and reads this record at each of its comparisons, puts it back.
	Leaving []string `json:"leaving"`
	// Rules are those by which all records of the kinds are written.
	Rules string `json:"rules,omitempty"`
}

// memory is this process's addition to the record.
type memory struct {
	asked   map[string]int  // comparisons since a leaving kind was seen to be one
	foreign map[string]bool // kinds that were put back: another watcher collects them
	removed map[string]bool // kinds that were retired since nobody claimed them
	done    map[string]bool // leaving kinds that another claimed, or of which nothing is left
}

// register reads the records of this name and of others.
type register struct {
	name, rules string
	pageSize    int
	storage     Storage
	log         *slog.Logger

	asking  chan struct{} // size 1: full once somebody asks what changed is
	asked   chan struct{} // closed when changed is known
	changed bool          // see rulesChanged
}

const memberInfix = "-shard-"

// Member is the name of the record of one of the watchers that divide the objects of a name. Each removes what is of
// its part. They claim nothing against each other, whatever their number, and a new one takes over what others know.
func Member(name string, index, of int) string {
	return fmt.Sprintf("%s%s%d-of-%d", name, memberInfix, index, of)
}

// related reports whether a record is of such a watcher, or of one of all objects of the name.
func (r *register) related(name string) bool {
	other, _, _ := strings.Cut(name, memberInfix)
	own, _, _ := strings.Cut(r.name, memberInfix)
	return other == own
}

// inherited are the kinds that related records name. Rules are not: nobody knows who wrote the rows of this part.
func (r *register) inherited(ctx context.Context) (all state, err error) {
	err = r.others(ctx, func(name string, other state) {
		if r.related(name) {
			all.Kinds, all.Leaving = append(all.Kinds, other.Kinds...), append(all.Leaving, other.Leaving...)
		}
	})
	for _, kinds := range []*[]string{&all.Kinds, &all.Leaving} {
		slices.Sort(*kinds)
		*kinds = slices.Compact(*kinds)
	}
	return all, err
}

// others reads the records of other names.
func (r *register) others(ctx context.Context, each func(name string, other state)) error {
	for offset := 0; ; offset += r.pageSize {
		page, err := r.storage.List(ctx, StateKind, "", wholeRecords, r.pageSize, offset)
		if err != nil {
			return err
		}
		for _, row := range page {
			var other state
			if err := json.Unmarshal(row.Data, &other); err != nil {
				return fmt.Errorf("row %s %s: %w", StateKind, row.Name, err)
			}
			if row.Name != r.name {
				each(row.Name, other)
			}
		}
		if len(page) < r.pageSize {
			return nil
		}
	}
}

// remembered reads the record; one that cannot be understood is as good as none.
func (r *register) remembered(ctx context.Context) (was state, found bool, err error) {
	key := object.Key{Kind: StateKind, Name: r.name}
	rec, found, err := r.storage.Get(ctx, key, "")
	if err != nil {
		return was, false, fmt.Errorf("read which kinds storage holds: %w", err)
	}
	if found {
		if err := json.Unmarshal(rec.Data, &was); err != nil {
			r.log.Warn("the record of the kinds that storage holds cannot be read and is made anew", "object", key,
				"error", err)
			return state{}, false, nil
		}
	} else if strings.Contains(r.name, memberInfix) {
		was, err = r.inherited(ctx)
	}
	return was, found, err
}

// rulesChanged reports whether records may have been written by other rules, so that one of the
// same version may differ: also if the record of the kinds cannot be read.
func (r *register) rulesChanged(ctx context.Context) bool {
	select {
	case r.asking <- struct{}{}: // one asks for all
		changed := r.rules != ""
		if changed && r.name != "" {
			was, _, err := r.remembered(ctx)
			changed = err != nil || was.Rules != r.rules
		}
		r.changed = changed
		close(r.asked)
	case <-r.asked:
	}
	return r.changed
}

// remember keeps the record up to date and, if the kinds are complete, retires those that nobody claimed.
func (s *Synchronizer) remember(ctx context.Context) error {
	if s.cfg.Name == "" {
		return nil
	}
	ripe, err := s.record(ctx, s.set.Complete())
	for _, kind := range ripe {
		claimed, failed := s.register.claimed(ctx, kind)
		if err = cmp.Or(err, failed); failed != nil || !claimed && !s.emptied(ctx, kind) {
			continue
		}
		if s.memory.done[kind] = true; claimed {
			s.spare(kind)
		}
	}
	return err
}

// nameWithin is how long rows of a kind wait for the record to name it. After that they are sent anyway: a storage that
// rejects only the record would otherwise get nothing.
const nameWithin = 10 * time.Second

// Unnamed reports whether rows of a kind must wait because the record does not name it: nobody would find them if the
// kind ended while no watcher runs. It has the kind named.
func (s *Synchronizer) Unnamed(kind string) (wait bool) {
	named := *s.named.Load()
	if s.cfg.Name == "" || named == nil || named[kind] || !compared(kind) || !s.set.Cache.Collected(kind) {
		return false
	}
	s.with(kind, func(k *kindState) {
		if k.held.IsZero() {
			k.held = time.Now()
			lifecycle.Signal(s.wake)
		}
		wait = time.Since(k.held) < nameWithin
	})
	return wait
}

// name puts kinds that are collected into the record.
func (s *Synchronizer) name(ctx context.Context) {
	kinds := s.those(func(k *kindState) bool { return k.lists > 0 || !k.held.IsZero() })
	kinds, named := append(kinds, s.set.Cache.SyncedKinds()...), *s.named.Load()
	if s.cfg.Name == "" || !slices.ContainsFunc(kinds, func(kind string) bool {
		return compared(kind) && !named[kind]
	}) {
		return
	}
	if _, err := s.record(ctx, false); err != nil && ctx.Err() == nil {
		s.set.Logger.Warn("cannot save the record of kinds: the rows of a kind that ends while no watcher runs may stay",
			"error", err)
	}
}

// record updates the record and returns the leaving kinds that had their claimRounds.
func (s *Synchronizer) record(ctx context.Context, complete bool) (ripe []string, err error) {
	was, found, err := s.register.remembered(ctx)
	if err != nil {
		return nil, err
	}
	next, asked, ripe := s.next(was, complete)
	next.Rules = s.written(ctx, was.Rules)
	if !found || !reflect.DeepEqual(was, next) {
		raw, err := json.Marshal(map[string]any{
			"kind": StateKind, "metadata": map[string]string{"name": s.cfg.Name}, "kinds": next.Kinds, "leaving": next.Leaving,
			"rules": next.Rules,
		})
		if err != nil {
			return nil, err
		}
		if err := s.set.Storage.Put(ctx, &object.Object{Key: object.Key{Kind: StateKind, Name: s.cfg.Name},
			Raw: raw}); err != nil {
			return nil, fmt.Errorf("note which kinds storage holds: %w", err)
		}
	}
	named := map[string]bool{}
	for _, kind := range next.Kinds {
		named[kind] = true
		s.with(kind, func(k *kindState) { k.held = time.Time{} })
	}
	s.memory.asked = asked
	s.named.Store(&named)
	return ripe, nil
}

// next returns the record to write, the comparisons counted for each leaving kind, and the ripe ones.
func (s *Synchronizer) next(was state, complete bool) (next state, asked map[string]int, ripe []string) {
	mine := map[string]bool{}
	for _, kind := range append(s.set.Cache.SyncedKinds(), s.set.Cache.UnsyncedKinds()...) {
		mine[kind] = compared(kind)
	}
	kinds, leaving := map[string]bool{}, map[string]bool{}
	asked = map[string]int{}
	for kind, is := range mine {
		if is {
			kinds[kind] = true
			delete(s.memory.foreign, kind)
			delete(s.memory.removed, kind)
			delete(s.memory.done, kind)
		}
	}
	for _, kind := range was.Kinds {
		delete(s.memory.done, kind)
		if mine[kind] {
			continue
		}
		if (s.memory.asked[kind] > 0 || s.memory.removed[kind]) && !s.memory.foreign[kind] {
			s.memory.foreign[kind] = true
			s.spare(kind)
			s.set.Logger.Info("another watcher of this name collects the kind", "kind", kind, "name", s.cfg.Name)
		}
		if s.memory.foreign[kind] || !complete {
			kinds[kind] = true
			continue
		}
		leaving[kind], asked[kind] = true, 1
		s.set.Logger.Warn("a kind is not collected any more: what storage holds of it will be removed unless another "+
			"watcher claims it", "kind", kind, "comparisons", claimRounds)
	}
	for _, kind := range was.Leaving {
		if mine[kind] || kinds[kind] || complete && s.memory.done[kind] {
			continue
		}
		leaving[kind], asked[kind] = true, s.memory.asked[kind]
		switch {
		case !complete: // it may come yet
		case asked[kind] < claimRounds:
			asked[kind]++
		default:
			ripe = append(ripe, kind)
		}
	}
	return state{Kinds: slices.Sorted(maps.Keys(kinds)), Leaving: slices.Sorted(maps.Keys(leaving))}, asked, ripe
}

// emptied retires a kind, and reports whether storage holds nothing of it any more.
func (s *Synchronizer) emptied(ctx context.Context, kind string) bool {
	if !s.state(kind).retired {
		s.set.Logger.Warn("a kind is not collected any more, what it left is removed", "kind", kind)
		s.memory.removed[kind] = true
		s.Retire(kind)
		return false
	}
	if c := s.suspects(ctx, kind, false, false); !c.sound || len(c.suspects)+c.open > 0 {
		return false
	}
	s.set.Pipeline.RetireKind(kind)
	return true
}

// claimed reports whether a watcher that remembers under another name collects a kind:
// then its rows are that one's to remove.
func (r *register) claimed(ctx context.Context, kind string) (bool, error) {
	by := ""
	err := r.others(ctx, func(name string, other state) {
		if !r.related(name) && slices.Contains(other.Kinds, kind) {
			by = name
		}
	})
	if err != nil {
		return false, err
	}
	if by != "" {
		r.log.Info("a watcher of another name collects the kind, its rows stay", "kind", kind, "name", by)
	}
	return by != "", nil
}

// spare ends the removal of a kind that another watcher collects.
func (s *Synchronizer) spare(kind string) {
	delete(s.memory.removed, kind)
	s.with(kind, func(k *kindState) { k.retired = false })
}
