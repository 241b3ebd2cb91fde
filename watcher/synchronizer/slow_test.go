package synchronizer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// slow is storage that takes so long for reads of some kinds and then gives up, if err is set.
type slow struct {
	*world
	kinds    []string
	list     time.Duration
	get      time.Duration
	listFail error
}

// hanging is storage whose reads are given up after so long without an answer.
func hanging(w *world, after time.Duration) slow {
	return slow{world: w, kinds: w.kinds, list: after, get: after, listFail: &storage.TransientError{Err: os.ErrDeadlineExceeded}}
}

func (s slow) List(ctx context.Context, kind, namespace, fields string, limit, offset int) ([]storage.Record, error) {
	if slices.Contains(s.kinds, kind) {
		if err := lifecycle.Pause(ctx, s.list); err != nil {
			return nil, err
		}
		if s.listFail != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.lists++
			return nil, s.listFail
		}
	}
	return s.world.List(ctx, kind, namespace, fields, limit, offset)
}

func (s slow) Get(ctx context.Context, k object.Key, uid string) (storage.Record, bool, error) {
	if s.get > 0 {
		if err := lifecycle.Pause(ctx, s.get); err != nil {
			return storage.Record{}, false, err
		}
		return storage.Record{}, false, &storage.TransientError{Err: os.ErrDeadlineExceeded}
	}
	return s.world.Get(ctx, k, uid)
}

// TestDrippingPages: storage whose pages drip, but answers small questions, holds up first
// lists for firstPatience, also those that wait for others to be read.
func TestDrippingPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := hundred(6)
		dripping := fmt.Errorf("%w: %w", storage.ErrTooSlow, os.ErrDeadlineExceeded)
		s := w.begun(t, slow{world: w, kinds: w.kinds, list: pageTime - time.Second, listFail: &storage.TransientError{Err: dripping}})
		time.Sleep(firstPatience + 2*time.Second)
		at := w.handed()
		if len(at) != 6 || len(s.Uncompared()) != 6 {
			t.Errorf("%d of 6 kinds had something handed over, not compared %v", len(at), s.Uncompared())
		}
	})
}

// TestOneSlowKind: a kind whose reads hang, or the record of the kinds if that cannot be read,
// is not taken for all of storage.
func TestOneSlowKind(t *testing.T) {
	hang := &storage.TransientError{Err: os.ErrDeadlineExceeded}
	for _, tc := range []struct {
		name string
		slow slow
		held []string // kinds that wait for firstPatience
	}{
		{"kind", slow{kinds: []string{"Kind000"}, list: 5 * time.Second, listFail: hang}, []string{"Kind000"}},
		{"record", slow{get: 5 * time.Second}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := hundred(40)
				for k, o := range w.cache {
					w.records[k] = o
				}
				tc.slow.world = w
				s := w.begun(t, tc.slow)
				time.Sleep(firstPatience - time.Second)
				if got := s.Uncompared(); !slices.Equal(got, tc.held) {
					t.Errorf("not compared: %v, want %v", got, tc.held)
				}
				if at := w.handed(); len(at) > 0 {
					t.Errorf("sent too early: %v", at)
				}
			})
		})
	}
}

// TestRecordOfAnotherThatCannotBeRead: whose kinds are not known, his rows stay.
func TestRecordOfAnotherThatCannotBeRead(t *testing.T) {
	w := newWorld()
	complete := true
	w.remembering(t, &complete, "Pod", "TFJob").compare(t.Context())
	w.records[job] = raw(1, "")
	other := object.Key{Kind: StateKind, Name: "x-half"}
	w.records[other] = `{"kinds":"TFJob"}`
	s := w.remembering(t, &complete, "Pod")
	for range claimRounds + 5 {
		s.compare(t.Context())
	}
	if _, leaving := w.recorded(t); leaving != "[TFJob]" || w.records[job] == "" {
		t.Errorf("leaving %s, record %q", leaving, w.records[job])
	}
	delete(w.records, other)
	for range 3 {
		s.compare(t.Context())
	}
	if _, leaving := w.recorded(t); leaving != "[]" || w.records[job] != "" {
		t.Errorf("when all can be read: leaving %s, record %q", leaving, w.records[job])
	}
}
