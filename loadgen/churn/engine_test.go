package churn

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// virtual runs a test in virtual time, which starts well after 1970.
func virtual(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// faultOnce answers the first request that method and part of the path match.
func faultOnce(method, part string, resp func() *http.Response, err error, after bool) func(string, string, int) (*http.Response, error, bool) {
	done := false
	return func(m, path string, _ int) (*http.Response, error, bool) {
		if done || m != method || !strings.Contains(path, part) {
			return nil, nil, false
		}
		done = true
		if resp != nil {
			return resp(), err, after
		}
		return nil, err, after
	}
}

// nth lets the first n requests pass.
func nth(n int, fault func(string, string, int) (*http.Response, error, bool)) func(string, string, int) (*http.Response, error, bool) {
	return func(method, path string, i int) (*http.Response, error, bool) {
		if i <= n {
			return nil, nil, false
		}
		return fault(method, path, i)
	}
}

func TestFailedAttempts(t *testing.T) {
	busy := func() *http.Response { return tooMany("3") }
	broken := func() *http.Response {
		return status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	}
	forbidden := func() *http.Response { return status(http.StatusForbidden, metav1.StatusReasonForbidden) }
	conflict := func() *http.Response { return status(http.StatusConflict, metav1.StatusReasonConflict) }
	for _, tc := range []struct {
		name         string
		fault        func(string, string, int) (*http.Response, error, bool)
		done, errors int64
		abandoned    int64
		skipped      int64
		failed       string // type of the operation with a failed attempt
		wait         time.Duration
	}{
		{"none", nil, 9, 0, 0, 0, "", 0},
		{"throttled", faultOnce("POST", "/pods", busy, nil, false), 9, 1, 0, 0, oplog.TypeCreate, 3 * time.Second},
		{"unavailable", faultOnce("PUT", "/status", broken, nil, false), 9, 1, 0, 0, oplog.TypeRunning, firstBackoff},
		{"conflict", faultOnce("PUT", "/status", conflict, nil, false), 9, 1, 0, 0, oplog.TypeRunning, firstBackoff},
		{"connection lost before the create", faultOnce("POST", "/pods", nil, errLost, false), 9, 1, 0, 0, oplog.TypeCreate, firstBackoff},
		{"connection lost after the create", faultOnce("POST", "/pods", nil, errLost, true), 9, 1, 0, 0, oplog.TypeCreate, firstBackoff},
		{"connection lost after the binding", faultOnce("POST", "/binding", nil, errLost, true), 9, 1, 0, 0, oplog.TypeBind, firstBackoff},
		{"connection lost after the patch", faultOnce("PUT", "/status", nil, errLost, true), 9, 1, 0, 0, oplog.TypeRunning, firstBackoff},
		{"connection lost before the end of its grace is asked for", faultOnce("DELETE", "/pods", nil, errLost, false), 9, 1, 0, 0, oplog.TypeTerminate, firstBackoff},
		{"connection lost after that", faultOnce("DELETE", "/pods", nil, errLost, true), 9, 1, 0, 0, oplog.TypeTerminate, firstBackoff},
		{"connection lost after the containers ended", nth(7, faultOnce("PUT", "/status", nil, errLost, true)), 9, 1, 0, 0, oplog.TypeTerminated, firstBackoff},
		{"connection lost after the delete", nth(8, faultOnce("DELETE", "/pods", nil, errLost, true)), 9, 1, 0, 0, oplog.TypeDelete, firstBackoff},
		{"forbidden", faultOnce("POST", "/binding", forbidden, nil, false), 1, 1, 1, 7, oplog.TypeBind, 0},
	} {
		virtual(t, tc.name, func(t *testing.T) {
			api := &fakeAPI{fault: tc.fault}
			e, log := fakeEngine(t, api, nil)
			start := time.Now()
			stats, err := e.Load(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if passed := time.Since(start); passed != tc.wait {
				t.Errorf("the load took %s, want %s", passed, tc.wait)
			}
			if stats.Done != tc.done || stats.Errors != tc.errors || stats.Abandoned != tc.abandoned || stats.Skipped != tc.skipped || stats.Planned != 9 {
				t.Errorf("got %+v", stats)
			}
			acked := map[int64]bool{}
			failed := ""
			for _, r := range log.records {
				if r.OK() {
					if acked[r.ID] {
						t.Errorf("operation %d acknowledged twice", r.ID)
					}
					acked[r.ID] = true
					if r.ResourceVersion == 0 || r.UID == "" {
						t.Errorf("acknowledged without version or uid: %+v", r)
					}
				} else {
					failed += r.Type
					if r.Error == "" {
						t.Errorf("failed without a reason: %+v", r)
					}
				}
			}
			if int64(len(acked)) != tc.done || failed != tc.failed || int64(len(log.records)) != tc.done+tc.errors {
				t.Errorf("%d records: %d acknowledged, failed %q; want %d, %q", len(log.records), len(acked), failed, tc.done, tc.failed)
			}
			if len(api.pods) != len(e.created.pods) {
				t.Errorf("%d pods exist, %d are known", len(api.pods), len(e.created.pods))
			}
		})
	}
}

func TestForeignPodIsNotAdopted(t *testing.T) {
	virtual(t, "create", func(t *testing.T) {
		api := &fakeAPI{}
		first, _ := fakeEngine(t, api, func(c *plan.Config) { c.Operations = 1 })
		if _, err := first.Load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for _, p := range api.pods {
			p.Annotations[OpAnnotation] = "77" // somebody else's
		}
		api.fault = faultOnce("POST", "/pods", nil, errLost, false)
		second, _ := fakeEngine(t, api, func(c *plan.Config) { c.Operations = 1 })
		stats, err := second.Load(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Done != 0 || stats.Abandoned != 1 {
			t.Errorf("got %+v, want the create given up", stats)
		}
	})
}

func TestDeadApiserverEndsTheLoad(t *testing.T) {
	for _, model := range []string{plan.ModelClosed, plan.ModelOpen} {
		virtual(t, model, func(t *testing.T) {
			api := &fakeAPI{fault: func(string, string, int) (*http.Response, error, bool) { return nil, errLost, false }}
			e, _ := fakeEngine(t, api, func(c *plan.Config) {
				c.Threads, c.Operations, c.Duration = 10, 0, units.Duration(time.Hour)
				if model == plan.ModelOpen {
					c.Model, c.Threads, c.Rate = model, 0, 100
				}
			})
			_, err := e.Load(t.Context(), nil)
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), errLost.Error()) {
				t.Errorf("got %v, want ErrUnusable with the reason", err)
			}
		})
	}
}

// TestRestartedApiserver: the load goes on after an outage that is shorter than minOutage.
func TestRestartedApiserver(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		start := time.Now()
		api := &fakeAPI{fault: func(string, string, int) (*http.Response, error, bool) {
			if at := time.Since(start); at > 5*time.Second && at < 5*time.Second+minOutage {
				return nil, errLost, false
			}
			return nil, nil, false
		}}
		e, _ := fakeEngine(t, api, func(c *plan.Config) {
			c.Model, c.Threads, c.Operations, c.Rate, c.Duration = plan.ModelOpen, 0, 0, 100, units.Duration(30*time.Second)
		})
		stats, err := e.Load(t.Context(), nil)
		if err != nil || stats.Abandoned < maxFailuresInARow || stats.Done < 1000 {
			t.Errorf("%+v, %v; want the load to go on", stats, err)
		}
	})
}

