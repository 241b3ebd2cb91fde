package churn

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// TestAPodThatIsGoneIsDeletedInTheLog: however a pod went, the op log has one deletion of
// it, with times between which it went, and nothing is sent for it any more.
func TestAPodThatIsGoneIsDeletedInTheLog(t *testing.T) {
	// The requests of a life: create, bind, a read, running, ready, patch, patch, then these.
	const terminate, terminated, last = 8, 9, 10
	for _, tc := range []struct {
		name            string
		at              int // the request before which it happens
		change          func(api *fakeAPI, key string)
		lost            func(n int) bool // requests whose answer is lost, though they take effect
		busy            int              // the request that is refused, with a word to come again
		phase           string           // of the deletion
		done, abandoned int64
		skipped         int64
	}{
		// The apiserver works on what its cache has at first; a pod without a node has no grace.
		{"at once, its binding not in the apiserver's cache", terminate, unbind, nil, 0, oplog.PhaseLoad, 7, 0, 2},
		{"at once, and the answer is lost", terminate, unbind, func(n int) bool { return n == terminate }, 0, oplog.PhaseOutside, 6, 1, 2},
		{"after its deletion was asked for", terminated, remove, nil, 0, oplog.PhaseOutside, 7, 1, 1},
		{"before its deletion was asked for", terminate, remove, nil, 0, oplog.PhaseOutside, 6, 1, 2},
		{"before it is changed, for another of its name", terminate - 1, replace, nil, 0, oplog.PhaseOutside, 5, 1, 3},
		{"before it is deleted", last, remove, nil, 0, oplog.PhaseOutside, 8, 1, 0},
		{"before it is deleted, after a refusal", last, remove, nil, last, oplog.PhaseOutside, 8, 1, 0},
		{"before it is deleted, for another of its name", last, replace, nil, 0, oplog.PhaseOutside, 8, 1, 0},
		{"no deletion is ever answered", last, nil, func(n int) bool { return n >= last && n < last+maxAttempts }, 0, oplog.PhaseOutside, 8, 1, 0},
		{"its deletion is answered at the second attempt", last, nil, func(n int) bool { return n == last }, 0, oplog.PhaseLoad, 9, 0, 0},
	} {
		virtual(t, tc.name, func(t *testing.T) {
			api := &fakeAPI{latency: 10 * time.Millisecond}
			var went int64
			api.fault = func(_, _ string, n int) (*http.Response, error, bool) {
				api.mu.Lock()
				defer api.mu.Unlock()
				if n == tc.at {
					went = time.Now().UnixNano()
					for key := range api.pods {
						if tc.change != nil {
							tc.change(api, key)
						}
					}
				}
				if n == tc.busy {
					return tooMany("1"), nil, false
				}
				if tc.lost != nil && tc.lost(n) {
					return nil, errLost, true
				}
				return nil, nil, false
			}
			e, log := fakeEngine(t, api, nil)
			stats, err := e.Load(t.Context(), nil)
			if err != nil || stats.Done != tc.done || stats.Abandoned != tc.abandoned || stats.Skipped != tc.skipped || len(e.created.pods) != 0 {
				t.Errorf("%+v, %v", stats, err)
			}
			uid, version := log.records[0].UID, uint64(0)
			i := slices.IndexFunc(log.records, func(r oplog.Record) bool { return r.OK() && r.Type == oplog.TypeDelete })
			if i < 0 {
				t.Fatalf("no deletion in %+v", log.records)
			}
			for _, r := range log.records[:i] {
				if r.OK() {
					version = max(version, r.ResourceVersion)
				}
			}
			r := log.records[i]
			if i != len(log.records)-1 || r.Phase != tc.phase || r.UID != uid || r.ResourceVersion != version || r.Name == "" {
				t.Errorf("record %d of %d: %+v, want uid %s version %d", i, len(log.records), r, uid, version)
			}
			if r.Started > went || r.Finished < went || r.Intended > r.Started {
				t.Errorf("gone at %d, in the op log from %d to %d", went, r.Started, r.Finished)
			}
		})
	}
}

func unbind(api *fakeAPI, key string) { api.pods[key].Spec.NodeName = "" }
func remove(api *fakeAPI, key string) { delete(api.pods, key) }

func replace(api *fakeAPI, key string) {
	api.pods[key] = api.pods[key].DeepCopy()
	api.pods[key].UID = types.UID("another")
}

// TestTheVersionOfABindingIsThePods: the read after a binding may find another pod of the
// name, whose version is not the bound one's.
func TestTheVersionOfABindingIsThePods(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		api := &fakeAPI{}
		api.fault = func(method, _ string, _ int) (*http.Response, error, bool) {
			if method == http.MethodGet {
				for key := range api.pods {
					replace(api, key)
				}
			}
			return nil, nil, false
		}
		e, log := fakeEngine(t, api, nil)
		if _, err := e.Load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if r := log.records[1]; r.Type != oplog.TypeBind || !r.OK() || r.ResourceVersion != 0 {
			t.Errorf("%+v, want no version", r)
		}
	})
}

// TestAHotPodGoesOnce: a burst of patches finds it gone, the op log has it deleted once.
func TestAHotPodGoesOnce(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		api := &fakeAPI{latency: 10 * time.Millisecond}
		e, log := fakeEngine(t, api, func(c *plan.Config) {
			c.Operations, c.Hotkeys = 40, &plan.Hotkeys{Objects: 1, Burst: 5, Share: 0.25}
		})
		if err := e.setUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		hot := hotPod(e)
		remove(api, hot.namespace+"/"+hot.name)
		if _, err := e.Load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range log.records {
			if r.Phase == oplog.PhaseOutside {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d deletions of it, want 1", n)
		}
	})
}

// hotPod is the only pod that an engine has created.
func hotPod(e *Engine) *object {
	for _, p := range e.created.pods {
		return p
	}
	return nil
}

// TestTheHighestVersionIsTheLast: the patches of a burst may be answered in any order; the
// deletion of a hot pod still names its last state.
func TestTheHighestVersionIsTheLast(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		api := &fakeAPI{}
		e, log := fakeEngine(t, api, func(c *plan.Config) {
			c.Operations, c.Hotkeys = 40, &plan.Hotkeys{Objects: 1, Burst: 5, Share: 0.25}
		})
		if err := e.setUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		api.answer = func(n int) { time.Sleep(time.Second - time.Duration(n)*time.Millisecond) } // the later the sooner
		if _, err := e.Load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		api.answer = nil
		hot := hotPod(e)
		want := uint64(0)
		for _, r := range log.records {
			if r.Name == hot.name {
				want = max(want, r.ResourceVersion)
			}
		}
		if err := e.deletePods(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range log.records {
			if r.Name == hot.name && r.Type == oplog.TypeDelete && r.ResourceVersion != want {
				t.Errorf("deleted at version %d, want %d", r.ResourceVersion, want)
			}
		}
	})
}
