package runner

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// jobsOf lists the cells of all repetitions in the order in which they are run.
//
// Cells that are compared run next to each other: those that differ only in the axis of a pair or, where the scenario
// decides, in their watcher. Such groups are shuffled by the seed, and run in reverse order the next time, so that a
// drift of the machine does not always hit the same one. The two repetitions of a pair's block (A B B A or B A A B)
// have nothing else between them. A ladder keeps the order in which it is written. What is not repeated is in the first
// repetition.
func jobsOf(f *spec.File) (jobs []job) {
	base := f.Base()
	groups, length := grouped(f.Cells(), base), block(base)
	var sequence []int
	for round := range (base.Repeat + length - 1) / length {
		rng := rand.New(rand.NewPCG(base.Seed, uint64(round+1)))
		if sequence == nil || round%2 == 0 {
			sequence = rng.Perm(len(groups))
		} else {
			slices.Reverse(sequence)
		}
		if base.Ladder {
			slices.Sort(sequence)
		}
		for _, i := range sequence {
			side := slices.Clone(groups[i])
			rng.Shuffle(len(side), func(a, b int) { side[a], side[b] = side[b], side[a] })
			for rep := round*length + 1; rep <= (round+1)*length; rep++ {
				for _, c := range side {
					if rep == 1 || !c.Once {
						jobs = append(jobs, newJob(c, rep, base.Repeat))
					}
				}
				slices.Reverse(side)
			}
		}
	}
	return jobs
}

// block is how many repetitions belong together.
func block(base spec.Scenario) int {
	if base.Pair != "" {
		return 2
	}
	return 1
}

// grouped puts cells together that are compared.
func grouped(cells []spec.Cell, base spec.Scenario) (groups [][]spec.Cell) {
	within := func(p spec.Param) bool {
		return p.Name == base.Pair || base.Decide.On() && result.OfWatcher(p.Name)
	}
	others := func(c spec.Cell) []spec.Param { return slices.DeleteFunc(slices.Clone(c.Params), within) }
	for _, c := range cells {
		i := slices.IndexFunc(groups, func(g []spec.Cell) bool {
			return slices.ContainsFunc(c.Params, within) && slices.Equal(others(g[0]), others(c))
		})
		if i < 0 {
			groups = append(groups, []spec.Cell{c})
		} else {
			groups[i] = append(groups[i], c)
		}
	}
	return groups
}

func newJob(c spec.Cell, rep, repeat int) job {
	j := job{cell: c, id: c.ID, rep: rep}
	if repeat > 1 {
		j.id += "-r" + strconv.Itoa(rep)
	}
	return j
}

// byOrder sorts cells as the run has them.
func (r *Runner) byOrder(a, b result.Cell) int {
	return cmp.Compare(slices.Index(r.results.Run.Order, a.ID), slices.Index(r.results.Run.Order, b.ID))
}

// What a guess of a cell's length takes for granted, of two CPUs; corrected by the cells already run.
const (
	cellOverhead = 4 * time.Second // start, sync, check, tear down
	// writeOverhead is the time each write adds where an apiserver removes what it made, by the runs of docs/published.md.
	writeOverhead = 5 * time.Millisecond
	guessedRate   = 700.0                 // writes per second of a closed loop
	guessedAnswer = 10 * time.Millisecond // of one write, before the thread thinks
)

// expect guesses the length of a cell: its load, the backlog of Pods by Little's law, and what is done with its record.
func expect(s spec.Scenario) time.Duration {
	load, events := extent(&s)
	drain := 0.0
	if mean := s.Storage.MeanLatency(podKind).Seconds(); mean > 0 && s.Watcher.Command == "" {
		senders := float64(s.Largest().Concurrency())
		if c := s.Storage.Capacity.Inflight; c > 0 {
			senders = min(senders, float64(c))
		}
		drain = max(0, events*mean/senders-load)
	}
	drain = min(drain, s.DrainTimeout.Std().Seconds())
	beside := 0.0
	if !s.Simulated() {
		beside = events * writeOverhead.Seconds()
	}
	return cellOverhead + time.Duration((load+drain+beside)*float64(time.Second))
}

// extent is how many seconds a load takes, and how many writes it makes.
func extent(s *spec.Scenario) (seconds, events float64) {
	l := s.Load
	seconds = l.Duration.Std().Seconds()
	events = l.Rate * seconds
	if l.Model == result.ModelClosed {
		rate := min(guessedRate, float64(l.Threads)/(guessedAnswer+l.ThinkTime.Std()).Seconds())
		events = rate * seconds
		if n := float64(l.Operations); n > 0 && (seconds == 0 || n < events) {
			events, seconds = n, n/rate
		}
	}
	if s.Simulated() {
		seconds = s.Speed().Length(l.Duration.Std()).Seconds() // events stay as many
	}
	return seconds, events
}
