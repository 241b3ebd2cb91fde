package synchronizer

import (
	gocmp "cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is storage, cache and pipeline in one; a repair takes effect at once.
type world struct {
	incomplete bool       // not every kind is known
	mu         sync.Mutex // guards all of it
	records    map[object.Key]string
	cache      map[object.Key]string
	pending    map[object.Key]bool
	repairs    []string
	skip       object.Key // a record that lists leave out
	busy       bool       // the pipeline is never idle
	fail       error
	failGet    func(n int) error // the n-th Get, from 1
	reading    func()            // between the reading of a record and the answer
	asked      func()            // after an answer about what is pending
	lists      int
	gets       int
	latency    time.Duration
	kinds      []string // collected; none is Pod and Event

	annotated map[object.Key][]object.Pair
	fields    []string      // of each list
	most      int           // records in a page; 0 is any number
	listed    func()        // after a page was read
	spare     time.Duration // the pipeline's pause before each event
	version   string        // of the API; "" is not known
	owners    time.Time     // when they are listed
	began     time.Time
	firstOf   map[string]time.Duration // kinds, when the first repair came; nil: not kept
	log       slog.Handler             // of begun

	unreadable string // a name; "" is none
	refused    string // the same: storage refuses it, and the pipeline has parked it
}

func key(name string) object.Key { return object.Key{Kind: "Pod", Namespace: "team-a", Name: name} }

func (w *world) List(_ context.Context, kind, namespace, fields string, limit, offset int) ([]storage.Record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists++
	w.fields = append(w.fields, fields)
	if w.fail != nil {
		return nil, w.fail
	}
	var all []storage.Record
	for k, raw := range w.records {
		if k.Kind == kind && (namespace == "" || k.Namespace == namespace) && k != w.skip {
			all = append(all, storage.Record{Namespace: k.Namespace, Name: k.Name, Data: json.RawMessage(raw)})
		}
	}
	slices.SortFunc(all, func(a, b storage.Record) int {
		return gocmp.Or(len(a.Name)-len(b.Name), gocmp.Compare(a.Name, b.Name))
	})
	if w.most > 0 && limit > w.most {
		return nil, storage.ErrTooLong
	}
	offset = min(offset, len(all))
	if w.listed != nil {
		defer w.listed()
	}
	return all[offset:min(offset+limit, len(all))], nil
}

func (w *world) Get(_ context.Context, k object.Key, _ string) (storage.Record, bool, error) {
	time.Sleep(w.latency)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gets++
	if w.failGet != nil {
		if err := w.failGet(w.gets); err != nil {
			return storage.Record{}, false, err
		}
	}
	raw, ok := w.records[k]
	if w.reading != nil {
		w.reading()
	}
	return storage.Record{Namespace: k.Namespace, Name: k.Name, Data: json.RawMessage(raw)}, ok, nil
}

func (w *world) Put(_ context.Context, o *object.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return w.fail
	}
	w.records[o.Key] = string(o.Raw)
	return nil
}

func (w *world) SyncedKinds() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kinds != nil {
		return slices.Clone(w.kinds)
	}
	return []string{"Pod", "Event"}
}

func (w *world) ClusterScoped(kind string) bool { return kind == "Node" && w.Collected(kind) }

func (w *world) Remove(ctx context.Context, k object.Key, _ string) error {
	return w.Repair(ctx, k, "")
}

func (w *world) RetireKind(string) {}

func (w *world) Expectation(k object.Key) (Expectation, bool) {
	o, ok := w.Expected(k)
	return Expectation{APIVersion: w.version, UID: o.UID, Version: o.ResourceVersion, Annotations: w.annotated[k]}, ok
}

func (w *world) Unreadable(k object.Key) bool { return w.unreadable != "" && k.Name == w.unreadable }

func (w *world) Refused(k object.Key) bool { return w.refused != "" && k.Name == w.refused }

func (w *world) Trace(string) (touched func(object.Key) bool, end func()) {
	return w.Pending, func() {}
}

func (w *world) OwnersListed(string) bool { return time.Now().After(w.owners) }

func (w *world) Spare(ctx context.Context, _ string) error { return lifecycle.Pause(ctx, w.spare) }

func (w *world) UnsyncedKinds() []string { return nil }

func (w *world) Collected(kind string) bool { return slices.Contains(w.SyncedKinds(), kind) }

