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
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// climb puts the rungs of a ladder into the order in which they are written, since what one
// needs reports whether the next one fits the machine.
func climb(jobs []job, cells []spec.Cell) []job {
	place := func(j job) int { return slices.IndexFunc(cells, func(c spec.Cell) bool { return c.ID == j.cell.ID }) }
	slices.SortStableFunc(jobs, func(a, b job) int {
		return cmp.Or(cmp.Compare(a.rep, b.rep), cmp.Compare(place(a), place(b)))
	})
	return jobs
}

// unfit says why a rung of a ladder is not run, judging by the rungs before it; empty
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
	need := r.memoryFor(int64(s.Load.Prefill))
	have, err := r.opts.available()
	if err != nil || need <= have {
		return ""
	}
	return fmt.Sprintf("needs %.1f GiB, %.1f GiB are available", gib(need), gib(have))
}

// skip notes why a rung is not run. One that is to be run anew keeps the cell that it has.
func (r *Runner) skip(id, why string) error {
	r.forget(id)
	if !slices.ContainsFunc(r.results.Cells, func(c result.Cell) bool { return c.ID == id }) {
		r.results.Run.Skipped = append(r.results.Run.Skipped, result.Skip{ID: id, Why: why})
	}
	r.progress.skipped(id, why)
	return r.save()
}

// forget takes away the note that a rung was skipped.
func (r *Runner) forget(id string) {
	run := &r.results.Run
	run.Skipped = slices.DeleteFunc(run.Skipped, func(s result.Skip) bool { return s.ID == id })
}

func gib(bytes float64) float64 { return bytes / (1 << 30) }

// available is the memory that may still be used, in bytes.
func (o *Options) available() (float64, error) {
	if o.Memory > 0 {
		return o.Memory, nil
	}
	return procstat.MemoryAvailable()
}

// memoryFor estimates the memory of all parties for so many objects, in bytes: what they used
// at the largest size so far, at the least of its rates, and for each further object as much
// as from the size before to that one. 0 where fewer than two smaller sizes are known.
func (r *Runner) memoryFor(objects int64) float64 {
	used := map[int64]float64{}
	for i := range r.results.Cells {
		c := &r.results.Cells[i]
		sum := r.usedBy(c)
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

// usedBy is the most memory that the parties of a cell ever used, each since it began, in
// bytes. What results.json has of them begins with the load, after the first list, which takes
// the most; it is used only where the samples have nothing.
func (r *Runner) usedBy(c *result.Cell) (sum float64) {
	highest := map[string]float64{}
	for name, p := range c.Parties {
		highest[name] = p.RSSPeakMiB * (1 << 20)
	}
	samples, _ := history.LoadLines[history.Sample](history.CellDir(r.dir, c.ID), history.FileSamples)
	for _, s := range samples {
		for name, u := range s.Parties {
			highest[name] = max(highest[name], u.RSSBytes, u.RSSHighestBytes)
		}
	}
	for _, bytes := range highest {
		sum += bytes
	}
	return sum
}

// patience is a limit that grows with what exists before the load: a busy machine lists,
// sends or compares a thousand objects in a second.
func (c *site) patience(limit time.Duration) time.Duration {
	return limit + time.Duration(c.s.Load.Prefill)*time.Millisecond
}

// stored waits until storage has acknowledged what existed before the watcher, and notes
// when it was seen and what the watcher had used.
func (c *cell) stored(ctx context.Context) error {
	if c.s.Load.Prefill == 0 || c.s.Fault != nil || c.s.Load.Shards+c.s.Watcher.Replicas > 1 {
		return nil // of several watchers none has all, and faults may keep storage from it
	}
	d := drainWait{watcher: c.watcher, storage: c.storage}
	var all float64
	for deadline := time.Now().Add(c.patience(storedLimit)); time.Now().Before(deadline); {
		changes, busy, err := d.traffic(ctx)
		if err != nil {
			return err
		}
		if !busy && changes == all && changes >= float64(c.s.Load.Prefill) {
			c.record.Watcher.Stored = time.Now().UnixNano()
			c.record.Watcher.StoredCPU = c.cpuSoFar()
			return nil
		}
		all = changes
		if err := lifecycle.Pause(ctx, drainPoll); err != nil {
			return err
		}
	}
	return nil
}

// storedLimit is patience with few objects; what is not in storage then is for settle to
// find.
const storedLimit = 30 * time.Second
