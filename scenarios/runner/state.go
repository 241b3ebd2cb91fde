package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// APIState reads the apiserver's side in the namespaces of the run, of a trace in all.
func (c *site) APIState(ctx context.Context) ([]history.StateRecord, error) {
	namespaces, err := c.namespaces(ctx)
	if err != nil {
		return nil, err
	}
	state, err := c.api.State(ctx, c.record.Kinds, namespaces, c.rules)
	if err != nil {
		return nil, err
	}
	more, err := c.faults.State(ctx, c)
	return append(state, more...), err
}

func (c *site) namespaces(ctx context.Context) ([]string, error) {
	if c.s.Traced() {
		return []string{""}, nil
	}
	all, err := c.api.Namespaces(ctx, party.RunLabel+"="+c.Run())
	if party.WatchesNodeLeases(c.record.Kinds) {
		all = append(all, party.NodeLeases)
	}
	return all, err
}

// catchUpPoll spaces the comparisons while storage catches up.
const catchUpPoll = 100 * time.Millisecond

// CatchUp waits until storage has the apiserver's present state, while the load goes on.
func (c *site) CatchUp(ctx context.Context, since time.Time) (faults.CatchUp, error) {
	var caught faults.CatchUp
	want, err := c.APIState(ctx)
	if err != nil {
		return caught, err
	}
	for deadline := time.Now().Add(faults.CatchUpLimit); ; {
		behind, now, err := c.compare(ctx, want)
		if err != nil {
			return caught, err
		}
		caught.Seconds, caught.Behind = now.Sub(since).Seconds(), behind
		if caught.Behind == "" || now.After(deadline) {
			return caught, nil
		}
		if c.watcher.Ended() {
			return caught, c.watcher.Failure()
		}
		if err := lifecycle.Pause(ctx, catchUpPoll); err != nil {
			return caught, err
		}
	}
}

// compare names an object that storage lacks of what the apiserver had, and when storage was read.
func (c *site) compare(ctx context.Context, want []history.StateRecord) (behind string, at time.Time, err error) {
	have, err := c.storage.State(ctx, c.rules)
	if err != nil {
		return "", at, c.storage.Lost(ctx, err)
	}
	at = time.Now()
	if behind = behindOf(want, have, nil, c.rules); behind == "" {
		return "", at, nil
	}
	// What the apiserver has deleted or replaced meanwhile need not be there.
	latest, err := c.APIState(ctx)
	return behindOf(want, have, latest, c.rules), at, err
}

// wanted are the objects that storage is to hold.
func wanted(apiserver []history.StateRecord, rules check.Rules) []history.StateRecord {
	return slices.DeleteFunc(slices.Clone(apiserver), func(r history.StateRecord) bool {
		return !rules.Wants(r.Kind, r.Namespace, r.Name)
	})
}

// behindOf names an object of which storage has less than want. Objects that latest, a
// younger state of the apiserver, no longer has may be missing; records that want does not know are orphans if older.
func behindOf(want, have, latest []history.StateRecord, rules check.Rules) string {
	stored := make(map[history.Key]history.StateRecord, len(have))
	for _, r := range have {
		stored[r.Key()] = r
	}
	var now map[history.Key]history.StateRecord
	if latest != nil {
		now = make(map[history.Key]history.StateRecord, len(latest))
		for _, r := range latest {
			now[r.Key()] = r
		}
	}
	newest := map[string]uint64{}
	for _, w := range want {
		newest[w.Kind] = max(newest[w.Kind], w.ResourceVersion)
		if !rules.Wants(w.Kind, w.Namespace, w.Name) {
			continue
		}
		id := w.Key()
		s, there := stored[id]
		delete(stored, id)
		switch {
		case there && s.UID == w.UID && (s.ResourceVersion >= w.ResourceVersion || s.Digest == w.Digest):
			continue
		case there && s.UID != w.UID && s.ResourceVersion > w.ResourceVersion:
			continue
		}
		if l, still := now[id]; now != nil && (!still || l.UID != w.UID) &&
			(!there || s.ResourceVersion > w.ResourceVersion) {
			continue
		}
		if !there {
			return fmt.Sprintf("%s/%s/%s version %d is not in storage", w.Kind, w.Namespace, w.Name, w.ResourceVersion)
		}
		return fmt.Sprintf("%s/%s/%s: storage holds uid %s version %d, the apiserver had uid %s version %d",
			w.Kind, w.Namespace, w.Name, s.UID, s.ResourceVersion, w.UID, w.ResourceVersion)
	}
	for id, s := range stored {
		if _, exists := now[id]; exists || s.ResourceVersion > newest[s.Kind] || !rules.Watches(s.Kind) {
			continue
		}
		return fmt.Sprintf("%s/%s/%s version %d is in storage, the apiserver has no such object", s.Kind, s.Namespace, s.Name,
			s.ResourceVersion)
	}
	return ""
}