func (w *world) Expected(k object.Key) (*object.Object, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	raw, ok := w.cache[k]
	m, _ := object.Scan([]byte(raw))
	return &object.Object{Key: k, Raw: []byte(raw), UID: m.UID, ResourceVersion: m.Version()}, ok
}

func (w *world) ExpectedKeys(kind string) []object.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []object.Key
	for k := range w.cache {
		if k.Kind == kind {
			out = append(out, k)
		}
	}
	return out
}

// Repair removes only what has the uid, if there is one.
func (w *world) Repair(_ context.Context, k object.Key, uid string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	raw, ok := w.cache[k]
	if m, err := object.Scan([]byte(w.records[k])); !ok && uid != "" && (err != nil || m.UID != uid) {
		return nil
	}
	w.repairs = append(w.repairs, k.String())
	if _, known := w.firstOf[k.Kind]; !known && w.firstOf != nil {
		w.firstOf[k.Kind] = time.Since(w.began)
	}
	if ok {
		w.records[k] = raw
	} else {
		delete(w.records, k)
	}
	return nil
}

func (w *world) Idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.busy
}

func (w *world) Pending(k object.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked != nil {
		defer w.asked()
	}
	return w.pending[k]
}

func raw(version int, extra string) string {
	return fmt.Sprintf(`{"metadata":{"uid":"u","resourceVersion":"%d"}%s}`, version, extra)
}

func newWorld() *world {
	return &world{records: map[object.Key]string{}, cache: map[object.Key]string{}, pending: map[object.Key]bool{}, began: time.Now()}
}

