package view_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pod(name, uid string, version uint64) *object.Object {
	return &object.Object{Key: object.Key{Kind: "Pod", Namespace: "a", Name: name}, UID: uid, ResourceVersion: version, Raw: fmt.Appendf(nil, `{"n":%q}`, name)}
}

func synced(objects ...*object.Object) *view.View {
	v := view.New(view.Config{})
	var all []view.Difference
	for _, o := range objects {
		all = append(all, view.Difference{Now: o})
	}
	v.Replaced(all, 100, time.Now())
	return v
}

// TestAnotherObjectOfTheName is a deletion and an addition, each with a version of its own:
// who resumes between the two misses neither.
func TestAnotherObjectOfTheName(t *testing.T) {
	old, now := pod("p", "1", 50), pod("p", "2", 110)
	v := synced(old)
	c := must(v.Follow(100))
	v.Changed(old, now, 110, time.Now())
	got, version, err := c.Poll(make([]view.Change, 0, 9))
	if err != nil || len(got) != 2 || got[0].Type != view.Deleted || got[0].Object != old || got[0].Version != 109 || got[1].Type != view.Added || got[1].Version != 110 || version != 110 {
		t.Fatalf("%v %d %v", got, version, err)
	}
	again, _ := v.Follow(109)
	if rest, _, _ := again.Poll(make([]view.Change, 0, 9)); len(rest) != 1 || rest[0].Object != now {
		t.Errorf("after 109: %v", rest)
	}
	if s := v.Stats(); s.Objects != 1 || s.Bytes != int64(now.Size()) {
		t.Errorf("%+v", s)
	}
}

// TestGroupsOfOneVersion: while a part of the changes of one version is still to be delivered,
// a reader does not know everything up to that version.
func TestGroupsOfOneVersion(t *testing.T) {
	v := synced(pod("a", "1", 50), pod("b", "2", 50), pod("c", "3", 50), pod("d", "4", 50))
	c := must(v.Follow(100))
	for _, change := range []struct {
		name    string
		version uint64
	}{{"a", 101}, {"b", 105}, {"c", 105}, {"d", 105}} { // an etcd lease that expired
		s, _ := v.Snapshot()
		o, _ := s.Get(view.Name{Namespace: "a", Name: change.name})
		v.Changed(o, nil, change.version, time.Now())
	}
	for i, want := range []uint64{101, 104, 104, 105} {
		got, version, err := c.Poll(make([]view.Change, 0, 1))
		if err != nil || len(got) != 1 || version != want {
			t.Errorf("change %d: %v up to %d, want %d, %v", i, got, version, want, err)
		}
	}
}

// TestReadersWakeUp: a waiting reader learns of a change, of the end, and of its own ctx.
func TestReadersWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := synced()
		c, _ := v.Follow(100)
		type answer struct {
			n   int
			err error
		}
		answers := make(chan answer, 1)
		next := func(ctx context.Context) {
			changes, _, err := c.Next(ctx, make([]view.Change, 0, 4))
			answers <- answer{len(changes), err}
		}
		go next(t.Context())
		synctest.Wait()
		v.Changed(nil, pod("p", "1", 101), 101, time.Now())
		if a := <-answers; a.n != 1 || a.err != nil {
			t.Errorf("%+v", a)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		go next(ctx)
		synctest.Wait()
		gone := errors.New("gone")
		cancel(gone)
		if a := <-answers; !errors.Is(a.err, gone) {
			t.Errorf("%+v", a)
		}
		go func() { answers <- answer{0, v.WaitFor(t.Context(), 120)} }()
		go next(t.Context())
		synctest.Wait()
		v.Advance(119)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(answers) != 0 {
			t.Error("somebody was served by version 119")
		}
		v.Advance(120)
		if a := <-answers; a.err != nil {
			t.Errorf("%+v", a)
		}
		v.End()
		if a := <-answers; !errors.Is(a.err, view.ErrEnded) {
			t.Errorf("%+v", a)
		}
		if err := v.WaitFor(t.Context(), 121); !errors.Is(err, view.ErrEnded) {
			t.Error(err)
		}
	})
}

