package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Bounds on the wait for a restarted watcher.
const (
	catchUpLimit = 30 * time.Second
	catchUpPoll  = 100 * time.Millisecond
)

type objectID struct{ kind, namespace, name string }

func idOf(r history.StateRecord) objectID { return objectID{r.Kind, r.Namespace, r.Name} }

// caughtUp waits until storage is nowhere behind the state the apiserver had when
// this was called, while the load goes on. It returns the time since then, or the
// first object that is still behind at the limit.
func (c *cellRun) caughtUp(ctx context.Context, since time.Time) (took time.Duration, behind string, err error) {
	want, err := c.apiState(ctx)
	if err != nil {
		return 0, "", err
	}
	for deadline := time.Now().Add(catchUpLimit); ; {
		have, err := c.mock.state(ctx, c.rules)
		if err != nil {
			return 0, "", lost(ctx, c.mock.process, err)
		}
		now := time.Now()
		if behind = behindOf(want, have, nil, c.rules); behind != "" {
			// What the apiserver has deleted or replaced meanwhile need not be there.
			latest, err := c.apiState(ctx)
			if err != nil {
				return 0, "", err
			}
			behind = behindOf(want, have, latest, c.rules)
		}
		if behind == "" {
			return now.Sub(since), "", nil
		}
		if now.After(deadline) {
			return 0, behind, nil
		}
		select {
		case <-c.watcher.done:
			return 0, "", c.watcher.failure()
		default:
		}
		if err := pause(ctx, catchUpPoll); err != nil {
			return 0, "", err
		}
	}
}

// behindOf names an object of which storage has less than want had. latest, if not
// nil, is a state of the apiserver younger than have: what is no longer in it may
// lack. Records of objects that want does not know are orphans if they are older
// than it.
func behindOf(want, have, latest []history.StateRecord, rules check.Rules) string {
	stored := make(map[objectID]history.StateRecord, len(have))
	for _, r := range have {
		stored[idOf(r)] = r
	}
	var now map[objectID]history.StateRecord
	if latest != nil {
		now = make(map[objectID]history.StateRecord, len(latest))
		for _, r := range latest {
			now[idOf(r)] = r
		}
	}
	newest := map[string]uint64{}
	for _, w := range want {
		newest[w.Kind] = max(newest[w.Kind], w.ResourceVersion)
		if !rules.Wants(w.Kind, w.Namespace, w.Name) {
			continue
		}
		id := idOf(w)
		s, there := stored[id]
		delete(stored, id)
		switch {
		case there && s.UID == w.UID && (s.ResourceVersion >= w.ResourceVersion || s.Digest == w.Digest):
			continue
		case there && s.UID != w.UID && s.ResourceVersion > w.ResourceVersion:
			continue
		}
		if l, still := now[id]; now != nil && (!still || l.UID != w.UID) && (!there || s.ResourceVersion > w.ResourceVersion) {
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
		return fmt.Sprintf("%s/%s/%s version %d is in storage, the apiserver has no such object", s.Kind, s.Namespace, s.Name, s.ResourceVersion)
	}
	return ""
}
