package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/view"
)

// TestEvents: what is sent of each change, in the order of one worker.
func TestEvents(t *testing.T) {
	for _, tc := range []struct {
		name, keys string
		want       []string
	}{
		{"all", ``, []string{"ADDED a 104", "MODIFIED a 105", "MODIFIED a 106", "ADDED b 107", "DELETED a 108", "ADDED a 109", "DELETED a 110"}},
		{"list", `"initial":"list"`, []string{"ADDED a 101", "ADDED x 102", "ADDED y 103", "MODIFIED a 104"}},
		{"names", `"names":["b"]`, []string{"ADDED b 107"}},
		{"namespaces", `"namespaces":["n2"]`, []string{"ADDED b 107"}},
		{"labels", `"labelSelector":"app=x"`, []string{"ADDED a 105", "DELETED a 106", "ADDED b 107"}},
		{"types", `"events":["DELETED"]`, []string{"DELETED a 108", "DELETED a 110"}},
		{"path", `"changedPath":"status.phase","names":["a"]`, []string{"ADDED a 104", "MODIFIED a 106", "DELETED a 108", "ADDED a 109", "DELETED a 110"}},
		{"path and labels", `"changedPath":"status.phase","labelSelector":"app"`, []string{"ADDED a 104", "MODIFIED a 106", "ADDED b 107", "DELETED a 108"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newReceiver(t, nil)
			k := newKind(t, view.Config{})
			initial := strings.Contains(tc.keys, "initial")
			if initial {
				k.put("n/a", "u1", "", "")
			} else {
				k.version++
			}
			k.put("n1/x", "u8", "", "")
			k.put("n1/y", "u9", "", "")
			keys := `"workers":1`
			if tc.keys != "" {
				keys += "," + tc.keys
			}
			_, stop := run(t, k, one(t, r.URL, keys), nil)
			k.put("n/a", "u1", `"app":"y"`, `"status":{"phase":"Pending"}`)
			if !initial {
				k.put("n/a", "u1", `"app":"x"`, `"status":{"phase":"Pending"}`)
				k.put("n/a", "u1", `"app":"y"`, `"status":{"phase":"Running"}`)
				k.put("n2/b", "u2", `"app":"x"`, "")
				k.delete("n/a")
				k.put("n/a", "u3", "", "")
				k.delete("n/a")
			}
			r.expect(tc.want...)
			stop() // and nothing more comes
			r.expect(tc.want...)
		})
	}
}

