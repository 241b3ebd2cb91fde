package gate

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestPowerOfRecordedBlocks draws gates of 16 blocks, as many as watchbench gate makes by default, from recorded
// blocks of a watcher against itself: as they are, and with 5 % more CPU planted.
func TestPowerOfRecordedBlocks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pairsDir, "aa-4*.json.zst")) // cells of 5 s, as gate.yaml has them
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]result.Cell
	var from *result.Results
	for _, file := range files {
		from = readPair(t, file)
		for cells := range slices.Chunk(from.Cells, 4) {
			blocks = append(blocks, cells)
		}
	}
	if len(blocks) < 16 {
		t.Fatalf("%d blocks are recorded in %v, want 16 at least", len(blocks), files)
	}
	const gates = 200
	for _, c := range []struct {
		name        string
		cpu         float64
		least, most int // that FAIL
	}{{"the same", 1, 0, 2}, {"5 % more CPU", 1.05, gates * 9 / 10, gates}} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 28))
			outcomes := map[Outcome]int{}
			for range gates {
				outcomes[mustPaired(t, drawn(rng, from, blocks, c.cpu)).Outcome]++
			}
			t.Logf("%v of %d gates", outcomes, gates)
			if n := outcomes[Fail]; n < c.least || n > c.most {
				t.Errorf("%d of %d FAIL, want %d to %d", n, gates, c.least, c.most)
			}
		})
	}
}

// drawn makes a run of 16 blocks, in which each side is as often NEW as the other: what a recorded half had more of
// by chance is no regression.
func drawn(rng *rand.Rand, from *result.Results, blocks [][]result.Cell, cpu float64) *result.Results {
	res := *from
	res.Cells, res.Run.Order = nil, nil
	for k := range 16 {
		swap := rng.IntN(2) == 1
		rep := map[string]int{"base": 2 * k, "new": 2 * k}
		for _, c := range blocks[rng.IntN(len(blocks))] {
			side := c.Params["watcher"]
			if swap {
				side = map[string]string{"base": "new", "new": "base"}[side]
			}
			rep[side]++
			c.Repetition, c.ID = rep[side], side+"-r"+strconv.Itoa(rep[side])
			c.Params = map[string]string{"watcher": side}
			if side == "new" {
				per := *c.Watcher.CPUMicrosPerEvent * cpu
				c.Watcher.CPUMicrosPerEvent = &per
			}
			res.Cells, res.Run.Order = append(res.Cells, c), append(res.Run.Order, c.ID)
		}
	}
	return &res
}
