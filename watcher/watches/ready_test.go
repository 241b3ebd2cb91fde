package watches_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/watches"
)

// unready is what Unready says, in one line.
func (h *harness) unready() string {
	unsynced, lost := h.Unready()
	var all []string
	for _, r := range unsynced {
		all = append(all, "unsynced "+r.String())
	}
	for _, err := range lost {
		if l, ok := errors.AsType[*collector.LostError](err); ok {
			all = append(all, "lost "+l.Resource.Name)
		}
	}
	return strings.Join(all, ", ")
}

func pinSome(c *watches.Config, _ *watches.Settings) {
	c.Pinned = []string{"v1/pods", "v1/nodes", "example.com/v1/things"} // no things are served
}

// TestUnready: what the configuration pins is waited for and missed, nothing else is.
func TestUnready(t *testing.T) {
	virtual(t, pinSome, func(t *testing.T, api *cluster, h *harness) {
		fail := func(refused ...watches.GVR) {
			api.setFault(func(_ string, r watches.GVR, w http.ResponseWriter, _ *http.Request) bool {
				for _, one := range refused {
					if r == one {
						refuse(w, http.StatusForbidden, "Forbidden")
						return true
					}
				}
				return false
			})
			for _, r := range refused {
				api.interrupt(r)
			}
		}
		expect := func(when, want string) {
			t.Helper()
			synctest.Wait()
			if got := h.unready(); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		time.Sleep(5 * time.Second)
		expect("all are listed", "")
		h.open(deployGVR).Close()
		fail(deployGVR, podsGVR)
		time.Sleep(time.Minute)
		expect("two fail", "lost pods")
		fail()
		time.Sleep(time.Minute)
		expect("they go on", "")
	})
}

// TestUnreadyAtTheStart: nothing is known, then a first list fails.
func TestUnreadyAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, start := newCluster(t), time.Now()
		api.setFault(func(verb string, r watches.GVR, w http.ResponseWriter, _ *http.Request) bool {
			if verb == "DISCOVER" && time.Since(start) < 10*time.Second || r == nodesGVR {
				refuse(w, http.StatusInternalServerError, "InternalError")
				return true
			}
			return false
		})
		h := run(t, api, api.inMemory(), pinSome)
		defer h.stop()
		time.Sleep(5 * time.Second)
		if got, want := h.unready(), "unsynced v1/nodes, unsynced v1/pods, unsynced example.com/v1/things"; got != want {
			t.Errorf("before discovery: %q, want %q", got, want)
		}
		time.Sleep(10 * time.Second)
		if got, want := h.unready(), "unsynced v1/nodes"; got != want {
			t.Errorf("the list fails: %q, want %q", got, want)
		}
		time.Sleep(time.Minute)
		if got, want := h.unready(), "unsynced v1/nodes, lost nodes"; got != want {
			t.Errorf("the list fails for long: %q, want %q", got, want)
		}
	})
}

// TestUnreadyWithoutItsGroup: while a group cannot be learned, nobody knows that a pinned kind of it is not served.
func TestUnreadyWithoutItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newCluster(t)
		api.stale = map[string]bool{"apps/v1": true}
		h := run(t, api, api.inMemory(), func(c *watches.Config, _ *watches.Settings) { c.Pinned = []string{"apps/v1/deployments"} })
		defer h.stop()
		time.Sleep(5 * time.Second)
		if got, want := h.unready(), "unsynced apps/v1/deployments"; got != want {
			t.Errorf("the group is stale: %q, want %q", got, want)
		}
		api.mu.Lock()
		api.stale = nil
		api.mu.Unlock()
		time.Sleep(time.Minute)
		if got := h.unready(); got != "" {
			t.Errorf("the group is known: %q", got)
		}
	})
}