func (w *world) synchronizer(t *testing.T, change func(*Config)) *Synchronizer {
	t.Helper()
	cfg := Default()
	cfg.PageSize = 2 // so that paging happens
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg, Settings{Storage: w, Cache: w, Pipeline: w, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runs runs s until the test ends.
func runs(t *testing.T, s *Synchronizer) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestRepairsWhatDiffers(t *testing.T) {
	gone := object.Key{Kind: "Pod", Namespace: "deleted-namespace", Name: "x"}
	for _, tc := range []struct {
		name  string
		setup func(*world)
		want  []string
	}{
		{"nothing", func(*world) {}, nil},
		{"equal", func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(5, "") }, nil},
		{"other key order", func(w *world) {
			w.cache[key("a")], w.records[key("a")] = `{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`
		}, nil},
		{"numbers as a database writes them", func(w *world) {
			w.cache[key("a")], w.records[key("a")] = `{"a":1.0,"b":[1e3,1.50]}`, `{"b":[1000,1.5],"a":1}`
		}, nil},
		{"missing", func(w *world) { w.cache[key("a")] = raw(5, "") }, []string{"Pod/team-a/a"}},
		{"older", func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(4, "") }, []string{"Pod/team-a/a"}},
		{"edited in place", func(w *world) {
			w.cache[key("a")], w.records[key("a")] = raw(5, ""), raw(5, `,"spec":{"x":1}`)
		}, []string{"Pod/team-a/a"}},
		{"leftover", func(w *world) { w.records[key("a")] = raw(5, "") }, []string{"Pod/team-a/a"}},
		{"leftover of what cannot be read", func(w *world) { w.records[key("a")], w.unreadable = raw(5, ""), "a" }, nil},
		{"leftover of a namespace that is gone", func(w *world) { w.records[gone] = raw(5, "") }, []string{gone.String()}},
		{"on its way", func(w *world) { w.cache[key("a")] = raw(5, ""); w.pending[key("a")] = true }, nil},
		{"skipped by an unsorted page", func(w *world) {
			w.cache[key("a")], w.records[key("a")], w.skip = raw(5, ""), raw(5, ""), key("a")
		}, nil},
		{"events are left alone", func(w *world) { w.records[object.Key{Kind: "Event", Namespace: "n", Name: "e"}] = raw(1, "") }, nil},
		{"broken record", func(w *world) { w.cache[key("a")], w.records[key("a")] = raw(5, ""), `{` }, []string{"Pod/team-a/a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld()
			for i := range 5 { // equal ones around it, over several pages
				k := key(fmt.Sprint("same", i, "-----"[:i]))
				w.cache[k], w.records[k] = raw(i, ""), raw(i, "")
			}
			tc.setup(w)
			s := w.synchronizer(t, nil)
			n, err := s.Once(t.Context())
			if err != nil || n != len(tc.want) {
				t.Errorf("%d repairs, error %v", n, err)
			}
			if series := testutil.CollectAndCount(s.metrics.repairs); series == 0 { // before it is asked for below
				t.Error("a kind that was compared has no counter of repairs: its first one would be no increase")
			}
			if counted := testutil.ToFloat64(s.metrics.repairs.WithLabelValues("Pod")); int(counted) != len(tc.want) {
				t.Errorf("%v repairs are counted, want %d", counted, len(tc.want))
			}
			if d := cmp.Diff(tc.want, w.repairs); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestRefusedRow: what storage refuses is offered again at each comparison, and no repair.
func TestRefusedRow(t *testing.T) {
	w := newWorld()
	for _, name := range []string{"poison", "sound"} {
		w.cache[key(name)] = raw(5, "")
	}
	w.refused = "poison"
	s := w.synchronizer(t, nil)
	if n, err := s.Once(t.Context()); n != 1 || err != nil || testutil.ToFloat64(s.metrics.repairs.WithLabelValues("Pod")) != 1 {
		t.Errorf("%d repairs, error %v; want that of the sound object", n, err)
	}
	if !slices.Contains(w.repairs, key("poison").String()) {
		t.Error("the refused object is not offered again: storage may take it by now")
	}
}

func TestRetiredKindsAreRemoved(t *testing.T) {
	w := newWorld()
	k := object.Key{Kind: "TFJob", Namespace: "n", Name: "j"}
	w.records[k] = raw(1, "")
	s := w.synchronizer(t, nil)
	s.Retire("TFJob")
	s.Retire("Pod") // which is watched again
	w.cache[key("a")], w.records[key("a")] = raw(1, ""), raw(1, "")
	if _, err := s.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, still := w.records[k]; still || len(w.records) != 1 {
		t.Errorf("left: %v", w.records)
	}
}

// TestCompareSoonDoesNotWaitForThePeriod: kinds that came or went are compared a second later,
// again while something is on its way for one of their objects, and then no more.
func TestCompareSoonDoesNotWaitForThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		gone := func(name string) object.Key { return object.Key{Kind: "TFJob", Namespace: "n", Name: name} }
		s := w.synchronizer(t, func(c *Config) { c.Period = time.Hour })
		runs(t, s)
		time.Sleep(2 * time.Second) // the first comparison is over
		set := func(change func()) {
			w.mu.Lock()
			defer w.mu.Unlock()
			change()
		}
		set(func() {
			w.records[gone("a")], w.records[gone("b")], w.records[key("left")] = raw(1, ""), raw(1, ""), raw(1, "")
			w.pending[gone("b")] = true
		})
		s.Retire("TFJob")
		s.CompareSoon("Pod")
		s.CompareSoon("Event") // never compared
		time.Sleep(1500 * time.Millisecond)
		set(func() {
			if _, still := w.records[gone("b")]; !still || len(w.records) != 1 {
				t.Errorf("after a second: %v, want only what something is on its way for", w.records)
			}
			delete(w.pending, gone("b"))
		})
		time.Sleep(1500 * time.Millisecond)
		set(func() {
			if len(w.records) != 0 {
				t.Errorf("after two more: %v", w.records)
			}
			w.records[gone("c")] = raw(1, "")
			w.pending[gone("c")] = true // for ever
			w.lists = 0
		})
		s.CompareSoon("TFJob")
		time.Sleep(10 * time.Minute)
		set(func() {
			if w.lists != soonTries {
				t.Errorf("%d lists of a kind that never settles, want %d", w.lists, soonTries)
			}
			w.fail, w.lists = errors.New("down"), 0
		})
		s.CompareSoon("TFJob")
		time.Sleep(10 * time.Minute)
		set(func() {
			if w.lists != 1 {
				t.Errorf("%d lists of a storage that fails, want 1: the rest is left to the period", w.lists)
			}
		})
	})
}

// TestCompareSoonWaitsForTheFirstList: a kind that is collected and not synced is not compared.
func TestCompareSoonWaitsForTheFirstList(t *testing.T) {
	w := newWorld()
	w.records[object.Key{Kind: "TFJob", Namespace: "n", Name: "j"}] = raw(1, "")
	s := w.synchronizer(t, nil)
	s.set.Cache = unsynced{w}
	s.CompareSoon("TFJob")
	if again := s.compareDue(t.Context()); !again || w.lists != 0 || len(w.records) != 1 {
		t.Errorf("again %v, %d lists, records %v", again, w.lists, w.records)
	}
}

// unsynced collects one kind more, whose first list is not complete.
type unsynced struct{ *world }

func (u unsynced) Collected(kind string) bool { return kind == "TFJob" || u.world.Collected(kind) }

func (unsynced) UnsyncedKinds() []string { return []string{"TFJob"} }

// TestALateFirstListIsNotLeftToThePeriod: a kind whose first list takes longer than the
// first comparison waits, even longer than a kind is tried, is compared when it is there.
func TestALateFirstListIsNotLeftToThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.records[key("deleted while nobody watched")] = raw(1, "")
		c := late{world: w, at: time.Now().Add(2 * soonTries * time.Second)}
		s := w.synchronizer(t, func(c *Config) { c.Period = time.Hour })
		s.set.Cache = c
		runs(t, s)
		time.Sleep(time.Until(c.at) - time.Millisecond)
		w.mu.Lock()
		if len(w.records) != 1 || w.lists != 0 {
			t.Errorf("before its list: records %v, %d lists", w.records, w.lists)
		}
		w.mu.Unlock()
		time.Sleep(2 * settle)
		w.mu.Lock()
		if len(w.records) != 0 {
			t.Errorf("two seconds after its list: records %v", w.records)
		}
		w.lists = 0
		w.mu.Unlock()
		time.Sleep(10 * time.Minute)
		w.mu.Lock()
		if w.lists != 0 {
			t.Errorf("%d lists after that, want none before the period is over", w.lists)
		}
		w.mu.Unlock()
	})
}

