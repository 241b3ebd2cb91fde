package synchronizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// started runs a synchronizer to which the first list of Pods is given over.
func (w *world) started(t *testing.T, change func(*Config)) *Synchronizer {
	t.Helper()
	s := w.synchronizer(t, func(c *Config) {
		c.Period, c.PageSize = time.Hour, 500
		if change != nil {
			change(c)
		}
	})
	if !s.First("Pod") || s.First("Event") || s.First("ExportService") {
		t.Error("which first lists are taken over")
	}
	if got := s.Uncompared(); !slices.Equal(got, []string{"Pod"}) {
		t.Errorf("not compared yet: %v", got)
	}
	s.set.Complete = func() bool { return !w.incomplete }
	runs(t, s)
	return s
}

// TestFirstListSendsWhatDiffers: what storage has of a first list is not sent again, and what
// it lacks needs no read; leftovers go.
func TestFirstListSendsWhatDiffers(t *testing.T) {
	for _, n := range []int{10, many} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			for i := range n {
				w.cache[name(i)], w.records[name(i)] = raw(5, ""), raw(5, "")
			}
			delete(w.records, name(1))
			w.records[name(2)], w.records[name(3)], w.records[key("left")] = raw(4, ""), raw(6, ""), raw(1, "")
			s := w.started(t, nil)
			time.Sleep(time.Second / 2)
			w.mu.Lock()
			defer w.mu.Unlock()
			slices.Sort(w.repairs)
			if want := []string{key("left").String(), name(1).String(), name(2).String()}; !slices.Equal(w.repairs, want) {
				t.Errorf("of %d: handed over %v, want %v", n, w.repairs, want)
			}
			if most := 1 + n/leastBodies*20; w.gets > most {
				t.Errorf("of %d: %d records were read, want %d at most", n, w.gets, most)
			}
			if got := s.Uncompared(); len(got) != 0 {
				t.Errorf("of %d: not compared: %v", n, got)
			}
		})
	}
}

// TestFirstListIsComparedOnce: the first comparison of all kinds does not read again what was
// just compared; the one after the period does.
func TestFirstListIsComparedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.cache[name(1)], w.records[name(1)] = raw(5, ""), raw(5, "")
		w.started(t, nil)
		for _, tc := range []struct {
			pass  time.Duration
			lists int
		}{{time.Minute, 1}, {time.Hour, 2}} {
			time.Sleep(tc.pass)
			w.mu.Lock()
			if w.lists != tc.lists {
				t.Errorf("%d lists, want %d", w.lists, tc.lists)
			}
			w.mu.Unlock()
		}
	})
}

// TestSoonDuringAFirstList: what has a kind compared soon while its first list is being dealt with, as the late list
// of ReplicaSets does with Pods, is not left to the period.
func TestSoonDuringAFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.cache[name(1)], w.records[name(1)], w.cache[name(2)] = raw(5, ""), raw(5, ""), raw(5, "")
		w.spare = 2 * time.Second // before the repair of 2
		s := w.started(t, nil)
		time.Sleep(time.Second)
		w.mu.Lock()
		w.cache[name(1)] = raw(5, `,"spec":"the workload is known now"`)
		w.mu.Unlock()
		s.CompareSoon("Pod")
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if want := []string{name(2).String(), name(1).String()}; !slices.Equal(w.repairs, want) {
			t.Errorf("handed over %v, want %v", w.repairs, want)
		}
	})
}

// TestUnreadableStorage: after a minute without a comparison the first list is sent as it is;
// once storage can be read after all, the rest is not.
func TestUnreadableStorage(t *testing.T) {
	for _, tc := range []struct {
		name  string
		until time.Duration // when storage can be read
		sent  int
	}{
		{"soon", 20 * time.Second, 0},
		{"in the midst", firstPatience + 75*time.Second, 125},
		{"late", time.Hour, 300},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				for i := range 300 {
					w.cache[name(i)], w.records[name(i)] = raw(5, ""), raw(5, "")
				}
				w.fail = errors.New("unreadable")
				w.spare = 600 * time.Millisecond
				s := w.started(t, nil)
				time.Sleep(firstPatience - time.Second)
				if tc.until > firstPatience && len(s.Uncompared()) == 0 {
					t.Error("given up too early")
				}
				time.Sleep(time.Until(w.began.Add(tc.until)))
				w.mu.Lock()
				w.fail = nil
				w.mu.Unlock()
				time.Sleep(10 * time.Minute)
				if got := s.Uncompared(); len(got) != 0 {
					t.Errorf("not compared: %v", got)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if n := len(w.repairs); n < tc.sent-5 || n > tc.sent+5 {
					t.Errorf("%d of 300 objects were sent, want about %d", n, tc.sent)
				}
			})
		})
	}
}

