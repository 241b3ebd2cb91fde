package synchronizer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// recorded is the record of the kinds.
func (w *world) recorded(t *testing.T) (kinds, leaving string) {
	t.Helper()
	var st state
	if raw, ok := w.records[object.Key{Kind: StateKind, Name: "x"}]; ok {
		if err := json.Unmarshal([]byte(raw), &st); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(st.Kinds), fmt.Sprint(st.Leaving)
}

// remembering is a Synchronizer that remembers kinds, of a watcher that collects those.
func (w *world) remembering(t *testing.T, complete *bool, kinds ...string) *Synchronizer {
	t.Helper()
	w.kinds = kinds
	s := w.synchronizer(t, func(c *Config) { c.Name = "x" })
	s.set.Complete = func() bool { return *complete }
	return s
}

var job = object.Key{Kind: "TFJob", Namespace: "n", Name: "j"}

// TestKindThatEndedWhileNobodyWatched goes after two more comparisons, also when a
// process ends in between; while it is not known that all kinds are collected, it stays.
func TestKindThatEndedWhileNobodyWatched(t *testing.T) {
	w := newWorld()
	complete := true
	w.remembering(t, &complete, "Pod", "TFJob", "Event").compare(t.Context())
	if kinds, leaving := w.recorded(t); kinds != "[Pod TFJob]" || leaving != "[]" {
		t.Fatalf("recorded %s, leaving %s", kinds, leaving)
	}
	w.records[job] = raw(1, "")

	s := w.remembering(t, &complete, "Pod")
	complete = false
	for range 5 {
		s.compare(t.Context())
	}
	if kinds, leaving := w.recorded(t); kinds != "[Pod TFJob]" || leaving != "[]" || w.records[job] == "" {
		t.Errorf("before all kinds are known: recorded %s, leaving %s, record %q", kinds, leaving, w.records[job])
	}
	complete = true
	s.compare(t.Context())
	if kinds, leaving := w.recorded(t); kinds != "[Pod]" || leaving != "[TFJob]" {
		t.Errorf("recorded %s, leaving %s", kinds, leaving)
	}

	complete = false // again: it may come yet
	for range 5 {
		s.compare(t.Context())
	}
	if _, leaving := w.recorded(t); leaving != "[TFJob]" || w.records[job] == "" {
		t.Errorf("not all kinds are known any more: leaving %s, record %q", leaving, w.records[job])
	}
	complete = true

	s = w.remembering(t, &complete, "Pod")
	for i := range claimRounds {
		s.compare(t.Context())
		if w.records[job] == "" {
			t.Errorf("removed at comparison %d of the next process, nobody could claim the kind", i+1)
		}
	}
	for range 3 { // it is removed, nothing is found of it, and the record forgets it
		s.compare(t.Context())
	}
	if kinds, leaving := w.recorded(t); kinds != "[Pod]" || leaving != "[]" || w.records[job] != "" {
		t.Errorf("in the end recorded %s, leaving %s, record %q", kinds, leaving, w.records[job])
	}
	puts := len(w.records)
	s.compare(t.Context())
	if len(w.records) != puts {
		t.Errorf("records %v", w.records)
	}
}

// TestKindOfAnotherWatcher: of two that remember in one record each puts its kinds back,
// and neither removes the other's.
func TestKindOfAnotherWatcher(t *testing.T) {
	w := newWorld()
	complete := true
	one, other := w.remembering(t, &complete, "TFJob"), w.remembering(t, &complete, "Pod")
	w.records[job], w.cache[job] = raw(1, ""), raw(1, "")
	w.records[key("a")], w.cache[key("a")] = raw(1, ""), raw(1, "")
	for range 10 {
		w.kinds = []string{"TFJob"}
		one.compare(t.Context())
		w.kinds = []string{"Pod"}
		other.compare(t.Context())
	}
	if len(w.repairs) > 0 {
		t.Errorf("repairs: %v", w.repairs)
	}
	if kinds, leaving := w.recorded(t); kinds != "[Pod TFJob]" || leaving != "[]" {
		t.Errorf("recorded %s, leaving %s", kinds, leaving)
	}
}

// TestKindOfAWatcherThatComesBack: of two that remember in one record one was away for so
// long that its kind was removed. Back, it has its rows for good.
func TestKindOfAWatcherThatComesBack(t *testing.T) {
	w := newWorld()
	complete := true
	w.remembering(t, &complete, "TFJob").compare(t.Context())
	w.records[job] = raw(1, "")
	other := w.remembering(t, &complete, "Pod")
	for range claimRounds + 3 {
		other.compare(t.Context())
	}
	if w.records[job] != "" {
		t.Fatal("the rows of a kind that nobody claimed are there")
	}
	one := w.remembering(t, &complete, "TFJob")
	for i := range 5 {
		w.kinds, w.cache[job] = []string{"TFJob"}, raw(1, "")
		one.compare(t.Context())
		w.kinds = []string{"Pod"}
		delete(w.cache, job)
		other.compare(t.Context())
		if w.records[job] == "" {
			t.Errorf("removed again at comparison %d since the kind was put back", i+1)
		}
	}
	if kinds, leaving := w.recorded(t); kinds != "[Pod TFJob]" || leaving != "[]" {
		t.Errorf("recorded %s, leaving %s", kinds, leaving)
	}
}

// TestKindHandedToAnotherName: a kind that one watcher gave up is collected by watchers
// that remember under other names, as after a division by label. Its rows stay.
func TestKindHandedToAnotherName(t *testing.T) {
	w := newWorld()
	complete := true
	w.remembering(t, &complete, "Pod", "TFJob").compare(t.Context())
	w.records[job] = raw(1, "")
	w.records[object.Key{Kind: StateKind, Name: "x-half"}] = `{"kinds":["TFJob"],"leaving":[]}`
	s := w.remembering(t, &complete, "Pod")
	for range claimRounds {
		s.compare(t.Context())
	}
	w.fail = errors.New("down") // who claims the kind cannot be read
	s.compare(t.Context())
	if _, leaving := w.recorded(t); leaving != "[TFJob]" {
		t.Errorf("leaving %s while nobody knows who claims it", leaving)
	}
	w.fail = nil
	for range 3 {
		s.compare(t.Context())
	}
	if w.records[job] == "" {
		t.Error("the rows of a kind that another watcher collects were removed")
	}
	if kinds, leaving := w.recorded(t); kinds != "[Pod]" || leaving != "[]" {
		t.Errorf("recorded %s, leaving %s", kinds, leaving)
	}
}

// A storage that fails costs nothing but time, and a record that cannot be read is made again.
func TestRecordOfTheKindsThatFails(t *testing.T) {
	w := newWorld()
	complete := true
	w.remembering(t, &complete, "Pod", "TFJob").compare(t.Context())
	w.records[job] = raw(1, "")
	s := w.remembering(t, &complete, "Pod")
	w.fail = errors.New("down") // of lists and PUTs
	for range 5 {
		s.compare(t.Context())
	}
	if kinds, leaving := w.recorded(t); kinds != "[Pod TFJob]" || leaving != "[]" {
		t.Errorf("recorded %s, leaving %s", kinds, leaving)
	}
	w.fail = nil
	for range claimRounds + 2 {
		s.compare(t.Context())
	}
	if w.records[job] != "" {
		t.Error("what the kind left is there after the storage is")
	}
	w.records[object.Key{Kind: StateKind, Name: "x"}] = "{"
	s.compare(t.Context())
	if kinds, _ := w.recorded(t); kinds != "[Pod]" {
		t.Errorf("recorded %s", kinds)
	}
}

// TestKindIsNamedSoon: a kind that comes is in the record at once.
func TestKindIsNamedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		complete := true
		s := w.remembering(t, &complete, "Pod")
		runs(t, s)
		time.Sleep(2 * settle)
		w.mu.Lock()
		w.kinds = []string{"Pod", "TFJob"}
		w.mu.Unlock()
		s.First("TFJob")
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if kinds, leaving := w.recorded(t); kinds != "[Pod TFJob]" || leaving != "[]" {
			t.Errorf("recorded %s, leaving %s", kinds, leaving)
		}
	})
}