// TestBody: the object is sent as it is cached, and a deleted one, or one that stopped to
// match, as it was, with the version of its end.
func TestBody(t *testing.T) {
	r := newReceiver(t, nil)
	k := newKind(t, view.Config{})
	run(t, k, one(t, r.URL, `"initial":"list","labelSelector":"app=x"`), nil)
	k.put("n/a", "u1", `"app":"x"`, `"status":{"html":"<&>"}`)
	r.expect("ADDED a 101")
	k.put("n/a", "u1", `"app":"y"`, "")
	r.expect("ADDED a 101", "DELETED a 102")
	const object = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u1","resourceVersion":"%d","labels":{"app":"x"}},"status":{"html":"<&>"}}`
	for i, want := range []string{`{"type":"ADDED","object":` + fmt.Sprintf(object, 101) + `}`, `{"type":"DELETED","object":` + fmt.Sprintf(object, 102) + `}`} {
		if got := r.all()[i].body; got != want {
			t.Errorf("body %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

// checkHistory compares what one object's receiver accepted with what was done to it:
// everything, in order; the same event may come again, right after itself.
func checkHistory(t *testing.T, got []received, want map[string][]string) {
	t.Helper()
	have := map[string][]string{}
	for _, g := range got {
		line := fmt.Sprintf("%s %d", g.typ, g.version)
		if h := have[g.uid]; len(h) == 0 || h[len(h)-1] != line {
			have[g.uid] = append(h, line)
		}
	}
	for uid, lines := range want {
		if !slices.Equal(have[uid], lines) {
			t.Errorf("%s: received %v, want %v", uid, have[uid], lines)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d objects, want %d", len(have), len(want))
	}
}

// TestStorm: with a fifth of all tries failing, in every way, nothing of thousands of
// events is lost, and those of each object keep their order.
func TestStorm(t *testing.T) {
	const objects, events = 150, 4000
	r := newReceiver(t, func(n int, _ received, w http.ResponseWriter) bool {
		switch {
		case n%5 != 0:
			return false
		case n%25 == 0: // taken, and the answer is lost
			panic(http.ErrAbortHandler)
		case n%35 == 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case n%45 == 0:
			w.WriteHeader(http.StatusConflict)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
		return true
	})
	k := newKind(t, view.Config{Window: 1 << 14})
	c := one(t, r.URL, `"initial":"list","workers":16,"retry":{"initial":"5ms","max":"50ms","tries":100},"queue":{"length":100000}`)
	reg, _ := run(t, k, c, nil)
	rnd := rand.New(rand.NewPCG(1, 2))
	want := map[string][]string{}
	alive := map[string]bool{}
	for range events {
		i := rnd.IntN(objects)
		key, uid := fmt.Sprintf("n/o%d", i), fmt.Sprintf("u%d", i)
		if alive[uid] && rnd.IntN(10) == 0 {
			k.delete(key)
			alive[uid] = false
			want[uid] = append(want[uid], fmt.Sprintf("DELETED %d", k.version))
			continue
		}
		k.put(key, uid, "", "")
		typ := "MODIFIED"
		if !alive[uid] {
			typ, alive[uid] = "ADDED", true
		}
		want[uid] = append(want[uid], fmt.Sprintf("%s %d", typ, k.version))
	}
	eventually(t, "all are delivered", func() bool {
		return value(t, reg, "k8swatch_notify_delivered_total") == events
	})
	checkHistory(t, r.all(), want)
	if n := value(t, reg, "k8swatch_notify_retried_total"); n < events/10 {
		t.Errorf("%v retries: the faults were not there", n)
	}
	for _, name := range []string{"dropped_total", "dead_lettered_total", "gaps_total", "queued", "oldest_seconds"} {
		if n := value(t, reg, "k8swatch_notify_"+name); n != 0 {
			t.Errorf("%s is %v", name, n)
		}
	}
}

// TestPoison: one object that the receiver always fails on holds up none of the others, with as few as one worker.
func TestPoison(t *testing.T) {
	r := newReceiver(t, func(_ int, g received, w http.ResponseWriter) bool {
		if g.name == "poison" {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return g.name == "poison"
	})
	k := newKind(t, view.Config{})
	c := one(t, r.URL, `"initial":"list","workers":1,"retry":{"tries":3}`)
	c.DrainTimeout = 1
	reg, _ := run(t, k, c, nil)
	k.put("n/poison", "p", "", "")
	eventually(t, "the poison was tried", func() bool { return r.tries() == 1 })
	var want []string
	for i := range 50 {
		k.put("n/poison", "p", "", "") // they wait
		k.put("n/a", "u", "", "")
		want = append(want, fmt.Sprintf("MODIFIED a %d", 103+2*i))
	}
	want[0] = "ADDED a 103"
	r.expect(want...)
	eventually(t, "only the poison waits", func() bool { return value(t, reg, "k8swatch_notify_queued") == 51 })
	if r.tries() != 51 {
		t.Errorf("%d tries, want 51: Retry-After was not obeyed", r.tries())
	}
}

// TestPermit: what may not leave stays queued, and that is no try of it.
func TestPermit(t *testing.T) {
	r := newReceiver(t, nil)
	k := newKind(t, view.Config{})
	var leads atomic.Bool
	var asked atomic.Int64
	reg, _ := run(t, k, one(t, r.URL, `"initial":"list","workers":1,"retry":{"tries":1}`), func(s *notify.Settings) {
		s.Permit = func() error {
			asked.Add(1)
			if !leads.Load() {
				return errors.New("another replica leads")
			}
			return nil
		}
	})
	k.put("n/a", "u1", "", "")
	k.put("n/b", "u2", "", "")
	eventually(t, "it was asked", func() bool { return asked.Load() > 0 })
	eventually(t, "both wait", func() bool { return value(t, reg, "k8swatch_notify_queued") == 2 })
	time.Sleep(100 * time.Millisecond)
	if n := r.tries(); n > 0 {
		t.Errorf("%d deliveries without a permit", n)
	}
	if n := asked.Load(); n > 2 {
		t.Errorf("asked %d times within 100 ms", n)
	}
	leads.Store(true)
	r.expect("ADDED a 101", "ADDED b 102")
	if n := value(t, reg, "k8swatch_notify_dead_lettered_total") + value(t, reg, "k8swatch_notify_retried_total"); n > 0 {
		t.Errorf("%v tries counted as failed", n)
	}
}

// TestHung: a receiver that never answers costs the others nothing.
func TestHung(t *testing.T) {
	release := make(chan struct{})
	hang := func(int, received, http.ResponseWriter) bool { <-release; return true }
	hung := newReceiver(t, hang)
	defer close(release)
	good := newReceiver(t, nil)
	k := newKind(t, view.Config{Window: 64})
	c := one(t, good.URL, `"initial":"list"`)
	c.Subscriptions[0].Name = "good"
	bad := one(t, hung.URL, `"initial":"list","queue":{"length":10}`).Subscriptions[0]
	bad.Name = "hung"
	c.Subscriptions = append(c.Subscriptions, bad)
	c.DrainTimeout = 1
	reg, _ := run(t, k, c, nil)
	const events = 300
	sent := map[uint64]time.Time{}
	for i := range events {
		k.put(fmt.Sprintf("n/o%d", i), fmt.Sprintf("u%d", i), "", "")
		sent[k.version] = time.Now()
		time.Sleep(time.Millisecond)
	}
	eventually(t, "the good one has all", func() bool { return len(good.all()) == events })
	var waits []time.Duration
	for _, g := range good.all() {
		waits = append(waits, g.at.Sub(sent[g.version]))
	}
	slices.Sort(waits)
	t.Logf("latency of the good one: median %s, largest %s", waits[events/2], waits[events-1])
	if waits[events/2] > 500*time.Millisecond {
		t.Errorf("the good one's median latency is %s", waits[events/2])
	}
	if n := value(t, reg, "k8swatch_notify_queued", "subscription=hung"); n == 0 || n > 10 {
		t.Errorf("%v queued for the hung one, want at most 10", n)
	}
	if n := value(t, reg, "k8swatch_notify_oldest_seconds", "subscription=hung"); n < .2 {
		t.Errorf("oldest is %v s", n)
	}
}

// TestRestart: a kind whose watch ends is opened again, and what differs is sent: also
// deletions, which the new list does not show.
func TestRestart(t *testing.T) {
	r := newReceiver(t, nil)
	k := newKind(t, view.Config{})
	reg, _ := run(t, k, one(t, r.URL, `"workers":1,"initial":"list"`), nil)
	k.put("n/a", "u1", "", "")
	k.put("n/b", "u2", "", "")
	k.put("n/c", "u3", "", "")
	k.put("n/d", "u4", "", "")
	before := []string{"ADDED a 101", "ADDED b 102", "ADDED c 103", "ADDED d 104"}
	r.expect(before...)
	k.mu.Lock()
	k.refuse = errors.New("not served")
	k.mu.Unlock()
	k.restart(func() {
		k.put("n/a", "u1", "", "") // 105
		k.delete("n/b")            // 106
		k.delete("n/c")            // 107
		k.put("n/c", "u9", "", "") // 108, another one
	})
	time.Sleep(300 * time.Millisecond) // it is refused once or more
	k.mu.Lock()
	k.refuse = nil
	k.mu.Unlock()
	eventually(t, "all have come", func() bool { return len(r.all()) == 8 })
	got := strings.Split(r.show(), "\n")[4:]
	slices.Sort(got[:2]) // the deletions come first
	if want := []string{"DELETED b 108", "DELETED c 108", "MODIFIED a 105", "ADDED c 108"}; !slices.Equal(got, want) {
		t.Errorf("received %v, want %v", got, want)
	}
	if n := value(t, reg, "k8swatch_notify_gaps_total", "reason=reopened"); n != 1 {
		t.Errorf("%v gaps, want 1", n)
	}
	k.put("n/d", "u4", "", "")
	eventually(t, "it goes on", func() bool { return strings.HasSuffix(r.show(), "MODIFIED d 109") })
}

// TestRelist: where the kind's own watch goes on with a new list, what that shows is sent as
// changes, and no place is lost.
func TestRelist(t *testing.T) {
	r := newReceiver(t, nil)
	k := newKind(t, view.Config{})
	reg, _ := run(t, k, one(t, r.URL, `"workers":1`), nil)
	k.put("n/a", "u1", "", "")
	k.put("n/b", "u2", "", "")
	r.expect("ADDED a 101", "ADDED b 102")
	k.mu.Lock()
	gone, stays := k.objects["n/a"], k.objects["n/b"]
	again := *stays
	again.ResourceVersion, again.Raw = 105, bytes.Replace(stays.Raw, []byte("102"), []byte("105"), 1)
	k.view.Replaced([]view.Difference{{Old: gone}, {Old: stays, Now: &again}}, 110, time.Now())
	k.mu.Unlock()
	r.expect("ADDED a 101", "ADDED b 102", "DELETED a 110", "MODIFIED b 105")
	if n := value(t, reg, "k8swatch_notify_gaps_total"); n != 0 {
		t.Errorf("%v gaps", n)
	}
}

// TestResync: a queue that is full loses no object's last state.
func TestResync(t *testing.T) {
	gate := make(chan struct{})
	r := newReceiver(t, func(int, received, http.ResponseWriter) bool { <-gate; return false })
	k := newKind(t, view.Config{})
	reg, _ := run(t, k, one(t, r.URL, `"initial":"list","workers":2,"queue":{"length":5}`), nil)
	for range 40 {
		for i := range 20 {
			k.put(fmt.Sprintf("n/o%d", i), fmt.Sprintf("u%d", i), "", "")
		}
	}
	k.delete("n/o7")
	eventually(t, "the queue is full", func() bool {
		return value(t, reg, "k8swatch_notify_gaps_total", "reason=full") > 0 || value(t, reg, "k8swatch_notify_queued") == 5
	})
	close(gate)
	awaitLast(t, r, 20, 7, 100+39*20+1)
	if n := value(t, reg, "k8swatch_notify_dropped_total"); n != 0 {
		t.Errorf("%v dropped", n)
	}
}

// TestResyncLast: the change that found the queue full comes, too, though nothing follows it.
func TestResyncLast(t *testing.T) {
	gate := make(chan struct{})
	r := newReceiver(t, func(int, received, http.ResponseWriter) bool { <-gate; return false })
	k := newKind(t, view.Config{})
	reg, _ := run(t, k, one(t, r.URL, `"workers":1,"queue":{"length":1}`), nil)
	k.put("n/a", "u1", "", "")
	eventually(t, "the first one is on its way", func() bool { return r.tries() == 1 })
	k.put("n/b", "u2", "", "")
	eventually(t, "the queue is full", func() bool { return value(t, reg, "k8swatch_notify_gaps_total", "reason=full") == 1 })
	close(gate)
	r.expect("ADDED a 101", "ADDED b 102")
}

// awaitLast waits for the last states of so many objects, whose versions begin with first, except the one that
// is gone. Those of an object must come in order.
func awaitLast(t *testing.T, r *receiver, objects, gone, first int) {
	t.Helper()
	eventually(t, "all last states have come", func() bool {
		last := map[string]received{}
		for _, g := range r.all() {
			if g.version < last[g.uid].version {
				t.Fatalf("%s came after version %d", g.id, last[g.uid].version)
			}
			last[g.uid] = g
		}
		for i := range objects {
			if g := last[fmt.Sprintf("u%d", i)]; i != gone && g.version != uint64(first+i) {
				return false
			}
		}
		g, sent := last[fmt.Sprintf("u%d", gone)]
		return !sent || g.typ == "DELETED"
	})
}

// TestInitialList: a list that is many times the queue is delivered whole.
func TestInitialList(t *testing.T) {
	r := newReceiver(t, nil)
	k := newKind(t, view.Config{})
	for i := range 500 {
		k.put(fmt.Sprintf("n/o%d", i), fmt.Sprintf("u%d", i), "", "")
	}
	reg, _ := run(t, k, one(t, r.URL, `"initial":"list","queue":{"length":7}`), noWait)
	eventually(t, "all have come", func() bool { return len(r.all()) == 500 })
	if n := value(t, reg, "k8swatch_notify_dropped_total"); n != 0 {
		t.Errorf("%v dropped", n)
	}
}

// TestShutdown: what is queued is delivered at the end, within the time for it; what is not is counted.
func TestShutdown(t *testing.T) {
	for _, tc := range []struct {
		name      string
		drain     string
		delivered int
	}{{"in time", `"10s"`, 30}, {"too late", `"150ms"`, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			gate, stuck := make(chan struct{}), make(chan struct{})
			defer close(stuck)
			r := newReceiver(t, func(n int, _ received, _ http.ResponseWriter) bool {
				<-gate
				if n > 1 && tc.delivered == 1 {
					<-stuck
				}
				return false
			})
			k := newKind(t, view.Config{})
			c := one(t, r.URL, `"initial":"list","workers":1,"retry":{"tries":1}`) // a try that is cut off is none
			if err := c.DrainTimeout.UnmarshalJSON([]byte(tc.drain)); err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				k.put(fmt.Sprintf("n/o%d", i), fmt.Sprintf("u%d", i), "", "")
			}
			reg, stop := run(t, k, c, nil)
			eventually(t, "all are queued", func() bool { return value(t, reg, "k8swatch_notify_queued") == 30 })
			time.AfterFunc(50*time.Millisecond, func() { close(gate) })
			began := time.Now()
			stop()
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
			delivered, left := value(t, reg, "k8swatch_notify_delivered_total"), value(t, reg, "k8swatch_notify_dropped_total", "reason=abandoned")
			if int(delivered) != tc.delivered || delivered+left != 30 {
				t.Errorf("%v delivered, %v abandoned, want %d of 30", delivered, left, tc.delivered)
			}
			if n := value(t, reg, "k8swatch_notify_dead_lettered_total"); n != 0 {
				t.Errorf("%v dead letters", n)
			}
		})
	}
}

// TestGivenUp: an event that is refused, or fails too often, is counted by its reason, and the next
// one of its object is delivered.
func TestGivenUp(t *testing.T) {
	elsewhere := newReceiver(t, nil)
	r := newReceiver(t, func(_ int, g received, w http.ResponseWriter) bool {
		switch {
		case g.typ != "ADDED":
			return false
		case g.name == "bad":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case g.name == "moved":
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		case g.name == "large":
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		default:
			w.WriteHeader(http.StatusBadGateway)
		}
		return true
	})
	c := one(t, r.URL, `"initial":"list","workers":1,"retry":{"initial":"1ms","max":"2ms","tries":4}`)
	k := newKind(t, view.Config{})
	reg, _ := run(t, k, c, nil)
	var want []string
	for i, name := range []string{"bad", "moved", "large", "fails"} {
		k.put("n/"+name, name, "", `"spec":"<x>"`)
		k.put("n/"+name, name, "", "")
		want = append(want, fmt.Sprintf("MODIFIED %s %d", name, 102+2*i))
	}
	eventually(t, "the second ones have come", func() bool { return len(r.all()) == len(want) })
	for reason, n := range map[string]float64{"refused": 1, "too_large": 1, "tries": 2, "age": 0} {
		if got := value(t, reg, "k8swatch_notify_dead_lettered_total", "reason="+reason); got != n {
			t.Errorf("%s: %v, want %v", reason, got, n)
		}
	}
	if n := r.tries(); n != 4+4+2+4 {
		t.Errorf("%d tries, want one for each refusal, 4 for each failure and 4 for the rest", n)
	}
	if elsewhere.tries() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestUnreachable: while nobody listens the target is left alone, not tried once for each
// event; when it is back, all come.
func TestUnreachable(t *testing.T) {
	r := newReceiver(t, nil)
	url := r.URL
	r.Close()
	k := newKind(t, view.Config{})
	reg, _ := run(t, k, one(t, url, `"initial":"list","workers":2,"retry":{"initial":"40ms","max":"80ms","tries":50}`), nil)
	for i := range 200 {
		k.put(fmt.Sprintf("n/o%d", i), fmt.Sprintf("u%d", i), "", "")
	}
	time.Sleep(400 * time.Millisecond)
	if n := value(t, reg, "k8swatch_notify_retried_total"); n == 0 || n > 100 {
		t.Errorf("%v retries in 400 ms with pauses of 40 ms on average and 2 workers", n)
	}
	back := newReceiverAt(t, strings.TrimPrefix(url, "http://"))
	eventually(t, "all have come", func() bool { return len(back.all()) == 200 })
}

// TestExpired: a subscription that falls behind the window goes on with the differences.
func TestExpired(t *testing.T) {
	r := newReceiver(t, nil)
	k := newKind(t, view.Config{Window: 1}) // any two changes at once are too many
	reg, _ := run(t, k, one(t, r.URL, `"initial":"list"`), nil)
	for range 20 {
		for i := range 10 {
			k.put(fmt.Sprintf("n/o%d", i), fmt.Sprintf("u%d", i), "", "")
		}
		k.delete("n/o3")
		time.Sleep(3 * time.Millisecond)
	}
	awaitLast(t, r, 10, 3, 100+19*11+1)
	if n := value(t, reg, "k8swatch_notify_gaps_total", "reason=expired"); n == 0 {
		t.Error("no gap was counted")
	}
}

// TestRunTwice: the second one is refused.
func TestRunTwice(t *testing.T) {
	n := must(notify.New(notify.Default(), notify.Settings{Kinds: newKind(t, view.Config{})}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Run(ctx); err != nil {
		t.Error(err)
	}
	if err := n.Run(ctx); !errors.Is(err, lifecycle.ErrRunTwice) {
		t.Errorf("%v", err)
	}
}

// TestAtOnce: an end at once waits for nothing.
func TestAtOnce(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	r := newReceiver(t, func(int, received, http.ResponseWriter) bool { <-release; return true })
	k := newKind(t, view.Config{})
	k.put("n/a", "u", "", "")
	n := must(notify.New(one(t, r.URL, `"initial":"list"`), notify.Settings{Kinds: k}))
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	eventually(t, "it is tried", func() bool { return r.tries() == 1 })
	began := time.Now()
	cancel(lifecycle.AtOnce(errors.New("now")))
	if err := <-done; err != nil || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// TestAtOnceWithSilentServer: nor for a client that waits for its server whatever its context says.
func TestAtOnceWithSilentServer(t *testing.T) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer func() { _ = l.Close() }()
	k := newKind(t, view.Config{})
	k.put("n/a", "u", "", "")
	n, err := notify.New(decode(t, fmt.Sprintf(`{"subscriptions":[{"name":"s","resource":"v1/pods","initial":"list",
		"target":{"nats":{"servers":["nats://%s"],"allow":["127.0.0.0/8"]}}}]}`, l.Addr())), notify.Settings{Kinds: k})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	c := must(l.Accept())
	defer func() { _ = c.Close() }()
	began := time.Now()
	cancel(lifecycle.AtOnce(errors.New("now")))
	if err := <-done; err != nil || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}