func TestHangingApiserverIsTimedOut(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		api := &fakeAPI{latency: time.Hour}
		e, log := fakeEngine(t, api, func(c *plan.Config) { c.Operations = 1 })
		start := time.Now()
		stats, err := e.Load(t.Context(), nil)
		if err != nil || stats.Abandoned != 1 || len(log.records) != maxAttempts {
			t.Errorf("%+v, %d records, %v", stats, len(log.records), err)
		}
		if passed, want := time.Since(start), maxAttempts*requestTimeout+15*firstBackoff; passed != want {
			t.Errorf("gave up after %s, want %s", passed, want)
		}
	})
}

func TestClosedLoopIntendsWhenTheThreadIsFree(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		const latency, think, gap = 10 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond
		api := &fakeAPI{latency: latency}
		e, log := fakeEngine(t, api, func(c *plan.Config) {
			c.ThinkTime = units.Duration(think)
			c.Stages = []plan.Stage{{Stage: "create"}, {Stage: "running"}, {Stage: "ready", Gap: units.Duration(gap)}, {Stage: "delete"}}
			c.Operations = 4
		})
		if _, err := e.Load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		free := e.Progress().Started
		for i, r := range log.records {
			want := free + int64(think)
			if r.Type == oplog.TypeReady {
				want += int64(gap)
			}
			if r.Intended != want || r.Started != want || r.Finished != want+int64(latency) {
				t.Errorf("record %d: intended %d, started %d, finished %d, want %d, the same, %d", i, r.Intended, r.Started, r.Finished, want, want+int64(latency))
			}
			free = r.Finished
		}
	})
}