// TestOlderListStartsAnew: after a backup was restored, versions are lower.
func TestOlderListStartsAnew(t *testing.T) {
	v := synced(pod("p", "1", 50))
	v.Changed(pod("p", "1", 50), pod("p", "1", 200), 200, time.Now())
	v.Replaced([]view.Difference{{Old: pod("p", "1", 200), Now: pod("p", "1", 60)}}, 70, time.Now())
	s, err := v.Snapshot()
	if err != nil || s.Version != 70 {
		t.Fatalf("%+v %v", s, err)
	}
	c := must(v.Follow(70))
	v.Changed(pod("p", "1", 60), pod("p", "1", 71), 71, time.Now())
	if got, _, err := c.Poll(make([]view.Change, 0, 4)); err != nil || len(got) != 1 || got[0].Version != 71 {
		t.Errorf("%v %v", got, err)
	}
	if _, err := v.Follow(69); !errors.Is(err, view.ErrExpired) {
		t.Errorf("before the list: %v", err)
	}
}

// TestVersionsThatWereTakenBack are of a history that an older list has ended: who comes back
// with one must list, and not wait until the new history is as long.
func TestVersionsThatWereTakenBack(t *testing.T) {
	v := synced(pod("p", "1", 50))
	v.Changed(pod("p", "1", 50), pod("p", "1", 200), 200, time.Now())
	v.Replaced([]view.Difference{{Old: pod("p", "1", 200), Now: pod("p", "1", 60)}}, 70, time.Now())
	for _, version := range []uint64{71, 200} {
		if _, err := v.Follow(version); !errors.Is(err, view.ErrExpired) {
			t.Errorf("follow %d: %v", version, err)
		}
	}
	if _, err := v.Follow(201); err != nil { // of another server of the cluster, which is ahead
		t.Error(err)
	}
	v.Advance(71)
	if _, err := v.Follow(71); err != nil {
		t.Error(err)
	}
}

// TestOlderListWithoutDifferences starts anew as well: its versions can be followed.
func TestOlderListWithoutDifferences(t *testing.T) {
	v := synced(pod("p", "1", 50))
	v.Changed(nil, pod("q", "2", 150), 150, time.Now())
	v.Changed(pod("q", "2", 150), nil, 200, time.Now())
	v.Replaced(nil, 70, time.Now())
	c := must(v.Follow(70))
	v.Changed(nil, pod("r", "3", 71), 71, time.Now())
	if got, version, err := c.Poll(make([]view.Change, 0, 4)); err != nil || len(got) != 1 || version != 71 {
		t.Errorf("%v %d %v", got, version, err)
	}
}

// TestWhatAReaderKnows is up to the last change that it has got, and from the future on only what is newer.
func TestWhatAReaderKnows(t *testing.T) {
	v := synced()
	c, _ := v.Follow(100)
	ahead, _ := v.Follow(102)
	for i := range uint64(3) {
		v.Changed(nil, pod(fmt.Sprint("p", i), "1", 101+i), 101+i, time.Now())
	}
	before, _ := v.Snapshot()
	v.Advance(110)
	if s, err := v.Snapshot(); err != nil || s.Version != 110 || before.Version != 103 {
		t.Errorf("snapshots at %d and %d, %v", before.Version, s.Version, err)
	}
	for _, want := range []uint64{102, 110} {
		if got, version, err := c.Poll(make([]view.Change, 0, 2)); len(got) == 0 || version != want || err != nil {
			t.Errorf("%v %d %v, want up to %d", got, version, err, want)
		}
	}
	if got, _, err := ahead.Poll(make([]view.Change, 0, 9)); len(got) != 1 || got[0].Version != 103 || err != nil {
		t.Errorf("ahead: %v %v", got, err)
	}
}

// TestSlowIndexes are not waited for by a goroutine for each change.
func TestSlowIndexes(t *testing.T) {
	v := synced()
	hold, held := make(chan struct{}), make(chan struct{}, 100)
	i := v.IndexBy("held", func(*object.Object) []string { held <- struct{}{}; <-hold; return nil })
	s, _ := v.Snapshot()
	if _, err := i.Find(t.Context(), s, "x", func() {}); err != nil {
		t.Fatal(err)
	}
	v.Changed(nil, pod("p", "1", 101), 101, time.Now())
	<-held
	before := runtime.NumGoroutine()
	for n := range uint64(20) {
		v.Changed(nil, pod(fmt.Sprint("p", n), "1", 102+n), 102+n, time.Now())
		time.Sleep(10 * time.Millisecond) // more than readers are made to wait
	}
	if n := runtime.NumGoroutine() - before; n > 2 {
		t.Errorf("%d goroutines wait for the index", n)
	}
	close(hold)
	if _, err := i.Find(t.Context(), s, "x", func() {}); err != nil {
		t.Fatal(err)
	}
}