// late has the first list of Pods at a time.
type late struct {
	*world
	at time.Time
}

func (l late) SyncedKinds() []string {
	if time.Now().Before(l.at) {
		return nil
	}
	return l.world.SyncedKinds()
}

func (l late) UnsyncedKinds() []string {
	if time.Now().Before(l.at) {
		return l.world.SyncedKinds()
	}
	return nil
}

func TestOneNamespaceLeavesOthersAlone(t *testing.T) {
	w := newWorld()
	w.records[object.Key{Kind: "Pod", Namespace: "other", Name: "x"}] = raw(1, "")
	w.records[key("left")] = raw(1, "")
	if _, err := w.synchronizer(t, func(c *Config) { c.Namespace = "team-a" }).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Pod/team-a/left"}; !slices.Equal(w.repairs, want) {
		t.Errorf("repaired %v, want %v", w.repairs, want)
	}
}

// running is a synchronizer under way in virtual time.
type running struct {
	*world
	s *Synchronizer
}

func (w *world) run(t *testing.T, period time.Duration) running {
	t.Helper()
	s := w.synchronizer(t, func(c *Config) { c.Period = period })
	runs(t, s)
	return running{w, s}
}

// pass lets d pass, busy or not, and expects so many comparisons of the one kind.
func (r running) pass(t *testing.T, busy bool, d time.Duration, want int) {
	t.Helper()
	r.mu.Lock()
	before := r.lists
	r.busy = busy
	r.mu.Unlock()
	time.Sleep(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.lists - before; n != want {
		t.Errorf("%d comparisons in %s, want %d", n, d, want)
	}
}

// TestBusyPipelineKeepsThePeriod: comparisons look for a quiet moment, but no longer
// than the period allows, and what is urgent does not wait with them.
func TestBusyPipelineKeepsThePeriod(t *testing.T) {
	for _, period := range []time.Duration{2 * time.Second, 10 * time.Second, 5 * time.Minute} {
		t.Run(period.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newWorld().run(t, period)
				r.pass(t, true, settle+patience-time.Millisecond, 0)
				r.pass(t, true, 2*time.Millisecond, 1)
				for range 5 {
					r.pass(t, true, period, 1)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := newWorld().run(t, 5*time.Minute)
		r.pass(t, false, settle+time.Millisecond, 1)
		r.pass(t, true, time.Minute, 0)
		r.s.CompareSoon("Pod")
		r.pass(t, true, settle+time.Millisecond, 1)
		r.pass(t, true, 5*time.Minute-patience, 1) // the rest of the period, and a bit of the next
	})
}

// TestQuietMoment: a quiet pipeline is compared once per period, not before its end; one
// that was busy when it came near, as soon as it is quiet.
func TestQuietMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period = 5 * time.Minute
		r := newWorld().run(t, period)
		r.pass(t, false, settle+time.Millisecond, 1)
		r.pass(t, false, period-2*time.Millisecond, 0)
		r.pass(t, false, 2*time.Millisecond, 1)
		r.pass(t, true, period-patience/2, 0)
		r.pass(t, false, idlePoll, 1)
	})
}