// TestGoneWhileStorageIsSlow: rows of objects that are gone, as after a change of leader, are removed once the first
// list can be compared, however long that takes, and not a period later. Until then the kind is not compared.
func TestGoneWhileStorageIsSlow(t *testing.T) {
	const late = firstPatience + 30*time.Second
	for _, tc := range []struct {
		name  string
		page  time.Duration // that each takes
		fails time.Duration // until when they fail
	}{
		{"two pages take longer", late / 2, 0},
		{"lists fail", 0, late},
		{"lists fail for long", 0, 20 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.log, w.kinds = slog.DiscardHandler, []string{"Pod"}
				w.cache[name(1)], w.records[name(1)], w.records[name(2)] = raw(5, ""), raw(5, ""), raw(5, "")
				w.most = 250 // rows; the first page fails
				if tc.fails > 0 {
					w.fail = errors.New("unreadable")
				}
				s := w.begun(t, slow{world: w, kinds: w.kinds, list: tc.page})
				time.Sleep(max(late, tc.fails) - time.Second)
				if got := s.Uncompared(); !slices.Equal(got, w.kinds) || s.FirstSince("Pod").IsZero() {
					t.Errorf("not compared: %v, since %s", got, s.FirstSince("Pod"))
				}
				w.mu.Lock()
				w.fail = nil
				w.mu.Unlock()
				time.Sleep(firstRest + 2*time.Second)
				if got := s.Uncompared(); len(got) != 0 || !s.FirstSince("Pod").IsZero() {
					t.Errorf("not compared: %v, since %s", got, s.FirstSince("Pod"))
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if want := []string{name(1).String(), name(2).String()}; !slices.Equal(w.repairs, want) {
					t.Errorf("handed over %v, want %v", w.repairs, want)
				}
			})
		})
	}
}

// TestGoneCannotBeRead: nor are rows of objects that are gone left to the period when the list can be read and they
// cannot for a moment.
func TestGoneCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 40 {
			w.records[name(i)] = raw(5, "")
		}
		w.failGet = func(n int) error {
			if n <= mostFailures {
				return errors.New("unreadable")
			}
			return nil
		}
		w.started(t, nil)
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.records) != 0 {
			t.Errorf("%d of 40 rows are left", len(w.records))
		}
	})
}

// TestComesAgainUnreadable: what came with another list of the kind is sent, too, while storage cannot be read.
func TestComesAgainUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.fail, w.cache[name(1)] = errors.New("unreadable"), raw(5, "")
		s := w.started(t, nil)
		time.Sleep(10 * time.Minute)
		w.mu.Lock()
		w.cache[name(2)] = raw(6, "")
		w.mu.Unlock()
		s.First("Pod")
		time.Sleep(2 * firstPatience)
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Contains(w.repairs, name(2).String()) {
			t.Errorf("handed over %v", w.repairs)
		}
	})
}

// TestUnreadableRecords: of a first list, what seems to differ and cannot be read is sent.
func TestUnreadableRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 5 {
			w.cache[name(i)], w.records[name(i)] = raw(5, ""), raw(5, `,"spec":{}`)
		}
		w.failGet = func(int) error { return errors.New("unreadable") }
		w.started(t, nil)
		time.Sleep(time.Second / 2)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.repairs) != 5 {
			t.Errorf("%d of 5 objects were sent", len(w.repairs))
		}
	})
}

// TestUnreadableLeftovers: leftovers that cannot be read hold up nothing that storage lacks.
func TestUnreadableLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 40 {
			w.cache[name(i)], w.records[key(fmt.Sprint("left", i))] = raw(5, ""), raw(5, "")
		}
		w.failGet = func(int) error { return errors.New("unreadable") }
		w.started(t, nil)
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.repairs) != 40 {
			t.Errorf("%d of 40 missing objects were sent", len(w.repairs))
		}
	})
}

// TestFormerLife: a kind came back while deletions of its former objects were on their way.
// Its new ones are sent behind them.
func TestFormerLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.cache[name(1)], w.cache[name(2)], w.cache[name(3)] = raw(5, ""), raw(5, ""), raw(5, "")
		w.records[name(1)], w.records[name(3)] = `{"metadata":{"uid":"former","resourceVersion":"4"}}`, raw(5, "")
		w.pending[name(1)], w.pending[name(2)] = true, true
		w.started(t, nil)
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		slices.Sort(w.repairs)
		if want := []string{name(1).String(), name(2).String()}; !slices.Equal(w.repairs, want) {
			t.Errorf("handed over %v, want %v", w.repairs, want)
		}
	})
}

