package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// climb puts the rungs of a ladder into the order in which they are written, since what one
// needs tells whether the next fits the machine.
func climb(jobs []job, cells []spec.Cell) []job {
	place := func(j job) int { return slices.IndexFunc(cells, func(c spec.Cell) bool { return c.ID == j.cell.ID }) }
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Or(cmp.Compare(a.rep, b.rep), cmp.Compare(place(a), place(b))) })
	return jobs
}

// unfit says why a rung of a ladder is not run, by what the rungs before it came to; empty
// for one that fits, or of which nothing is known.
func (r *Runner) unfit(s *spec.Scenario) string {
	if !s.Ladder {
		return ""
	}
	if s.Speed().Limited() {
		rate := s.Speed().Rate(s.Load.Rate)
		for _, c := range r.results.Cells {
			if c.Valid && c.Load.OfferedQPS == nil && rate > c.Load.QPS {
				return fmt.Sprintf("needs %.0f events/s, %.0f were reached without a limit (%s)", rate, c.Load.QPS, c.ID)
			}
		}
	}
	need := memoryFor(r.results.Cells, int64(s.Load.Prefill))
	have, err := r.opts.available()
	if err != nil || need <= have {
		return ""
	}
	return fmt.Sprintf("needs %.1f GiB, %.1f GiB are available", gib(need), gib(have))
}

func gib(bytes float64) float64 { return bytes / (1 << 30) }

// available is the memory that may still be used, in bytes.
func (o *Options) available() (float64, error) {
	if o.Memory > 0 {
		return o.Memory, nil
	}
	return procstat.MemoryAvailable()
}

// memoryFor is what all parties together need for so many objects, in bytes: what they used
// at the largest size so far, at the least of its rates, and for each further object as much
// as from the size before to that one. 0 where fewer than two smaller sizes are known.
func memoryFor(cells []result.Cell, objects int64) float64 {
	used := map[int64]float64{}
	for _, c := range cells {
		sum := 0.0
		for _, p := range c.Parties {
			sum += p.RSSPeakMiB * (1 << 20)
		}
		if least, known := used[c.Load.Prefill]; sum > 0 && (!known || sum < least) {
			used[c.Load.Prefill] = sum
		}
	}
	sizes := make([]int64, 0, len(used))
	for n := range used {
		if n < objects {
			sizes = append(sizes, n)
		}
	}
	if slices.Sort(sizes); len(sizes) < 2 {
		return 0
	}
	small, large := sizes[len(sizes)-2], sizes[len(sizes)-1]
	each := max(0, used[large]-used[small]) / float64(large-small)
	return used[large] + each*float64(objects-large)
}

// patience is a limit that grows with what exists before the load: a busy machine lists,
// sends or compares a thousand objects in a second.
func (c *cell) patience(limit time.Duration) time.Duration {
	return limit + time.Duration(c.s.Load.Prefill)*time.Millisecond
}

// stored waits until storage has acknowledged what existed before the watcher, and notes
// when it was seen and what the watcher had used.
func (c *cell) stored(ctx context.Context) error {
	if c.s.Load.Prefill == 0 || !c.watcher.Own || c.s.Fault != nil || c.s.Load.Shards+c.s.Watcher.Replicas > 1 {
		return nil // of several watchers none has all, and faults may keep storage from it
	}
	d := drainWait{watcher: c.watcher, storage: c.storage}
	for deadline := time.Now().Add(c.patience(storedLimit)); time.Now().Before(deadline); {
		a, err := d.look(ctx)
		if err != nil {
			return err
		}
		if a.settled && a.requests >= float64(c.s.Load.Prefill) {
			c.record.Watcher.Stored = time.Now().UnixNano()
			c.record.Watcher.StoredCPU = c.cpuSoFar()
			return nil
		}
		if err := lifecycle.Pause(ctx, a.pause()); err != nil {
			return err
		}
	}
	return nil
}

// storedLimit is patience with few objects; what is not in storage then is for settle to
// find.
const storedLimit = 30 * time.Second
