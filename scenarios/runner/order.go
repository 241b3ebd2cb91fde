package runner

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// jobsOf are all cells of a scenario in the order in which they are run.
func jobsOf(f *spec.File) []job {
	base := f.Base()
	jobs := order(f.Cells(), base)
	if base.Ladder {
		jobs = climb(jobs, f.Cells())
	}
	return jobs
}

// order lists the cells of all repetitions. The first is shuffled by the seed, the second
// is the first in reverse, the third is shuffled anew, and so on: a drift of the machine
// does not always hit the same strategy, and none is always before another. What is not to
// be repeated is in the first.
//
// What a scenario decides between runs next to each other: shuffled are the points that differ in more than
// their watcher, and then the watchers of each.
//
// Where the scenario has a pair, what is shuffled and reversed are blocks of two
// repetitions: the pair's cells at one point of the other axes, A B B A or B A A B as the
// seed draws, so that a steady drift hits both alike and nothing else runs in between.
func order(cells []spec.Cell, base spec.Scenario) []job {
	var jobs []job
	var sequence []int
	units, length := grouped(cells, within(base)), block(base)
	for round := range (base.Repeat + length - 1) / length {
		rng := rand.New(rand.NewPCG(base.Seed, uint64(round+1)))
		if round%2 == 1 {
			slices.Reverse(sequence)
		} else {
			sequence = rng.Perm(len(units))
		}
		starts := make([]bool, len(units)) // B first; by unit, so that it does not depend on the sequence
		for i := range starts {
			starts[i] = base.Pair != "" && rng.IntN(2) == 1
		}
		for _, i := range sequence {
			side := slices.Clone(units[i])
			if starts[i] {
				slices.Reverse(side)
			}
			if base.Decide.On() {
				rng.Shuffle(len(side), func(a, b int) { side[a], side[b] = side[b], side[a] })
			}
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

// within says of axes whether cells that differ in them alone run next to each other.
func within(base spec.Scenario) func(axis string) bool {
	return func(axis string) bool {
		return base.Pair != "" && axis == base.Pair || base.Decide.On() && result.OfWatcher(axis)
	}
}

// grouped puts the cells together that differ in such axes alone.
func grouped(cells []spec.Cell, within func(axis string) bool) (units [][]spec.Cell) {
	others := func(c spec.Cell) []spec.Param {
		return slices.DeleteFunc(slices.Clone(c.Params), func(p spec.Param) bool { return within(p.Name) })
	}
	for _, c := range cells {
		i := slices.IndexFunc(units, func(u []spec.Cell) bool {
			return slices.ContainsFunc(c.Params, func(p spec.Param) bool { return within(p.Name) }) &&
				slices.Equal(others(u[0]), others(c))
		})
		if i < 0 {
			units = append(units, []spec.Cell{c})
		} else {
			units[i] = append(units[i], c)
		}
	}
	return units
}

func newJob(c spec.Cell, rep, repeat int) job {
	j := job{cell: c, id: c.ID, rep: rep}
	if repeat > 1 {
		j.id += "-r" + strconv.Itoa(rep)
	}
	return j
}