// A removed record is back within one period, and a storage that fails a round only costs that round.
func TestRunHealsWithinOnePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.cache[key("a")] = raw(1, "")
		s := w.synchronizer(t, func(c *Config) { c.Period = 10 * time.Second })
		runs(t, s)
		time.Sleep(2 * time.Second)
		for i := range 3 {
			w.mu.Lock()
			if len(w.records) != 1 {
				t.Errorf("period %d: not repaired", i)
			}
			clear(w.records)
			w.fail = nil
			if i == 1 {
				w.fail = errors.New("down")
			}
			w.mu.Unlock()
			time.Sleep(10 * time.Second)
			if i == 1 {
				w.mu.Lock()
				w.fail = nil
				w.mu.Unlock()
				time.Sleep(10 * time.Second)
			}
		}
	})
}

// A storage that fails one read in ten let a round end at the first one, so that
// the leftovers behind it waited for a round without a failure.
func TestAFailedReadHoldsUpNoOtherRepair(t *testing.T) {
	failed := errors.New("read failed")
	for _, tc := range []struct {
		name                 string
		fail                 func(n int) bool
		repaired, gets, left int
	}{
		{"every third", func(n int) bool { return n%3 == 0 }, 6, 9, 3},
		{"two in a row", func(n int) bool { return n == 1 || n == 2 }, 7, 9, 2},
		{"all", func(int) bool { return true }, 0, mostFailures, 9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld()
			for i := range 9 {
				w.records[key(fmt.Sprint("leftover-", i))] = raw(5, "")
			}
			w.failGet = func(n int) error {
				if tc.fail(n) {
					return failed
				}
				return nil
			}
			repaired, _, err := w.synchronizer(t, func(c *Config) { c.PageSize, c.Reading = 100, 1 }).kind(t.Context(), "Pod")
			if !errors.Is(err, failed) {
				t.Errorf("error is %v, want the failed read", err)
			}
			if repaired != tc.repaired || w.gets != tc.gets || len(w.records) != tc.left {
				t.Errorf("%d repaired after %d reads, %d left; want %d after %d, %d left",
					repaired, w.gets, len(w.records), tc.repaired, tc.gets, tc.left)
			}
		})
	}
}

// TestChangedWhileItWasRead: a change that comes and is stored between the reading of a
// record and its answer is no difference, and its object no repair; nor is a deletion.
func TestChangedWhileItWasRead(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		w := newWorld()
		w.records[key("web")], w.cache[key("web")] = raw(1, ""), raw(1, `,"spec":{}`)
		w.reading = func() {
			if deleted {
				delete(w.records, key("web"))
				delete(w.cache, key("web"))
				return
			}
			w.records[key("web")], w.cache[key("web")] = raw(2, ""), raw(2, "")
		}
		n, err := w.synchronizer(t, nil).Once(t.Context())
		if n != 0 || err != nil || len(w.repairs) != 0 {
			t.Errorf("deleted %v: %d repairs %v, %v", deleted, n, w.repairs, err)
		}
	}
}

// TestChangedBeforeItWasRead: nor is one that comes when nothing was pending and is stored
// while the record, read before, is on its way.
func TestChangedBeforeItWasRead(t *testing.T) {
	w := newWorld()
	w.records[key("web")], w.cache[key("web")] = raw(1, ""), raw(1, `,"spec":{}`)
	w.asked = func() {
		w.cache[key("web")], w.pending[key("web")] = raw(2, ""), true
		w.asked = nil
	}
	w.reading = func() { w.records[key("web")], w.pending[key("web")] = raw(2, ""), false }
	n, err := w.synchronizer(t, nil).Once(t.Context())
	if n != 0 || err != nil || len(w.repairs) != 0 {
		t.Errorf("%d repairs %v, %v", n, w.repairs, err)
	}
}

