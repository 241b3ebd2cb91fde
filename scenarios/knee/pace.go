package knee

import (
	"fmt"
	"math"
	"time"
)

// pace is what the cells so far took, by which the time left is estimated.
type pace struct {
	cells int
	spent time.Duration
}

func (p *pace) add(cells int, spent time.Duration) { p.cells, p.spent = p.cells+cells, p.spent+spent }

// left says how long so many cells take, with what separates it from the text before; empty
// before the first cell.
func (p *pace) left(cells int) string {
	if p.cells == 0 {
		return ""
	}
	return fmt.Sprintf("; about %s left", (p.spent / time.Duration(p.cells) * time.Duration(cells)).Round(time.Second))
}

// ahead is how many cells the search will likely take yet: one to bracket the knee, if it is
// not, those that halve the bracket, and one that confirms. Cells that do not agree take more.
func (f *finder) ahead() int {
	low, carried := f.carried()
	high, bounded := f.above(low)
	n := 0
	switch {
	case carried && bounded:
		n = halvings(high/low, f.Resolution)
	case carried && low >= mostRate:
	default:
		n = 1 + halvings(2, f.Resolution)
	}
	if n > 0 || len(f.tried[low]) < 2 {
		n++
	}
	return min(n, f.MaxCells-len(f.probes))
}

// later is how many cells the strategies that follow will likely take: two to bracket the knee,
// those that halve the bracket, one that confirms, and the final measurement.
func (f *finder) later() int {
	return f.follow * (min(3+halvings(2, f.Resolution), f.MaxCells) + f.Repeat)
}

// halvings is how often a bracket must be halved, by the geometric mean, until it is as narrow
// as the resolution asks.
func halvings(ratio, resolution float64) int {
	return max(0, int(math.Ceil(math.Log2(math.Log(ratio)/-math.Log(1-resolution)))))
}