func TestClosedLoopEndsInTime(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		api := &fakeAPI{latency: 30 * time.Millisecond}
		e, log := fakeEngine(t, api, func(c *plan.Config) {
			c.Threads, c.Operations, c.Duration = 3, 0, units.Duration(time.Second)
		})
		start := time.Now()
		stats, err := e.Load(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if passed := time.Since(start); passed < time.Second || passed > time.Second+60*time.Millisecond {
			t.Errorf("the load took %s, want a second and what was under way", passed)
		}
		for _, r := range log.records {
			if !r.OK() || r.Started >= e.Progress().Started+int64(time.Second) {
				t.Errorf("cut off or begun too late: %+v", r)
			}
		}
		if stats.Done != int64(len(log.records)) || stats.Done == 0 || api.maxAtOne != 3 {
			t.Errorf("%+v, at most %d at once", stats, api.maxAtOne)
		}
	})
}

// TestBurstsDoNotWait: the patches of a burst are under way at once in both models, each
// with a record of its own, and a thread goes on when all are answered.
func TestBurstsDoNotWait(t *testing.T) {
	for _, model := range []string{plan.ModelClosed, plan.ModelOpen} {
		virtual(t, model, func(t *testing.T) {
			api := &fakeAPI{latency: 10 * time.Millisecond}
			e, log := fakeEngine(t, api, func(c *plan.Config) {
				c.Operations, c.Hotkeys = 40, &plan.Hotkeys{Objects: 1, Burst: 5, Share: 0.25}
				if model == plan.ModelOpen {
					c.Model, c.Threads, c.Operations, c.Rate, c.Duration = model, 0, 0, 40, units.Duration(time.Second)
				}
			})
			if err := e.setUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			uid := ""
			for _, r := range log.records {
				if r.Kind == kindPod {
					uid = r.UID
				}
			}
			made := len(log.records)
			api.maxAtOne = 0
			stats, err := e.Load(t.Context(), nil)
			if err != nil || stats.Done != 40 || stats.Planned != 40 {
				t.Fatalf("%+v, %v", stats, err)
			}
			if api.maxAtOne != 5 {
				t.Errorf("%d requests at once, want the 5 of a burst", api.maxAtOne)
			}
			ids, starts, versions := map[int64]bool{}, map[int64]int{}, map[uint64]bool{}
			var ended int64
			for _, r := range log.records[made:] {
				if model == plan.ModelClosed && r.UID != uid && r.Started < ended {
					t.Errorf("operation %d began before the burst was answered", r.ID)
				}
				if r.UID != uid {
					continue
				}
				ids[r.ID], versions[r.ResourceVersion], ended = true, true, r.Finished
				starts[r.Started]++
			}
			if len(ids) != 10 || len(versions) != 10 || len(starts) != 2 {
				t.Errorf("%d patches with %d versions began at %d times, want 10, 10, 2", len(ids), len(versions), len(starts))
			}
		})
	}
}

