package tune

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/reports/result"
)

// beyondQueues is how many rungs of the ladder at each side of the answer its map has.
const beyondQueues = 3

// byLength plays the strategy of the answer with each length, each with numbers of queues
// around the answer: what shorter queues would come to. The search has no part in it, so that
// what was decided stands.
func (x *Search) byLength(ctx context.Context, best Setting) (*result.TuningLengths, error) {
	m := &result.TuningLengths{Strategy: best.Strategy, Lengths: mapped(x.o.Lengths)}
	numbers := []int{0}
	if numbered(best.Strategy) {
		m.Queues = around(ladder(x.o.Queues), best.Queues)
		numbers = m.Queues
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, length := range m.Lengths {
		row := make([]*float64, len(numbers))
		m.Values = append(m.Values, row)
		for i, n := range numbers {
			s := Setting{Strategy: best.Strategy, Queues: n, WriterLen: best.WriterLen, HandlerLen: length}
			if x.beyond(s) != "" {
				continue
			}
			g.Go(func() error {
				f, err := x.simulate(ctx, s, 0)
				if err != nil {
					return err
				}
				c := &candidate{set: s, by: []Figures{f}}
				if x.exclude(c); c.excluded == "" {
					row[i] = x.o.Objective.of(&f)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return m, nil
}

// mapped are lengths four times one another, and both ends.
func mapped(r Range) (steps []int) {
	for n := r.Low; n < r.High; n *= 4 {
		steps = append(steps, n)
	}
	return append(steps, r.High)
}

// around are the steps next to a number, and the number.
func around(steps []int, n int) (near []int) {
	i := 0
	for i < len(steps) && steps[i] < n {
		i++
	}
	near = append(near, steps[max(0, i-beyondQueues):i]...)
	near = append(near, n)
	if i < len(steps) && steps[i] == n {
		i++
	}
	return append(near, steps[i:min(len(steps), i+beyondQueues)]...)
}
