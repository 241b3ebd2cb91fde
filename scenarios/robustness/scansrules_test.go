package robustness

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestScanProbes: each probe counts, also one that is still not answered when the readers end.
func TestScanProbes(t *testing.T) {
	after := func(ms time.Duration) func(context.Context) (time.Duration, error) {
		return func(ctx context.Context) (time.Duration, error) {
			select {
			case <-time.After(ms * time.Millisecond):
				return ms * time.Millisecond, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	}
	for _, tc := range []struct {
		name    string
		ask     func(context.Context) (time.Duration, error)
		failed  string
		vacuous string
	}{
		{"answered", after(5), "", ""},
		{"too slow", after(300), "slowest probe", ""},
		{"none is answered before the end", after(9000), "slowest probe", "asked for 1 times; at least 5"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second+50*time.Millisecond)
				defer cancel()
				s := &scanned{For: 4, Readers: slowSeen{Answers: map[int]int64{200: leastScans}}}
				s.probe(ctx, tc.ask)
				good := &scanned{For: 1, Probes: 8, Readers: s.Readers}
				c := matrixtest.Case(&spec.Fault{}, spec.Event{What: queryScans})
				for _, deeds := range [][]*scanned{{s}, {s, good}} {
					c.Deeds = nil
					for _, d := range deeds {
						c.Deeds = append(c.Deeds, matrixtest.Deed(t, queryScans, 1, d))
					}
					failed, why := matrixtest.Failed(t, c, scans{}.rules)
					if got := strings.Join(failed, ","); (got == "") != (tc.failed == "") || !strings.Contains(got, tc.failed) {
						t.Errorf("%d deeds: failed %q, want %q", len(deeds), got, tc.failed)
					}
					if (why == "") != (tc.vacuous == "") || !strings.Contains(why, tc.vacuous) {
						t.Errorf("%d deeds: vacuous %q, want %q", len(deeds), why, tc.vacuous)
					}
				}
			})
		})
	}
}