// TestHotPatchGivenUp: it is counted and stops nothing else.
func TestHotPatchGivenUp(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		forbidden := func() *http.Response { return status(http.StatusForbidden, metav1.StatusReasonForbidden) }
		api := &fakeAPI{}
		e, _ := fakeEngine(t, api, func(c *plan.Config) {
			c.Operations, c.Hotkeys = 40, &plan.Hotkeys{Objects: 1, Burst: 5, Share: 0.25}
		})
		if err := e.setUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		api.fault = faultOnce("PUT", "/hot-", forbidden, nil, false)
		stats, err := e.Load(t.Context(), nil)
		if err != nil || stats.Done != 39 || stats.Abandoned != 1 || stats.Skipped != 0 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}

func TestOpenLoopShowsItsLag(t *testing.T) {
	// 20 requests per second of 100 ms each are two at a time; one slot makes half of them late, and later all the time.
	virtual(t, "", func(t *testing.T) {
		api := &fakeAPI{latency: 100 * time.Millisecond}
		e, log := fakeEngine(t, api, func(c *plan.Config) {
			c.Model, c.Threads, c.Operations, c.Rate, c.Duration, c.MaxInFlight = plan.ModelOpen, 0, 0, 20, units.Duration(5*time.Second), 1
			c.Stages = []plan.Stage{{Stage: "create"}}
		})
		stats, err := e.Load(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Done != 100 || api.maxAtOne != 1 {
			t.Errorf("%d done, %d at once, want 100, 1", stats.Done, api.maxAtOne)
		}
		last := log.records[len(log.records)-1]
		if lag := time.Duration(last.Started - last.Intended); lag < 4900*time.Millisecond || lag > 5*time.Second {
			t.Errorf("the last is %s late", lag)
		}
		for i, r := range log.records {
			if want := e.Progress().Started + (r.ID-1)*int64(50*time.Millisecond); r.Intended != want {
				t.Errorf("record %d: operation %d intended %d, want %d", i, r.ID, r.Intended, want)
			}
		}
	})
}

func TestOpenLoopKeepsThePodsOrder(t *testing.T) {
	// Answers take longer than the gap between stages, so every stage is late.
	virtual(t, "", func(t *testing.T) {
		api := &fakeAPI{latency: 350 * time.Millisecond}
		e, log := fakeEngine(t, api, func(c *plan.Config) {
			c.Model, c.Threads, c.Operations, c.Rate, c.Duration, c.Recreate = plan.ModelOpen, 0, 0, 50, units.Duration(5*time.Second), 1
		})
		stats, err := e.Load(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Done != 250 || stats.Errors != 0 {
			t.Errorf("%+v", stats)
		}
		finished := map[string]int64{}
		for _, r := range log.records {
			if r.Started < finished[r.Name] {
				t.Errorf("operation %d on %s began before the former was answered", r.ID, r.Name)
			}
			finished[r.Name] = r.Finished
		}
	})
}

func TestInterruptedLoadKeepsItsAccount(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		api := &fakeAPI{latency: 10 * time.Millisecond}
		e, log := fakeEngine(t, api, func(c *plan.Config) { c.Threads, c.Operations, c.Duration = 5, 0, units.Duration(time.Hour) })
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		stats, err := e.Load(ctx, nil)
		if !errors.Is(err, why) {
			t.Errorf("got %v, want the cause of the interruption", err)
		}
		if stats.Done < 400 || stats.Done > 500 || int64(len(log.records)) != stats.Done+stats.Errors {
			t.Errorf("%d done, %d errors, %d records", stats.Done, stats.Errors, len(log.records))
		}
	})
}
