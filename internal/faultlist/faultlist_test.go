package faultlist_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/faultlist"
)

func TestWindow(t *testing.T) {
	const s = time.Second
	begin := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	for _, tc := range []struct {
		name   string
		window faultlist.Window
		now    time.Duration
		want   faultlist.Phase
	}{
		{"always", faultlist.Window{}, 5 * s, faultlist.Phase{Open: true, Began: at(0)}},
		{"before", faultlist.Window{From: 2 * s}, s, faultlist.Phase{Began: at(2 * s), Edge: at(2 * s)}},
		{"from its first moment on", faultlist.Window{From: 2 * s, For: s}, 2 * s, faultlist.Phase{Open: true, Began: at(2 * s), Edge: at(3 * s)}},
		{"not at its last", faultlist.Window{From: 2 * s, For: s}, 3 * s, faultlist.Phase{Began: at(2 * s)}},
		{"again", faultlist.Window{From: s, For: s, Every: 10 * s}, 21*s + 500*time.Millisecond,
			faultlist.Phase{Open: true, Began: at(21 * s), Edge: at(22 * s)}},
		{"between", faultlist.Window{From: s, For: s, Every: 10 * s}, 13 * s, faultlist.Phase{Began: at(11 * s), Edge: at(21 * s)}},
	} {
		if d := cmp.Diff(tc.want, tc.window.At(begin, at(tc.now))); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// TestWindowEdges: between two edges the answer does not change, at each it does.
func TestWindowEdges(t *testing.T) {
	w := faultlist.Window{From: 3 * time.Second, For: 2 * time.Second, Every: 7 * time.Second}
	begin := time.Unix(1000, 0)
	now := begin
	for range 20 {
		p := w.At(begin, now)
		if !p.Edge.After(now) {
			t.Fatalf("at %s: the next change is not later: %+v", now.Sub(begin), p)
		}
		if before := w.At(begin, p.Edge.Add(-1)); before.Open != p.Open {
			t.Fatalf("%+v changes before its edge", p)
		}
		if after := w.At(begin, p.Edge); after.Open == p.Open {
			t.Fatalf("%+v does not change at its edge", p)
		}
		now = p.Edge
	}
}
