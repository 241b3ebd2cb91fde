package gate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// noise is that of cells on a busy machine: each is related to the one before, some are
// slowed much, and all drift over the run.
type noise struct {
	sigma, related, outliers, outlier, drift float64
	// machine slows all processes of a cell alike; without it, cells do not tell what the others used.
	machine float64
}

// usual is about what cells on two shared cores show.
var usual = noise{sigma: 0.025, related: 0.4, outliers: 0.05, outlier: 0.25, drift: 0.08}

// stream gives one factor per cell, in the order of time.
func (n noise) stream(rng *rand.Rand, count int) func() float64 {
	last, i := rng.NormFloat64(), 0
	return func() float64 {
		last = n.related*last + math.Sqrt(1-n.related*n.related)*rng.NormFloat64()
		l := n.sigma*last + n.drift*float64(i)/float64(count)
		if i++; rng.Float64() < n.outliers {
			l += n.outlier * rng.ExpFloat64()
		}
		return math.Exp(l)
	}
}

// planted is what the change does.
type planted struct {
	cpu, fresh, drain, qps, gap, storage float64 // factors; 0 is 1
	requests                             float64 // more per event
	others                               float64 // factor of the CPU time of generator and storage
}

func orOne(v float64) float64 {
	if v == 0 {
		return 1
	}
	return v
}

// record is a run of a seeded plan. sides is what the cells are called, in order of time; of a saved run, all are "".
func record(rng *rand.Rand, n noise, sides []string, reps []int, loads []string, p planted) *result.Results {
	res := &result.Results{
		Schema: result.Schema,
		Run:    result.Run{ID: "run", Scenario: "synthetic", Started: time.Unix(1e9, 0).UTC(), Finished: time.Unix(1e9+600, 0).UTC(), Seed: 42},
		Environment: result.Environment{
			Commit: "0123456789abcdef", GoVersion: "go1.26.0", Provider: "replay", Kubernetes: "v1.36.3", CPUModel: "Made-up Processor 9000", CPUs: 2, MemoryMiB: 7945,
			Kernel: "6.12.0", Programs: map[string]string{"watchbench": "aa", "storagemock": "bb", "k8s-watch": "dd"},
		},
		Scenario: map[string]any{"apiVersion": "watchbench/v1", "repeat": float64(len(sides)), "load": map[string]any{"operations": float64(2000)}},
	}
	count := len(sides) * len(loads)
	cpu, fresh, drain, qps := n.stream(rng, count), n.stream(rng, count), n.stream(rng, count), n.stream(rng, count)
	gap := n.stream(rand.New(rand.NewPCG(uint64(count), 8)), count)
	for i, side := range sides {
		for _, load := range loads {
			var q planted
			if side != BaseSide {
				q = p
			}
			id := fmt.Sprintf("%s-r%d", load, reps[i])
			params := map[string]string{"load": load}
			if side != "" {
				id, params[Axis] = fmt.Sprintf("%s-%s-r%d", load, side, reps[i]), side
			}
			at := func(v float64) *float64 { return &v }
			slow := math.Exp(n.machine * rng.NormFloat64())
			pass := func() result.Check { return result.Check{Verdict: result.Pass, Judged: 2000} }
			res.Cells = append(res.Cells, result.Cell{
				ID: id, Params: params, Repetition: reps[i], Valid: true,
				Load:      result.Load{Model: "closed", Threads: 10, DurationS: 10, Planned: 2000, Done: 2000, QPS: 200},
				Handler:   result.Handler{Strategy: "partitioned", Queues: 30, Workers: 30, Capacity: 1024, DrainSeconds: at(10 * drain() * orOne(q.drain)), GapSeconds: at(0.0003 * gap() * orOne(q.gap))},
				Storage:   result.Storage{Requests: int64(2000 * (1 + q.requests)), QPS: at(200 / qps() * orOne(q.qps)), RequestsPerEvent: at(1 + q.requests), BytesPerEvent: at(3072 * (1 + q.requests)), SeenMs: &result.Quantiles{Count: 2000, P50: 90 * orOne(q.storage)}},
				Events:    &result.Events{Received: 2000, Sent: 2000},
				Freshness: &result.Quantiles{Count: 2000, P50: 0.05 * fresh() * orOne(q.fresh), P90: 0.1, P99: 0.2, Max: 0.3},
				Watcher: result.Watcher{CPUSeconds: at(0.4), CPUMicrosPerEvent: at(200 * slow * cpu() * orOne(q.cpu)), RSSPeakMiB: at(40),
					AllocsPerEvent: at(120 + 0.1*rng.Float64()), Lists: new(int64(2)), Watches: new(int64(4))},
				Checks: map[string]result.Check{"G1": pass(), "G2": pass(), "G3": pass(), "G4": pass(), "G5": pass(), "G6": pass()},
			})
			if n.machine > 0 {
				used := func(s float64) result.Party {
					return result.Party{CPUSeconds: at(s * slow * orOne(q.others) * math.Exp(n.sigma*rng.NormFloat64()))}
				}
				res.Cells[len(res.Cells)-1].Parties = map[string]result.Party{"generator": used(0.3), "storagemock": used(0.5)}
			}
			res.Run.Order = append(res.Run.Order, id)
		}
	}
	return res
}

// paired is a run of blocks A B B A, each begun by the side that the seed draws.
func paired(seed uint64, n noise, blocks int, p planted, loads ...string) *result.Results {
	rng := rand.New(rand.NewPCG(seed, 5))
	var sides []string
	var reps []int
	for k := range blocks {
		a, b := BaseSide, NewSide
		if rng.IntN(2) == 0 {
			a, b = b, a
		}
		sides = append(sides, a, b, b, a)
		reps = append(reps, 2*k+1, 2*k+1, 2*k+2, 2*k+2)
	}
	if len(loads) == 0 {
		loads = []string{"light"}
	}
	return record(rng, n, sides, reps, loads, p)
}

// saved are two runs of separate sessions.
func saved(seed uint64, n noise, repeats int, p planted) (base, changed *result.Results) {
	run := func(id string, seed uint64, p planted) *result.Results {
		var reps []int
		for k := range repeats {
			reps = append(reps, k+1)
		}
		res := record(rand.New(rand.NewPCG(seed, 6)), n, make([]string, repeats), reps, []string{"light"}, p)
		res.Run.ID = id
		return res
	}
	return run("base-1", 2*seed, planted{}), run("new-1", 2*seed+1, p)
}

// deep is a copy that shares nothing.
func deep(t testing.TB, res *result.Results) *result.Results {
	t.Helper()
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	var again result.Results
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	return &again
}

func mustPaired(t testing.TB, res *result.Results) *Verdict {
	t.Helper()
	v, err := Paired(res, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustSaved(t testing.TB, base, changed *result.Results) *Verdict {
	t.Helper()
	v, err := Saved(base, changed, nil, Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// finding is that of a metric or an invariant; it must be there.
func finding(t testing.TB, v *Verdict, name string) *Finding {
	t.Helper()
	for _, list := range [][]Finding{v.Metrics, v.Invariants} {
		if i := slices.IndexFunc(list, func(f Finding) bool { return f.Name == name }); i >= 0 {
			return &list[i]
		}
	}
	t.Fatalf("nothing was found of %s", name)
	return nil
}