// TestNamedAfterAnOutage: a kind whose first list comes while storage is away is named once that list is compared, not
// a period later.
func TestNamedAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		complete := true
		s := w.remembering(t, &complete, "Pod")
		w.fail = errors.New("away")
		s.First("Pod")
		runs(t, s)
		time.Sleep(2*settle + settle/2)
		w.mu.Lock()
		w.fail = nil
		w.mu.Unlock()
		time.Sleep(2 * settle)
		w.mu.Lock()
		defer w.mu.Unlock()
		if kinds, _ := w.recorded(t); kinds != "[Pod]" {
			t.Errorf("recorded %s", kinds)
		}
	})
}

// TestNamedBeforeTheFirstRow: a kind's rows wait until the record names it, also of one that comes later, and not for
// ever if the record cannot be written.
func TestNamedBeforeTheFirstRow(t *testing.T) {
	for _, broken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			complete := true
			s := w.remembering(t, &complete, "Pod")
			set := func(kinds []string, err error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.kinds, w.fail = kinds, err
			}
			if broken {
				set([]string{"Pod"}, errors.New("refused"))
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			waits := func(kind string, want bool) {
				t.Helper()
				if got := s.Unnamed(kind); got != want {
					t.Errorf("broken %v: rows of %s wait: %v, want %v", broken, kind, got, want)
				}
			}
			waits("Pod", true)
			waits("Event", false)
			waits("Gone", false)
			time.Sleep(time.Second / 2)
			waits("Pod", broken)
			time.Sleep(nameWithin)
			waits("Pod", false)
			set([]string{"Pod", "TFJob"}, nil)
			waits("TFJob", true)
			time.Sleep(time.Second / 2)
			waits("TFJob", false)
			w.mu.Lock()
			if kinds, leaving := w.recorded(t); kinds != "[Pod TFJob]" || leaving != "[]" {
				t.Errorf("broken %v: recorded %s, leaving %s", broken, kinds, leaving)
			}
			w.mu.Unlock()
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			set([]string{"Pod", "TFJob", "Late"}, nil)
			waits("Late", false) // the pipeline drains, nobody names any more
		})
	}
}
