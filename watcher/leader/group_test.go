package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

// registry is an apiserver of Leases, with optimistic concurrency.
type registry struct {
	mu      sync.Mutex // guards what follows
	stored  map[string]lease
	version int
}

func (s *registry) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in lease
	if r.Body != nil && r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
	}
	name := path.Base(r.URL.Path)
	if r.Method == http.MethodPost {
		name = in.Metadata["name"].(string)
	}
	had, known := s.stored[name]
	status, answer := http.StatusOK, any(nil)
	switch {
	case name == "leases":
		group, _ := strings.CutPrefix(r.URL.Query().Get("labelSelector"), groupLabel+"=")
		var items []lease
		for _, le := range s.stored {
			if labels, _ := le.Metadata["labels"].(map[string]any); labels[groupLabel] == group {
				le.Kind, le.APIVersion = "", ""
				items = append(items, le)
			}
		}
		answer = map[string]any{"kind": "LeaseList", "items": items}
	case r.Method != http.MethodPost && !known:
		status = http.StatusNotFound
	case r.Method == http.MethodPost && known, r.Method == http.MethodPut && (in.Kind != "Lease" || in.APIVersion == "" ||
		in.Metadata["resourceVersion"] != had.Metadata["resourceVersion"]):
		status = http.StatusConflict
	case r.Method != http.MethodGet:
		s.version++
		in.Metadata["resourceVersion"] = strconv.Itoa(s.version)
		s.stored[name] = in
		answer = in
	default:
		answer = had
	}
	b, err := json.Marshal(answer)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(b))), Request: r}, err
}

func (s *registry) edit(name string, change func(*spec)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	le := s.stored[name]
	change(&le.Spec)
	s.version++
	le.Metadata["resourceVersion"] = strconv.Itoa(s.version)
	s.stored[name] = le
}

// way is one replica's way to the apiserver.
type way struct {
	next http.RoundTripper
	mu   sync.Mutex    // guards what follows
	down bool          // requests are refused
	ice  chan struct{} // requests wait until it is closed, whatever their contexts say; nil: none
}

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	down, ice := w.down, w.ice
	w.mu.Unlock()
	if ice != nil {
		<-ice
	}
	if down {
		return nil, errors.New("no route to host")
	}
	return w.next.RoundTrip(r)
}

func (*way) CloseIdleConnections() {}

func (w *way) set(down bool, ice chan struct{}) {
	w.mu.Lock()
	w.down, w.ice = down, ice
	w.mu.Unlock()
}

// ledger has who leads what, and fails the test where two may write of one hash.
type ledger struct {
	t      *testing.T
	mu     sync.Mutex               // guards what follows
	leads  map[string]kubeapi.Shard // by replica and shard
	permit map[string]func() error  // of the same
	begun  int                      // holdings
	drain  time.Duration            // of each
	failed map[string]error         // what lead returns at once, by replica
	cuts   map[string]int           // holdings that were to end at once, by replica
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, leads: map[string]kubeapi.Shard{}, permit: map[string]func() error{}, failed: map[string]error{}, cuts: map[string]int{}}
}

// replica is a Group that runs.
type replica struct {
	*Group
	id  string
	way *way
	end func() error
}

func (l *ledger) start(s http.RoundTripper, id string, shards int) *replica {
	l.t.Helper()
	c := For(10 * time.Second)
	c.Namespace, c.Name, c.Identity = "ns", "k8s-watch", id
	w := &way{next: s}
	g, err := NewGroup(c, shards, "name", &rest.Config{Host: "http://apiserver", Transport: w}, slog.New(slog.DiscardHandler))
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	go func() {
		done <- g.Run(ctx, func(ctx context.Context, h *Holding) error { return l.lead(ctx, id, shards, h) })
	}()
	return &replica{g, id, w, func() error { cancel(); return <-done }}
}

