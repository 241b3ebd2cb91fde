package measure

import (
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// waiting is a cell of one Pod with so many states that were all written before the first answer; between an answer and
// the next request lie so many ms. Late states are written only after the answer before.
func waiting(states, late int, gap float64) *evidence {
	e := crowd(1, 10)
	answered := 110.
	for i := range states + late {
		rv, written, received := uint64(i+2), 6., answered+gap
		if i%3 != 2 {
			received += 50 // waits for a core
		}
		if i >= states {
			written, received = answered+1, answered+2
		}
		e.ops = append(e.ops, op(oplog.TypePatch, "0", "u", rv, written, written, written))
		e.entries = append(e.entries, put("0", "u", rv, received, received+100))
		answered = received + 100
	}
	for i := range 10 { // of other Pods, which have one request each
		name := fmt.Sprint("other", i)
		e.ops = append(e.ops, op(oplog.TypePatch, name, "u"+name, uint64(1000+i), 6, 6, 6))
		e.entries = append(e.entries, put(name, "u"+name, uint64(1000+i), 300+0.01*float64(i), 400))
	}
	e.ops = append(e.ops, op(oplog.TypeDelete, "0", "u", 0, 6, 6, 6))
	gone := put("0", "u", 0, answered, answered+100) // after a terminating state that no operation stands for
	gone.Method, gone.Effect = "DELETE", "deleted"
	e.entries = append(e.entries, gone)
	e.cell.DrainEnd = at(answered + 200)
	return e
}

// TestGapIsTheWatchersOwn: what counts is the time from an answer to a request that was due by then.
func TestGapIsTheWatchersOwn(t *testing.T) {
	for _, tc := range []struct {
		name         string
		states, late int
		gap          float64
		want         float64 // ms; 0 is not known
	}{
		{"quick", 30, 0, 0.4, 0.4},
		{"2 ms more for each request", 30, 0, 2.4, 2.4},
		{"what was written after the answer says nothing", 30, 30, 2.4, 2.4},
		{"too few", 19, 30, 0.4, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := waiting(tc.states, tc.late, tc.gap).figures(t).Handler.GapSeconds
			if tc.want == 0 {
				if got != nil {
					t.Errorf("%v s of %d gaps", *got, tc.states)
				}
				return
			}
			approx(t, "gap", got, tc.want/1e3, 1e-6)
		})
	}
}