// TestFindInAnOlderSnapshot: many lookups in a snapshot from before the index was built, or from before the
// window, look at each object a bounded number of times.
func TestFindInAnOlderSnapshot(t *testing.T) {
	for _, changes := range []uint64{1, 3 * view.DefaultWindow} {
		var all []*object.Object
		for n := range 100 {
			all = append(all, pod(fmt.Sprint("p", n), "1", 50))
		}
		v := synced(all...)
		looks := 0
		i := v.IndexBy("name", func(o *object.Object) []string { looks++; return []string{o.Key.Name} })
		s := must(v.Snapshot())
		for n := range changes {
			v.Changed(all[0], pod("p0", "1", 101+n), 101+n, time.Now())
		}
		for n := range 100 {
			if found, err := i.Find(t.Context(), s, fmt.Sprint("p", n), func() {}); err != nil || len(found) != 1 || found[0] != all[n] {
				t.Fatal(n, found, err)
			}
		}
		if looks > 201 {
			t.Errorf("%d changes: looked at %d objects, want 201 at most", changes, looks)
		}
	}
}

// TestIndexReaderGivesUp: a second reader of an index that is being built has its own deadline.
func TestIndexReaderGivesUp(t *testing.T) {
	v := synced()
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	i := v.IndexBy("held", func(*object.Object) []string { held <- struct{}{}; <-hold; return nil })
	v.Changed(nil, pod("p", "1", 101), 101, time.Now())
	s, _ := v.Snapshot()
	first := make(chan error, 1)
	go func() {
		_, err := i.Find(t.Context(), s, "x", func() {})
		first <- err
	}()
	<-held
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	second := make(chan error, 1)
	go func() {
		_, err := i.Find(ctx, s, "x", func() {})
		second <- err
	}()
	cancel(gone)
	select {
	case err := <-second:
		if !errors.Is(err, gone) {
			t.Errorf("%v, want the cause of its context's end", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the second reader waits for the first one beyond its own context")
	}
	close(hold)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestWindowIsBoundedByBytes, which the states before keep alive.
func TestWindowIsBoundedByBytes(t *testing.T) {
	v := view.New(view.Config{WindowBytes: 10_000})
	v.Replaced(nil, 1, time.Now())
	old := pod("p", "1", 2)
	old.Raw = make([]byte, 1000)
	v.Changed(nil, old, 2, time.Now())
	for i := range uint64(100) {
		now := pod("p", "1", 3+i)
		now.Raw = make([]byte, 1000)
		v.Changed(old, now, 3+i, time.Now())
		old = now
	}
	if _, err := v.Follow(102 - 11); !errors.Is(err, view.ErrExpired) {
		t.Errorf("more than 10 versions of 1000 bytes are kept: %v", err)
	}
	if _, err := v.Follow(102 - 9); err != nil {
		t.Errorf("9 versions back: %v", err)
	}
}

func BenchmarkChanged(b *testing.B) {
	for _, read := range []bool{false, true} {
		b.Run(fmt.Sprintf("read=%t", read), func(b *testing.B) {
			v := view.New(view.Config{})
			objects := make([]*object.Object, 100_000)
			var all []view.Difference
			for i := range objects {
				objects[i] = pod(fmt.Sprint("pod-", i), fmt.Sprint(i), 1)
				all = append(all, view.Difference{Now: objects[i]})
			}
			v.Replaced(all, 1, time.Now())
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				at := i * 7919 % len(objects)
				now := *objects[at]
				now.ResourceVersion = uint64(i + 2)
				v.Changed(objects[at], &now, now.ResourceVersion, time.Time{})
				objects[at] = &now
				if read {
					if _, err := v.Snapshot(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// must is the value of a call that does not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