func (l *ledger) lead(ctx context.Context, id string, shards int, h *Holding) error {
	name, of := fmt.Sprintf("%s holds %d of %d", id, h.Shard, shards), kubeapi.Split(shards, kubeapi.ByName)[h.Shard]
	l.mu.Lock()
	l.begun++
	for other, r := range l.leads {
		if r.From <= of.Last && of.From <= r.Last && l.permit[other]() == nil {
			l.t.Errorf("%s while %s", name, other)
		}
	}
	l.leads[name], l.permit[name] = of, h.Permit
	err := l.failed[id]
	l.mu.Unlock()
	if err == nil {
		<-ctx.Done()
		if !lifecycle.EndedAtOnce(ctx) {
			time.Sleep(l.drain)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if lifecycle.EndedAtOnce(ctx) {
		l.cuts[id]++
	}
	delete(l.leads, name)
	return err
}

// held is how many shards each may write of now.
func (l *ledger) held() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := map[string]int{}
	for name := range l.leads {
		if id, _, _ := strings.Cut(name, " "); l.permit[name]() == nil {
			of[id]++
		}
	}
	return of
}

// await waits until the shards are so divided, the largest part first, and returns how long that took.
func (l *ledger) await(within time.Duration, want ...int) time.Duration {
	l.t.Helper()
	began := time.Now()
	for {
		var got []int
		for _, n := range l.held() {
			got = append(got, n)
		}
		slices.SortFunc(got, func(a, b int) int { return b - a })
		if slices.Equal(got, want) {
			return time.Since(began)
		}
		if time.Since(began) > within {
			l.t.Fatalf("after %s: %v, want %v", within, l.held(), want)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestGroupShares: replicas come and go, and each shard has one holder at most all the time. What comes and dies moves
// nothing, and nothing moves without need.
func TestGroupShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &registry{stored: map[string]lease{}}, newLedger(t)
		l.drain = 3 * time.Second
		a := l.start(s, "a", 4)
		l.await(3*time.Second, 4)
		b := l.start(s, "b", 4)
		if took := l.await(time.Minute, 2, 2); took < a.cfg.LeaseDuration {
			t.Errorf("given back after %s, want the members to be the same for %s", took, a.cfg.LeaseDuration)
		}
		c := l.start(s, "c", 4)
		l.await(time.Minute, 2, 1, 1)
		if l.begun != 7 {
			t.Errorf("%d holdings, want 4, 2 handed to b and 1 to c", l.begun)
		}
		time.Sleep(5 * time.Minute)
		if err := errors.Join(b.end(), c.end()); err != nil {
			t.Error(err)
		}
		if took := l.await(5*time.Second, 4); a.Held() != 4 {
			t.Errorf("alone after %s it holds %d", took, a.Held())
		}
		begun := l.begun
		for range 5 { // cannot be told from one that is there, before its Lease ends
			d := l.start(s, fmt.Sprint("d", time.Now().UnixNano()), 4)
			time.Sleep(time.Second)
			d.way.set(true, nil)
			time.Sleep(a.cfg.LeaseDuration + 3*time.Second)
			_ = d.end()
		}
		if l.begun != begun || a.Held() != 4 {
			t.Errorf("%d shards moved for replicas that came and died", l.begun-begun)
		}
		if err := a.end(); err != nil || a.Held() != 0 || a.Refused() != 0 {
			t.Errorf("%v, held %d, refused %d", err, a.Held(), a.Refused())
		}
		if plan := s.stored["k8s-watch"].Spec; plan.LeaseTransitions != 0 {
			t.Errorf("all divide by one plan, but its Lease is %+v", plan)
		}
	})
}

// TestGroupStartsTogether: of replicas that start together none takes what others are to have.
func TestGroupStartsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &registry{stored: map[string]lease{}}, newLedger(t)
		a := l.start(s, "a", 4)
		time.Sleep(500 * time.Millisecond)
		b := l.start(s, "b", 4)
		l.await(10*time.Second, 2, 2)
		if l.begun != 4 {
			t.Errorf("%d holdings, want 4", l.begun)
		}
		if err := errors.Join(a.end(), b.end()); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupStandby: more replicas than shards; the one that is left over takes the place of one that dies.
func TestGroupStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &registry{stored: map[string]lease{}}, newLedger(t)
		var all []*replica
		for _, id := range []string{"a", "b", "c"} {
			all = append(all, l.start(s, id, 2))
		}
		l.await(time.Minute, 1, 1)
		for _, r := range all {
			if err := r.Trouble(); err != nil {
				t.Error(err)
			}
		}
		first := slices.IndexFunc(all, func(r *replica) bool { return r.Held() == 1 })
		if err := all[first].end(); err != nil {
			t.Error(err)
		}
		l.await(time.Minute, 1, 1)
		for i, r := range all {
			if i != first {
				if err := r.end(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestGroupLosesReplica: one that is frozen or cut off may write no more by the time that others hold its shards, and
// gets some back when it is there again.
func TestGroupLosesReplica(t *testing.T) {
	for _, frozen := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, l := &registry{stored: map[string]lease{}}, newLedger(t)
			a, b := l.start(s, "a", 4), l.start(s, "b", 4)
			l.await(time.Minute, 2, 2)
			ice := make(chan struct{})
			if !frozen {
				close(ice)
			}
			a.way.set(!frozen, ice)
			time.Sleep(a.cfg.RetryPeriod + a.cfg.RenewDeadline)
			if held := l.held(); held["a"] != 0 || held["b"] != 2 {
				t.Errorf("after the deadline: %v", held)
			}
			if took := l.await(a.cfg.LeaseDuration+3*time.Second, 4); l.held()["b"] != 4 {
				t.Errorf("after %s: %v", took, l.held())
			}
			if frozen {
				close(ice)
			}
			a.way.set(false, nil)
			l.await(time.Minute, 2, 2)
			if l.cuts["a"] != 2 || l.cuts["b"] != 0 {
				t.Errorf("ended at once: %v, want the two that a had", l.cuts)
			}
			if err := errors.Join(a.end(), b.end()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGroupLosesShard: a Lease that is another's ends that shard alone, and is taken again when it has passed.
func TestGroupLosesShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &registry{stored: map[string]lease{}}, newLedger(t)
		a := l.start(s, "a", 4)
		l.await(3*time.Second, 4)
		s.edit(ShardLease("k8s-watch", 2), func(le *spec) { le.HolderIdentity = "somebody" })
		l.await(a.cfg.RetryPeriod+time.Second, 3)
		if took := l.await(time.Minute, 4); took < a.cfg.LeaseDuration-a.cfg.RetryPeriod-time.Second {
			t.Errorf("taken after %s, want it to pass first", took)
		}
		if l.begun != 5 || l.cuts["a"] != 1 {
			t.Errorf("%d holdings, %d cut; want the lost one twice", l.begun, l.cuts["a"])
		}
		if err := a.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupNumbers: replicas that divide by another number, or not at all, have ranges that overlap. The first ones
// exclude the others until all of them are gone.
func TestGroupNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &registry{stored: map[string]lease{}}, newLedger(t)
		a, b, c := l.start(s, "a", 2), l.start(s, "b", 4), l.start(s, "c", 2)
		time.Sleep(time.Minute)
		first, others := l.held(), 0
		for _, r := range []*replica{a, b, c} {
			if err := r.Trouble(); err != nil {
				t.Error(err)
			}
			if first[r.id] == 0 {
				others++
			}
		}
		if first["b"] > 0 && (first["b"] != 4 || others != 2) || first["b"] == 0 && (first["a"] != 1 || first["c"] != 1) {
			t.Errorf("%v", first)
		}
		whole := elector("whole", s)
		whole.cfg.LeaseDuration, whole.cfg.LastWrite = a.cfg.LeaseDuration, a.cfg.LastWrite
		end, _ := runs(t, whole, func(ctx context.Context) error {
			return l.lead(ctx, "whole", 1, &Holding{Permit: whole.Permit})
		})
		time.Sleep(time.Minute)
		if whole.Leading() {
			t.Error("it leads all beside shards")
		}
		if err := errors.Join(a.end(), c.end()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if n := l.held()["b"] + 4*l.held()["whole"]; n != 4 {
			t.Errorf("%v", l.held())
		}
		if err := errors.Join(b.end(), end()); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupsLeadFails: what a shard's work returns ends all, in order.
func TestGroupsLeadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &registry{stored: map[string]lease{}}, newLedger(t)
		boom := errors.New("boom")
		l.failed["a"] = boom
		a := l.start(s, "a", 3)
		time.Sleep(5 * time.Second)
		if err := a.end(); !errors.Is(err, boom) || a.Held() != 0 {
			t.Errorf("%v, held %d", err, a.Held())
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestGroupShardFails: a Lease that cannot be had, such as for a right that is missing, holds up no other.
func TestGroupShardFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &registry{stored: map[string]lease{}}, newLedger(t)
		a := l.start(roundTripper(func(r *http.Request) (*http.Response, error) {
			if path.Base(r.URL.Path) == ShardLease("k8s-watch", 1) {
				return nil, errors.New("forbidden")
			}
			return s.RoundTrip(r)
		}), "a", 6)
		l.await(time.Minute, 5)
		if time.Sleep(a.cfg.LeaseDuration); a.Trouble() == nil {
			t.Error("a shard that nobody can have is no trouble")
		}
		if err := a.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupSeesBriefly: a Lease that was seen only where it was to be taken, and is gone at the next look, may still be
// its holder's.
func TestGroupSeesBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := &registry{stored: map[string]lease{}}, newLedger(t)
		seen := false
		a := l.start(roundTripper(func(r *http.Request) (*http.Response, error) {
			if seen || r.Method != http.MethodGet || path.Base(r.URL.Path) != ShardLease("k8s-watch", 1) {
				return s.RoundTrip(r)
			}
			seen = true
			b, err := json.Marshal(lease{Kind: kindLease, Spec: spec{HolderIdentity: "somebody", LeaseDurationSeconds: 16}})
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(b))), Request: r}, err
		}), "a", 4)
		l.await(5*time.Second, 3)
		if took := l.await(time.Minute, 4); took < 15*time.Second {
			t.Errorf("taken after %s, want it to pass first", took)
		}
		if err := a.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestRealGroup: the same with a real apiserver, whose lists and conflicts are its own.
func TestRealGroup(t *testing.T) {
	env := clustertest.Start(t)
	ns, l := clustertest.Namespace(t, env.Config), newLedger(t)
	run := func(id string) *replica {
		c := For(0)
		c.Namespace, c.Name, c.Identity = ns, "k8s-watch", id
		c.LeaseDuration, c.RenewDeadline, c.RetryPeriod, c.RequestTimeout = 3*time.Second, 2*time.Second, 200*time.Millisecond, 900*time.Millisecond
		g, err := NewGroup(c, 3, "name", rest.CopyConfig(env.Config), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- g.Run(ctx, func(ctx context.Context, h *Holding) error { return l.lead(ctx, id, 3, h) })
		}()
		t.Cleanup(cancel)
		return &replica{g, id, nil, func() error { cancel(); return <-done }}
	}
	a := run("a")
	l.await(20*time.Second, 3)
	b := run("b")
	l.await(30*time.Second, 2, 1)
	if err := a.end(); err != nil {
		t.Error(err)
	}
	l.await(20*time.Second, 3)
	if err := b.end(); err != nil {
		t.Error(err)
	}
}