// TestMovedWhileDown: another version of the API has other bodies under the same resourceVersion.
func TestMovedWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.version = "example.com/v2"
		for i := range many {
			w.cache[name(i)], w.records[name(i)] = raw(5, `,"apiVersion":"example.com/v2"`), raw(5, `,"apiVersion":"example.com/v1"`)
		}
		w.started(t, nil)
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.repairs) != many {
			t.Errorf("%d of %d objects were sent", len(w.repairs), many)
		}
	})
}

// TestChangedRules: where records may have been written by other rules, first lists are
// compared whole, until the record of the kinds says that all was.
func TestChangedRules(t *testing.T) {
	w := newWorld()
	life := func(rules, remembered string, want int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			w.repairs = nil
			for i := range many {
				w.cache[name(i)] = raw(5, "")
			}
			w.started(t, func(c *Config) { c.Name, c.Rules = "k8s-watch", rules })
			time.Sleep(2 * time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.repairs) < want || want == 0 && len(w.repairs) > 4*leastBodies {
				t.Errorf("rules %s: %d objects were sent, want %d", rules, len(w.repairs), want)
			}
			var st state
			if err := json.Unmarshal([]byte(w.records[object.Key{Kind: StateKind, Name: "k8s-watch"}]), &st); err != nil || st.Rules != remembered {
				t.Errorf("remembered %+v, %v", st, err)
			}
		})
	}
	life("a", "a", many)
	for i := range many {
		w.records[name(i)] = raw(5, `,"spec":{"masked":true}`)
	}
	life("a", "a", 0) // as long as nobody says so, the same version is the same
	for i := range many {
		w.records[name(i)] = raw(5, `,"spec":{"masked":true}`)
	}
	w.incomplete = true // a kind may come later, with rows by the former rules
	life("b", "a", many)
	w.incomplete = false
	life("b", "b", 0)
}

// TestOwnersFirst: what depends on the owners' first list is compared after that.
func TestOwnersFirst(t *testing.T) {
	for _, listed := range []time.Duration{5 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.cache[name(1)] = raw(5, "")
			w.owners = time.Now().Add(listed)
			w.started(t, nil)
			wait := min(listed, ownersWait)
			time.Sleep(wait - time.Second/2)
			w.mu.Lock()
			if len(w.repairs) != 0 {
				t.Error("compared before the owners' list")
			}
			w.mu.Unlock()
			time.Sleep(time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.repairs) != 1 {
				t.Error(fmt.Sprint("not compared after ", wait))
			}
		})
	}
}

// TestComesAgain: a kind that comes again before its first list is dealt with is not compared yet.
func TestComesAgain(t *testing.T) {
	s := newWorld().synchronizer(t, nil)
	s.First("Pod")
	s.markCompared("Pod")
	s.First("Pod")
	if got := s.Uncompared(); !slices.Equal(got, []string{"Pod"}) {
		t.Errorf("not compared yet: %v", got)
	}
}

// asked is a Cache in which something happens while it is asked.
type asked struct {
	*world
	unsynced, collected func()
}

func (a asked) UnsyncedKinds() []string { a.unsynced(); return nil }

func (a asked) Collected(string) bool { a.collected(); return true }

// TestListedMeanwhile: a kind that is listed while it is asked which are not is not taken for compared.
func TestListedMeanwhile(t *testing.T) {
	w := newWorld()
	s := w.synchronizer(t, func(c *Config) { c.Rules = "new" })
	s.set.Complete = func() bool { return true }
	s.set.Cache = asked{world: w, unsynced: func() { s.First("Pod") }}
	if got := s.written(t.Context(), "old"); got != "old" {
		t.Errorf("all records count as written by the rules %q", got)
	}
}

// TestEndsMeanwhile: a kind that ended, came back and ends again while it is asked whether it is there stays retired.
func TestEndsMeanwhile(t *testing.T) {
	w := newWorld()
	s := w.synchronizer(t, nil)
	s.Retire("TFJob")
	ended := make(chan struct{})
	s.set.Cache = asked{world: w, collected: func() {
		go func() { s.Retire("TFJob"); close(ended) }()
		select {
		case <-ended:
		case <-time.After(50 * time.Millisecond): // it has to wait
		}
	}}
	s.due()
	<-ended
	if !s.state("TFJob").retired {
		t.Error("its records stay")
	}
}
