package search

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// processes measures with the programs of bin, below a simulated apiserver.
type processes struct {
	t    *testing.T
	bins party.Binaries
	on   *cluster.Cluster
	out  string
}

func (p processes) Measure(ctx context.Context, f *spec.File) (*result.Results, error) {
	out, err := runner.Run(ctx, runner.Options{Scenario: f, Binaries: p.bins, Provider: spec.ProviderReplay,
		OutDir: p.out}, p.on)
	return out.Results, err
}

// drain is a valid measurement of a setting; one that is late is made once more.
func (p processes) drain(o Options, s Setting, seed uint64) float64 {
	p.t.Helper()
	f, err := o.Scenario.With(append(overrides(s), fmt.Sprintf("seed=%d", seed), "drainTimeout=40s")...)
	if err != nil {
		p.t.Fatal(err)
	}
	for range 2 {
		res, err := p.Measure(p.t.Context(), f)
		if err != nil {
			p.t.Fatal(err)
		}
		c := fromCell(&res.Cells[0])
		if len(c.Failed) > 0 {
			p.t.Fatalf("%s fails %v", s.Name(), c.Failed)
		}
		if c.Valid && c.Figures.Drain != nil {
			p.t.Logf("%s seed %d drains in %.2f s", s.Name(), seed, *c.Figures.Drain)
			return *c.Figures.Drain
		}
		p.t.Logf("%s: %s, cut %t", s.Name(), c.Reason, c.Cut)
	}
	return math.Inf(1)
}

// TestPlanted does with processes what TestPlantedInVirtualTime does in virtual time: a burst
// of 20,000 events into a storage that takes 40 requests at a time. The sweep is over the
// numbers of two strategies that are screened, one cell each; optimal is the smallest number
// of either whose drain is within 5 % of the lowest of both.
func TestPlanted(t *testing.T) {
	if !*whole {
		t.Skip("half an hour of processes; run it with -planted, after make build")
	}
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	bins, err := party.BinariesIn(bin)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := cluster.New(spec.ProviderReplay, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	up, err := provider.Up(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	p := processes{t, bins, up, t.TempDir()}
	o := options(t, nil, strings.Replace(burst, "mean=15ms,p99=30ms", "mean=12ms,p99=24ms", 1), "drain")
	o.Strategies, o.Queues = []string{partitioned, keyed}, Range{20, 96}
	o.Simulate = Virtual()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.Run(t.Context(), p, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Log(got.Sentence)
	if !got.Met {
		t.Fatal("nothing is recommended")
	}
	best := got.At(got.Best)
	drains, cells := map[string]map[int]float64{}, 0
	for _, strategy := range o.Strategies {
		drains[strategy] = map[int]float64{}
		for _, s := range x.space.rungs(strategy) {
			drains[strategy][s.Queues] = p.drain(o, s, x.base.Seed)
			cells++
		}
	}
	if got.Measured*5 > cells {
		t.Errorf("measured %d cells, the sweep %d", got.Measured, cells)
	}
	of, want, low, err := optimum(drains)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("recommended %s; the sweep's best of %d cells is %s %d, with %.2f s of a lowest of %.2f s", best.Name(), cells,
		of, want, drains[of][want], low)
	if !within(best.Queues, want) {
		t.Errorf("recommends %d queues, the sweep %d", best.Queues, want)
	}
	for seed := uint64(100); seed < 103; seed++ {
		if d := p.drain(o, best.Setting, seed); d > low*1.15 {
			t.Errorf("with seed %d it drains in %.2f s, more than 15 %% beyond the lowest of the sweep, %.2f s", seed, d, low)
		}
	}
}

// within reports whether a number is within 15 % of the optimum.
func within(got, want int) bool { return math.Abs(float64(got-want)) <= 0.15*float64(want) }

// optimum is the smallest number of all strategies of a sweep whose drain is within 5 % of the
// lowest of all. A cell of which nothing is known could be it: then there is none.
func optimum(drains map[string]map[int]float64) (strategy string, queues int, low float64, err error) {
	low = math.Inf(1)
	for name, swept := range drains {
		if worst := slices.Max(slices.Collect(maps.Values(swept))); math.IsInf(worst, 1) {
			return "", 0, 0, fmt.Errorf("a cell of %s has no valid measurement: nothing is optimal", name)
		}
		low = min(low, minimum(swept))
	}
	for name, swept := range drains {
		if n := smallest(swept, low*(1+tolerance)); n > 0 && (queues == 0 || n < queues) {
			strategy, queues = name, n
		}
	}
	return strategy, queues, low, nil
}

// TestOptimum: of all strategies, and of nothing where a cell is missing.
func TestOptimum(t *testing.T) {
	all := map[string]map[int]float64{partitioned: {20: 20, 40: 10.4, 60: 9}, keyed: {20: 12, 38: 6.2, 40: 6, 60: 6}}
	if of, n, low, err := optimum(all); of != keyed || n != 38 || low != 6 || err != nil {
		t.Errorf("%s %d, lowest %g, %v", of, n, low, err)
	}
	all[partitioned][20] = math.Inf(1)
	if _, _, _, err := optimum(all); err == nil {
		t.Error("a cell without a measurement is nothing")
	}
}
