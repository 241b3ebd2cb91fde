package runner

import (
	"strconv"
	"testing"

	"github.com/watchbench/watchbench/watcher/pipeline"
)

// TestCellsHaveTheSamePartitions: with four queues the number of a cell, which is part of each namespace, moves no object
// to another queue relative to the others.
func TestCellsHaveTheSamePartitions(t *testing.T) {
	r := &Runner{short: "p72fo"}
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		r.jobs = append(r.jobs, job{id: id})
	}
	names := []string{"web-dzbxs4tlfr-2t2d4", "hot-web-w2c2jqxm54-dn7x2", "api", "worker-1"}
	queue := func(cell, name string) int {
		return pipeline.PartitionOf("watchbench-"+r.cellRunID(cell)+"-0", name, 4)
	}
	seen := map[string]bool{}
	for _, j := range r.jobs {
		if seen[r.cellRunID(j.id)] = true; len(r.cellRunID(j.id)) > 32 {
			t.Errorf("%s is too long", r.cellRunID(j.id))
		}
		for _, n := range names {
			if queue(j.id, n) != queue("a", n) {
				t.Errorf("%s is in queue %d of cell %s, and in %d of cell a", n, queue(j.id, n), j.id, queue("a", n))
			}
		}
	}
	if len(seen) != len(r.jobs) {
		t.Errorf("%d names of %d cells", len(seen), len(r.jobs))
	}
}

// TestCellsHaveNamesOfTheirOwn: also of a run with more than a thousand cells.
func TestCellsHaveNamesOfTheirOwn(t *testing.T) {
	r, seen := &Runner{short: "p72fo"}, map[string]bool{}
	for i := range 1200 {
		r.jobs = append(r.jobs, job{id: strconv.Itoa(i)})
	}
	for _, j := range r.jobs {
		seen[r.cellRunID(j.id)] = true
	}
	if len(seen) != len(r.jobs) {
		t.Errorf("%d names of %d cells", len(seen), len(r.jobs))
	}
}
