package tune

import (
	"context"
	"fmt"
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
	out, err := runner.Run(ctx, runner.Options{Scenario: f, Binaries: p.bins, Provider: spec.ProviderReplay, OutDir: p.out}, p.on)
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
// of the strategy that is recommended whose drain is within 5 % of its lowest.
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
	o.Simulate, o.Measurer = Virtual(), p
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	x.Use(p, func(line string) { t.Log(line) })
	got, err := x.Run(t.Context())
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
		for _, s := range x.rungs(strategy) {
			drains[strategy][s.Queues] = p.drain(o, s, x.base.Seed)
			cells++
		}
	}
	if got.Measured*5 > cells {
		t.Errorf("measured %d cells, the sweep %d", got.Measured, cells)
	}
	swept := drains[best.Strategy]
	bound := minimum(swept) * (1 + tolerance)
	want := smallest(swept, bound)
	t.Logf("recommended %s; the sweep's best of %d cells is %s %d, with %.2f s of a lowest of %.2f s", best.Name(), cells, best.Strategy, want, swept[want], minimum(swept))
	if math.Abs(float64(best.Queues-want)) > 0.15*float64(want) {
		t.Errorf("recommends %d queues, the sweep %d", best.Queues, want)
	}
	var fresh []float64
	for seed := uint64(100); seed < 103; seed++ {
		fresh = append(fresh, p.drain(o, best.Setting, seed))
	}
	if worst := slices.Max(fresh); worst > minimum(swept)*1.15 {
		t.Errorf("with fresh seeds it drains in %.2f s, more than 15 %% beyond the lowest of the sweep, %.2f s", worst, minimum(swept))
	}
}