// TestRepairsAreNotSerial: with 87 ms for each read, rows that must be read are repaired as
// many at a time as may be read, and no more.
func TestRepairsAreNotSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.latency = 87 * time.Millisecond
		for i := range 5000 { // a page does not prove that what is newer is wrong
			w.cache[key(fmt.Sprint(i))], w.records[key(fmt.Sprint(i))] = raw(1, ""), raw(2, "")
		}
		s := w.synchronizer(t, nil)
		begin := time.Now()
		n, err := s.Once(t.Context())
		if err != nil || n != 5000 {
			t.Errorf("%d repairs, %v", n, err)
		}
		least := 5000 / time.Duration(Default().Reading) * w.latency
		if took := time.Since(begin); took < least || took > least*11/10 {
			t.Errorf("5,000 rows took %s, want %s", took, least)
		}
	})
}

// TestHeartbeat: the row of a Node whose heartbeat was not sent does not differ, in
// whatever order storage keeps the keys; another change does.
func TestHeartbeat(t *testing.T) {
	node := func(version, beat, status, tail string) []byte {
		return fmt.Appendf(nil, `{"metadata":{"uid":"u","resourceVersion":%q},"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":%q,"status":%q}]}%s}`,
			version, beat, status, tail)
	}
	now := node("2", "b", "True", "")
	reordered := []byte(`{"status":{"conditions":[{"status":"True","type":"Ready","lastHeartbeatTime":"a"}]},"metadata":{"resourceVersion":"1","uid":"u"}}`)
	for _, tc := range []struct {
		name, kind string
		row        []byte
		same       bool
	}{
		{"an older heartbeat", "Node", node("1", "a", "True", ""), true},
		{"in another order", "Node", reordered, true},
		{"not ready", "Node", node("1", "a", "False", ""), false},
		{"one field more", "Node", node("1", "a", "True", `,"spec":{}`), false},
		{"no Node", "Machine", node("1", "a", "True", ""), false},
	} {
		if got := Same(tc.kind, tc.row, now); got != tc.same {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestSelectedOnly: a leftover that the selector does not select is another watcher's,
// and one that is relabelled while it is looked at.
func TestSelectedOnly(t *testing.T) {
	selector, err := labels.Parse("shard=a")
	if err != nil {
		t.Fatal(err)
	}
	labelled := func(shard string) string {
		return fmt.Sprintf(`{"metadata":{"uid":"u","resourceVersion":"1","labels":{"shard":%q}}}`, shard)
	}
	w := newWorld()
	w.records[key("a")], w.records[key("b")], w.records[key("none")] = labelled("a"), labelled("b"), raw(1, "")
	w.records[key("moved")] = labelled("a")
	s := w.synchronizer(t, func(c *Config) {
		c.PageSize, c.Reading, c.Selectors = 10, 1, map[string]labels.Selector{"Pod": selector}
	})
	w.failGet = func(int) error { w.records[key("moved")] = labelled("b"); return nil }
	if _, err := s.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Pod/team-a/a"}; !slices.Equal(w.repairs, want) {
		t.Errorf("removed %v, want %v", w.repairs, want)
	}
	// A kind of another group has the selector of its own kind.
	if s.ours("Pod.example.com", []byte(labelled("b"))) || !s.ours("Pod.example.com", []byte(labelled("a"))) || !s.ours("Node", []byte(labelled("b"))) {
		t.Error("the selector of a kind that is stored as Kind.group")
	}
}

// TestClusterScopeRow: where the kind has namespaces, or none is known, a record of the
// cluster scope is meant by its uid; without one it stays.
func TestClusterScopeRow(t *testing.T) {
	w := newWorld()
	s := w.synchronizer(t, nil)
	for _, tc := range []struct {
		key  object.Key
		raw  string
		uid  string
		goes bool
	}{
		{key("a"), raw(1, ""), "", true},
		{object.Key{Kind: "Pod", Name: "a"}, raw(1, ""), "u", true},
		{object.Key{Kind: "TFJob", Name: "a"}, raw(1, ""), "u", true},
		{object.Key{Kind: "TFJob", Name: "a"}, `{"metadata":{}}`, "", false},
	} {
		if x, goes := s.leftover(tc.key, []byte(tc.raw)); goes != tc.goes || x.uid != tc.uid {
			t.Errorf("%s: %v with uid %q, want %v with %q", tc.key, goes, x.uid, tc.goes, tc.uid)
		}
	}
	w.kinds = []string{"Node"}
	if x, goes := s.leftover(object.Key{Kind: "Node", Name: "a"}, []byte(raw(1, ""))); !goes || x.uid != "" {
		t.Errorf("a Node: %v with uid %q", goes, x.uid)
	}
}
