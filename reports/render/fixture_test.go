package render

import (
	"flag"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/reports/result"
)

var update = flag.Bool("update", false, "rewrite testdata")

// HTML and Markdown are those formats.
func HTML(w io.Writer, res *result.Results) error { return DocumentHTML(w, Run(res)) }

func Markdown(w io.Writer, res *result.Results) error { return DocumentMarkdown(w, Run(res)) }

const fixtureFile = "testdata/fixture/results.json"

// fixture reads the committed record. It is made up by the code below, from a
// fluid queue model; nothing in it was measured.
func fixture(t testing.TB) *result.Results {
	t.Helper()
	res, err := result.LoadFile(fixtureFile)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestFixtureFile(t *testing.T) {
	if *update {
		if err := result.Save(fixtureFile, makeFixture()); err != nil {
			t.Fatal(err)
		}
	}
	res := fixture(t)
	if len(res.Cells) != 28 {
		t.Errorf("fixture has %d cells, want 2 loads × 5 strategies × 3 repetitions, single/heavy once", len(res.Cells))
	}
	again := filepath.Join(t.TempDir(), "results.json")
	if err := result.Save(again, res); err != nil {
		t.Error(err)
	}
}

type madeLoad struct {
	name     string
	threads  int
	ops      float64
	duration float64 // seconds
}

type madeStrategy struct {
	name    string
	queues  int
	workers int
	skew    float64 // busiest queue ÷ mean
	merge   float64 // part of the events merged away under backlog
}

const (
	madeLatency    = 0.087 // seconds
	madeDrainLimit = 45.0
)

func makeFixture() *result.Results {
	started := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	res := &result.Results{
		Schema: result.Schema,
		Run: result.Run{
			ID: "fixture", Scenario: "strategies", Description: "Made up for the tests of the report; nothing in it was measured.",
			Started: started, Finished: started.Add(4*time.Minute + 12*time.Second), Seed: 42,
			Command: []string{"watchbench", "run", "scenarios/strategies.yaml"},
		},
		Environment: result.Environment{
			Commit: "0123456789abcdef0123456789abcdef01234567", Dirty: true, GoVersion: "go1.26.0", Provider: "embedded",
			Kubernetes: "v1.36.3", Etcd: "3.7.3", Flags: []string{"--max-requests-inflight=400"},
			CPUModel: "Made-up Processor 9000", CPUs: 2, MemoryMiB: 7945, Cgroup: map[string]string{"cpu.max": "max 100000", "memory.max": "max"},
			Kernel: "6.12.0", LoadBefore: []float64{0.31, 0.42, 0.40}, LoadAfter: []float64{2.9, 2.1, 1.2}, StealPct: 0.4,
			Modules: map[string]string{"k8s.io/client-go": "v0.36.3", "github.com/go-echarts/go-echarts/v2": "v2.6.7"},
		},
		Scenario: map[string]any{
			"apiVersion": "watchbench/v1", "kind": "Scenario",
			"metadata": map[string]any{"name": "strategies"}, "repeat": 3.0,
			"matrix": map[string]any{
				"watcher.strategy": []any{"single", "unordered", "dedup", "partitioned", "keyed"},
				"load": map[string]any{
					"light": map[string]any{"model": "closed", "threads": 10.0, "operations": 360.0},
					"heavy": map[string]any{"model": "closed", "threads": 40.0, "duration": "5s"},
				},
			},
		},
	}
	loads := []madeLoad{{"heavy", 40, 4010, 5}, {"light", 10, 360, 0.52}}
	strategies := []madeStrategy{
		{"keyed", 1, 30, 1, 0}, {"partitioned", 30, 30, 1.87, 0}, {"dedup", 1, 30, 1, 0.31}, {"unordered", 1, 30, 1, 0}, {"single", 1, 1, 1, 0},
	}
	for rep := 1; rep <= 3; rep++ {
		for _, l := range loads {
			for _, s := range strategies {
				if c := makeCell(l, s, rep); rep == 1 || !c.Cut {
					res.Run.Order = append(res.Run.Order, c.ID)
					res.Cells = append(res.Cells, c)
				}
			}
		}
	}
	res.Decide()
	return res
}

func makeCell(l madeLoad, s madeStrategy, rep int) result.Cell {
	c := result.Cell{
		ID:     l.name + "-" + s.name + "-r" + strconv.Itoa(rep),
		Params: map[string]string{result.ParamLoad: l.name, result.ParamStrategy: s.name}, Repetition: rep, Valid: true,
		Load: result.Load{Model: result.ModelClosed, Threads: l.threads, DurationS: l.duration, Planned: int64(l.ops), Done: int64(l.ops), QPS: l.ops / l.duration,
			FromActual: &result.Quantiles{Count: int64(l.ops), P50: 11.2, P90: 24.5, P99: 61.9, Max: 140.3}},
		Writer: result.Writer{Capacity: 102400, FullSeconds: new(0.0)},
		Storage: result.Storage{LatencySpec: "lognormal(mean=87ms,p99=110ms)", LatencyMeanMs: 87,
			SeenMeanMs: new(87.4)},
		Handler: result.Handler{Strategy: s.name, Queues: s.queues, Workers: s.workers, Capacity: 1024, Imbalance: new(s.skew)},
		Parties: map[string]result.Party{},
	}
	m := drainModel(l, s)
	served := m.served
	if s.workers > 1 { // repetitions differ a little, one sender less
		m.drain *= 1 + 0.03*float64(rep-1)
	} else {
		m.drain *= 1 + 0.001*float64(rep-1)
	}
	c.Handler.DrainSeconds = new(round(m.drain, 3))
	c.Handler.DrainAfterLoad = new(round(m.drain-l.duration, 3))
	if m.drain > madeDrainLimit {
		c.Cut, c.CutFraction = true, round(served/m.events, 4)
		c.Handler.DrainProjected, c.Handler.Owed = true, new(int64(m.events-served))
	}
	limit := float64(s.workers) / madeLatency
	c.Storage.QPS = new(round(served/math.Min(m.drain, madeDrainLimit), 2))
	c.Storage.Requests = int64(served)
	c.Storage.LimitQPS = new(round(limit, 2))
	c.Storage.Efficiency = new(round(*c.Storage.QPS/limit, 4))
	c.Storage.WatcherMeanMs, c.Storage.ConnectionsOpened = new(88.1), new(float64(s.workers-1))
	c.Storage.RequestsPerEvent = new(round(served/l.ops, 4))
	if c.Storage.BacklogSeconds = new(0.0); m.drain > 10*madeLatency && m.peak > float64(s.workers) {
		c.Storage.BacklogSeconds = new(round(math.Min(m.drain, madeDrainLimit)-madeLatency, 3))
		c.Storage.EfficiencyBacklog = new(round(m.rate/limit, 4))
	}
	c.Freshness = freshness(math.Min(m.drain, madeDrainLimit), int64(served))
	c.Bystander = result.Bystander{Kind: "ConfigMap", Freshness: freshness(0.2, 20)}
	busy := math.Min(m.drain, madeDrainLimit)
	c.Watcher = result.Watcher{
		CPUCores: new(round(0.0005**c.Storage.QPS+0.03, 4)), CPUMicrosPerReq: new(212.5), CPUMicrosPerEvent: new(198.1),
		RSSPeakMiB: new(round(36+m.peak/200, 1)), RSSEndMiB: new(35.9), RSSHighestMiB: new(round(36+m.peak/200, 1)), FirstSync: new(0.21), FirstSyncCPU: new(0.09), NetKiBps: new(round(3.9**c.Storage.QPS+12, 1)),
		Goroutines: new(64.0),
	}
	if c.Series = m.series(); rep > 1 {
		c.Series = nil // never drawn
	}
	c.Parties["generator"] = result.Party{CPUSeconds: new(round(l.ops*0.0004, 2)), RSSPeakMiB: 41}
	c.Parties["kube-apiserver"] = result.Party{CPUSeconds: new(round(l.ops*0.0016+busy*0.04, 2)), RSSPeakMiB: 402}
	c.Parties["etcd"] = result.Party{CPUSeconds: new(round(l.ops*0.0006+busy*0.01, 2)), RSSPeakMiB: 88}
	c.Parties["watcher"] = result.Party{CPUSeconds: new(round(*c.Watcher.CPUCores*busy, 2)), RSSPeakMiB: *c.Watcher.RSSPeakMiB}
	c.Parties["storagemock"] = result.Party{CPUSeconds: new(round(served*0.00011, 2)), RSSPeakMiB: 52}
	merged := int64(l.ops) - int64(m.events)
	c.Events = &result.Events{Received: int64(l.ops), Sent: int64(served), Coalesced: merged, Queued: int64(l.ops) - merged - int64(served), Lost: new(int64(0)), Reordered: new(int64(0))}
	c.Bottleneck = result.Bottleneck{Stage: "storage", Why: "all " + strconv.Itoa(s.workers) + " senders were waiting for storage 99 % of the time"}
	c.Checks = map[string]result.Check{}
	for _, g := range result.Core {
		c.Checks[g] = result.Check{Verdict: result.Pass, Judged: int64(served)}
	}
	if c.Cut {
		c.Checks["G1"] = result.Check{Verdict: result.NotJudged, Note: "the drain was cut"}
		c.Events.Lost = nil
	}
	switch {
	case s.name == "unordered" && l.name == "heavy":
		c.Checks["G2"] = result.Check{Verdict: result.Fail, Violations: 212, Judged: int64(served), Counterexample: madeExample}
		c.Checks["G3"] = result.Check{Verdict: result.Fail, Violations: 198, Judged: int64(served), Counterexample: madeExample}
		c.Events.Reordered = new(int64(212))
	case s.name == "unordered":
		c.Checks["G2"] = result.Check{Verdict: result.Allowed, Violations: 9, Judged: int64(served), Counterexample: madeExample}
		c.Events.Reordered = new(int64(9))
	case s.name == "partitioned" && l.name == "light" && rep == 2:
		c.Valid, c.InvalidReasons = false, []string{"storage answered after 140 ms on average instead of 87 ms: the machine stalled or was overloaded"}
		c.Checks["G4"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: int64(served), Counterexample: madeExample}
	case s.name == "dedup" && l.name == "light":
		c.Valid, c.InvalidReasons = false, []string{"256 of 360 planned operations succeeded (71 %, at least 80 % are needed)"}
	}
	return c
}

const madeExample = `Pod wb-heavy-unordered/pod-0017 (uid 6f1c2d3e-0000-4000-8000-000000000017)
  request 2214  PUT  resourceVersion 10481  applied at +2.114 s by sender 7
  request 2209  PUT  resourceVersion 10466  applied at +2.131 s by sender 19   <- older than what storage held`

// model is a fluid queue: events arrive at a constant rate and are served at another.
type model struct {
	load   madeLoad
	rate   float64 // served per second while there is backlog
	events float64 // to be sent
	served float64 // when the run ended
	drain  float64 // seconds until all are served
	peak   float64 // deepest queue
}

func drainModel(l madeLoad, s madeStrategy) model {
	m := model{load: l, rate: float64(s.workers) / madeLatency / s.skew, events: l.ops}
	if l.ops/l.duration > m.rate {
		m.events = math.Round(l.ops * (1 - s.merge))
	}
	m.drain = math.Max(l.duration, m.events/m.rate) + madeLatency
	m.served = math.Min(m.events, math.Round(m.rate*madeDrainLimit))
	m.peak = math.Max(0, m.events-m.rate*l.duration)
	return m
}

// series samples the model twice a second, with a small deterministic ripple.
func (m model) series() map[string]result.Series {
	s := map[string]result.Series{
		result.SeriesQueueDepth: {Unit: "events"}, result.SeriesStorageQPS: {Unit: "requests/s"}, result.SeriesWatcherCPU: {Unit: "cores"},
		result.SeriesWatcherRSS: {Unit: "MiB"}, result.SeriesLoadQPS: {Unit: "requests/s"},
	}
	end := math.Min(m.drain, madeDrainLimit)
	step := 0.5
	if end < 5 {
		step = 0.1
	}
	for i := 0; ; i++ {
		at := round(-1+float64(i)*step, 3)
		if at > end+1 {
			return s
		}
		ripple := 1 + 0.04*math.Sin(float64(i)*1.7)
		arrived := m.events * math.Min(1, math.Max(0, at/m.load.duration))
		done := math.Min(arrived, math.Max(0, at)*m.rate)
		rate := 0.0
		if at > 0 && at <= end {
			rate = math.Min(m.rate, m.events/end) * ripple
		}
		loadRate := 0.0
		if at > 0 && at <= m.load.duration {
			loadRate = m.events / m.load.duration * ripple
		}
		for name, v := range map[string]float64{
			result.SeriesQueueDepth: math.Max(0, arrived-done), result.SeriesStorageQPS: rate, result.SeriesLoadQPS: loadRate,
			result.SeriesWatcherCPU: 0.01 + 0.0005*rate, result.SeriesWatcherRSS: 33 + (arrived-done)/200 + math.Min(3, math.Max(0, at)),
		} {
			c := s[name]
			c.T, c.V = append(c.T, at), append(c.V, round(v, 3))
			s[name] = c
		}
	}
}

// freshness spreads n waits evenly up to worst seconds.
func freshness(worst float64, n int64) *result.Quantiles {
	h := hdrhistogram.New(1, 3_600_000_000, 3)
	for i := range n {
		if err := h.RecordValue(int64(1e6 * (madeLatency + worst*float64(i)/float64(n)))); err != nil {
			panic(err)
		}
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err)
	}
	q := func(p float64) float64 { return round(float64(h.ValueAtPercentile(p))/1e6, 6) }
	return &result.Quantiles{Count: n, P50: q(50), P90: q(90), P99: q(99), Max: round(float64(h.Max())/1e6, 6), HDR: string(encoded)}
}

func round(v float64, decimals int) float64 {
	k := math.Pow10(decimals)
	return math.Round(v*k) / k
}
