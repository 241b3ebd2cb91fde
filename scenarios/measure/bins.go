package measure

// leastBin is the width of a bin in nanoseconds, unless a cell is so long that it would have more than mostBins of
// them: some 70 minutes.
const (
	leastBin = int64(1e6)
	mostBins = 1 << 22
)

// bins count something per stretch of a cell's time.
type bins struct {
	from, width int64 // Unix nanoseconds, nanoseconds
	n           []int32
}

func newBins(from, to int64) bins {
	return bins{from: from, width: max(leastBin, (to-from)/mostBins+1)}
}

// index is the bin of a time; times before the first are in the first.
func (b *bins) index(at int64) int { return int(max(0, at-b.from) / b.width) }

// next is the first bin that begins at or after a time.
func (b *bins) next(at int64) int { return int((max(0, at-b.from) + b.width - 1) / b.width) }

func (b *bins) add(i int, by int32) {
	if i >= len(b.n) {
		b.n = append(b.n, make([]int32, i+1-len(b.n))...)
	}
	b.n[i] += by
}

// debts are how many objects were owed to storage: their changes were acknowledged by the apiserver, and storage had
// not yet acknowledged a state at least as new. Kept is the difference to the bin before, at the beginning of each bin.
type debts struct{ bins }

// owed adds an object that was owed for a time.
func (b *debts) owed(from, to int64) {
	if i, j := b.next(from), b.next(to); i < j {
		b.add(i, 1)
		b.add(j, -1)
	}
}

// over is how long at least n objects were owed, in seconds, and how many of the acknowledgements came in that time. It
// is decided at the beginning of each bin: a bin is not left out because an acknowledgement in it ends the backlog.
func (b *debts) over(n int, acks *bins) (seconds float64, acked int64) {
	level, windows := 0, 0
	for i, d := range b.n {
		if level += int(d); level < n {
			continue
		}
		windows++
		if i < len(acks.n) {
			acked += int64(acks.n[i])
		}
	}
	return float64(int64(windows)*b.width) / 1e9, acked
}
