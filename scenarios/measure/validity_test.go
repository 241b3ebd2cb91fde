package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

func TestInvalid(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*result.Cell, *grounds)
		want   string // part of the only reason; "" is valid
		late   bool   // it is about time
	}{
		{"fine", func(*result.Cell, *grounds) {}, "", false},
		{"few events", func(c *result.Cell, _ *grounds) { c.Load.Done = 79 }, "79 of 100 planned writes succeeded (79%); at least 80% are needed", false},
		{"no event", func(c *result.Cell, _ *grounds) { c.Load.Done = 0 }, "no write of the load succeeded", false},
		{"late generator", func(c *result.Cell, _ *grounds) { c.Load.LagMs.P99 = 251 }, "the generator was 251 ms late (p99); the limit is 250 ms", true},
		{"late in a closed loop is no defect", func(c *result.Cell, _ *grounds) { c.Load.Model, c.Load.LagMs.P99 = result.ModelClosed, 900 }, "", false},
		{"slow generator", func(c *result.Cell, _ *grounds) { c.Load.QPS = 9.8 }, "9.8 writes/s were achieved of 10.0 offered (98.0%)", true},
		{"a generator that paused", func(_ *result.Cell, g *grounds) { g.busy = ptr(0.4) }, "waited for the apiserver in only 40% of the load's time; at least 50% are needed", false},
		{"a generator at work", func(_ *result.Cell, g *grounds) { g.busy = ptr(0.88) }, "", false},
		{"nothing stored", func(c *result.Cell, _ *grounds) { c.Storage.Requests = 0 }, "storage acknowledged no request", false},
		{"stalled machine", func(c *result.Cell, _ *grounds) { c.Storage.SeenMeanMs = ptr(101) }, "storage answered after 101.0 ms on average instead of 87.0 ms, at most 100.0 ms are believed", true},
		{"a machine at work", func(c *result.Cell, _ *grounds) { c.Storage.SeenMeanMs = ptr(98) }, "", false},
		{"a short latency", func(c *result.Cell, _ *grounds) { c.Storage.LatencyMeanMs, c.Storage.SeenMeanMs = 5, ptr(12) }, "12.0 ms on average instead of 5.0 ms", true},
		{"a long tail has a wide mean", func(c *result.Cell, g *grounds) { c.Storage.SeenMeanMs, g.deviationMs = ptr(140), ptr(280) }, "", false},
		{"slow periods", func(c *result.Cell, g *grounds) { c.Storage.SeenMeanMs, g.deviationMs = ptr(140), nil }, "", false},
		{"queueing for capacity is no stall", func(c *result.Cell, g *grounds) { c.Storage.SeenMeanMs, g.limited = ptr(146), true }, "", false},
		{"queue metrics that contradict themselves", func(c *result.Cell, _ *grounds) { c.Handler.LittleDiscrepancy = ptr(0.2) }, "mean depth and rate × mean wait of Pod_3 differ by 20%", false},
		{"vacuous fault", func(c *result.Cell, g *grounds) {
			c.Faults, g.faults = map[string]int64{"503": 4}, []string{"503", "reset"}
		}, "the fault reset never fired", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &result.Cell{
				Load:    result.Load{Model: result.ModelOpen, Planned: 100, Done: 100, QPS: 10, OfferedQPS: ptr(12), PlannedQPS: ptr(10), LagMs: &result.Quantiles{P99: 3}},
				Storage: result.Storage{Requests: 100, LatencyMeanMs: 87, SeenMeanMs: ptr(87.5), SeenMs: &result.Quantiles{Count: 400}},
				Handler: result.Handler{LittleDiscrepancy: ptr(0.02)},
			}
			g := grounds{limits: testLimits, littleQueue: "Pod_3", deviationMs: ptr(9)}
			tc.change(c, &g)
			got, behind := invalid(c, g)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if tc.late != (len(behind) == 1) || tc.late && behind[0] != got[0] {
				t.Errorf("about time: %q", behind)
			}
		})
	}
}

// TestTailsAreBelieved: a storage that serves what it was told to is taken for a stalled machine in few cells, however
// heavy the tail, and one that takes half as long again is found out where so many draws can tell.
func TestTailsAreBelieved(t *testing.T) {
	const cells, requests = 400, 150
	for text, found := range map[string]int{ // cells, at least
		"150ms": cells, "lognormal(mean=150ms,p99=187.5ms)": cells, "lognormal(mean=150ms,p99=450ms)": cells,
		"lognormal(mean=150ms,p99=1500ms)": cells / 8, "mix(0.99=20ms,0.01=2s)": 0,
	} {
		g := groundsOf(&Figures{cell: &history.Cell{Planned: 1, Scenario: spec.Scenario{Storage: spec.Storage{Latency: text}}}}, "")
		var refused, slow int
		for seed := range uint64(cells) {
			m, err := behavior.ParseModel(text, seed+100)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for range requests {
				sum += float64(m.Sample("PUT", podKind, "", time.Time{})) / 1e6
			}
			seen := func(mean float64) int {
				c := &result.Cell{Load: result.Load{Planned: 1, Done: 1}, Storage: result.Storage{
					Requests: requests, LatencyMeanMs: float64(m.Mean("PUT", podKind)) / 1e6, SeenMeanMs: &mean, SeenMs: &result.Quantiles{Count: requests},
				}}
				why, _ := invalid(c, g)
				return len(why)
			}
			refused += seen(sum / requests)
			slow += seen(1.5 * sum / requests)
		}
		if refused > cells/100 || slow < found {
			t.Errorf("%s: ± %.1f ms, %d of %d refused, %d at 1.5 times", text, *g.deviationMs, refused, cells, slow)
		}
	}
}

// TestPausesAreNoGenerator: threads that are told to pause are not at work all the time.
func TestPausesAreNoGenerator(t *testing.T) {
	for _, tc := range []struct {
		name   string
		load   plan.Load
		judged bool
	}{
		{"no pause", plan.Load{}, true},
		{"think time", plan.Load{ThinkTime: spec.Duration(95e6)}, false},
		{"stage gap", plan.Load{StageGap: spec.Duration(95e6)}, false},
		{"a lifecycle that pauses", plan.Load{StageGap: 1e9}, false},
	} {
		e := backlog(0) // one thread writes for 5 ms of each 100
		e.cell.Planned = 0
		tc.load.Model, tc.load.Threads = result.ModelClosed, 1
		e.cell.Scenario.Load.Load = tc.load
		if c := e.figures(t); c.Valid == tc.judged {
			t.Errorf("%s: valid %v %v", tc.name, c.Valid, c.InvalidReasons)
		}
	}
}
