package capacity

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/model"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// saved is a run of a sweep, with records of its cells, whose rates are given.
type saved struct {
	dir string
	res *result.Results
	ops []oplog.Record // of the next cells, in place of the usual ones
}

func newSaved(t *testing.T) *saved {
	return &saved{dir: t.TempDir(), res: &result.Results{Schema: result.Schema, Run: result.Run{ID: "sweep-1", Scenario: "sweep"}}}
}

// cell adds one with 20 ms of latency and a backlog throughout.
func (s *saved) cell(t *testing.T, strategy string, queues, repetition int, rate float64, change ...func(*spec.Scenario, *result.Cell)) {
	t.Helper()
	sc := spec.Default()
	sc.Storage.Latency, sc.Storage.Capacity = "20ms", spec.Capacity{}
	sc.Watcher.Strategy, sc.Watcher.PodQueueNum = strategy, queues
	sc.Load.Model, sc.Load.Rate = "open", 100
	drain, backlog := 10.0, 9.0
	seen := 20.0
	c := result.Cell{
		ID: fmt.Sprintf("%s-%d-r%d", strategy, queues, repetition), Repetition: repetition, Valid: true, Params: map[string]string{"watcher.strategy": strategy, queuesField: fmt.Sprint(queues)},
		Handler: result.Handler{Strategy: strategy, Queues: queues, DrainSeconds: &drain}, Storage: result.Storage{QPS: &rate, BacklogSeconds: &backlog, SeenMeanMs: &seen},
	}
	for _, f := range change {
		f(&sc, &c)
	}
	folder := history.CellDir(s.dir, c.ID)
	record := history.Cell{Schema: history.CellSchema, ID: c.ID, Repetition: repetition, Params: c.Params, Scenario: sc, Watcher: history.WatcherRun{Own: true}}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	ops, err := oplog.Create(filepath.Join(folder, history.FileOps))
	if err != nil {
		t.Fatal(err)
	}
	id := int64(0)
	add := func(phase, namespace, name string, status, times int) {
		for range times {
			if s.ops != nil {
				return
			}
			id++
			ops.Append(oplog.Record{ID: id, Phase: phase, Type: oplog.TypePatch, Kind: "Pod", Namespace: namespace, Name: name, Status: status})
		}
	}
	// By the contract's vectors: of three queues these are in 2 and in 0.
	add(oplog.PhaseLoad, "team-a", "web-abc-1", 200, 6)
	add(oplog.PhaseLoad, "default", "nginx-0", 200, 2)
	add(oplog.PhaseLoad, "default", "nginx-0", 503, 5)   // failed
	add(oplog.PhaseWarmup, "default", "nginx-0", 200, 7) // not of the load
	for _, op := range s.ops {
		ops.Append(op)
	}
	if err := history.SaveJSON(folder, history.FileCell, record); err != nil {
		t.Fatal(err)
	}
	if err := ops.Close(); err != nil {
		t.Fatal(err)
	}
	s.res.Cells = append(s.res.Cells, c)
}

func (s *saved) of(t *testing.T) *Report {
	t.Helper()
	r, err := Of(s.dir, s.res)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// line finds the only one of a point with a figure by a model.
func line(t *testing.T, r *Report, point, figure, by string) Line {
	t.Helper()
	var found []Line
	for _, l := range r.Lines {
		if l.Point == point && l.Figure == figure && l.Model == by {
			found = append(found, l)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d lines of %s, %s, %s in %+v", len(found), point, figure, by, r.Lines)
	}
	return found[0]
}

func TestLittleAndSkew(t *testing.T) {
	s := newSaved(t)
	imbalance := func(_ *spec.Scenario, c *result.Cell) { c.Handler.Imbalance = new(2.25) }
	s.cell(t, "partitioned", 3, 1, 60, imbalance)
	s.cell(t, "partitioned", 3, 2, 64, imbalance)
	s.cell(t, "single", 30, 1, 48)
	r := s.of(t)
	if l := line(t, r, "partitioned, 3 queues", "storage rate", "Little's law"); *l.Predicted != 150 || *l.Measured != 62 || l.N != 2 || l.Kind != Bounds {
		t.Errorf("%+v", l)
	}
	if l := line(t, r, "partitioned, 3 queues", "busiest queue's share", "hash of the keys"); *l.Predicted != 0.75 || *l.Measured != 0.75 {
		t.Errorf("%+v", l)
	}
	if l := line(t, r, "partitioned, 3 queues", "storage rate", "hash skew"); math.Abs(*l.Predicted-50/0.75) > 1e-9 {
		t.Errorf("%+v", l)
	}
	if l := line(t, r, "single, 1 queue", "storage rate", "Little's law"); *l.Predicted != 50 {
		t.Errorf("%+v", l)
	}
}

// TestSkewOfRepetitions: repetitions write keys of their own, and what is predicted is the median
// of their shares, as what was measured is.
func TestSkewOfRepetitions(t *testing.T) {
	s := newSaved(t)
	s.cell(t, "partitioned", 3, 1, 60, func(_ *spec.Scenario, c *result.Cell) { c.Handler.Imbalance = new(2.25) })
	s.ops = []oplog.Record{{ID: 1, Phase: oplog.PhaseLoad, Type: oplog.TypePatch, Kind: "Pod", Namespace: "default", Name: "nginx-0", Status: 200}}
	s.cell(t, "partitioned", 3, 2, 60, func(_ *spec.Scenario, c *result.Cell) { c.Handler.Imbalance = new(3.0) })
	if l := line(t, s.of(t), "partitioned, 3 queues", "busiest queue's share", "hash of the keys"); *l.Predicted != 0.875 || *l.Measured != 0.875 {
		t.Errorf("predicted %g, measured %g", *l.Predicted, *l.Measured)
	}
}

// TestLimits: what storage is allowed is a limit, too, and a load that it keeps up with is
// none.
func TestLimits(t *testing.T) {
	s := newSaved(t)
	s.cell(t, "keyed", 40, 1, 480, func(sc *spec.Scenario, _ *result.Cell) { sc.Storage.Capacity.Inflight = 10 })
	s.cell(t, "dedup", 40, 1, 95, func(sc *spec.Scenario, c *result.Cell) {
		sc.Storage.Capacity.Rate = 300
		c.Pace = &result.Pace{KeepsUp: true}
	})
	r := s.of(t)
	if l := line(t, r, "keyed, 40 queues", "storage rate", "Little's law"); *l.Predicted != 500 || l.Note != "" {
		t.Errorf("%+v", l)
	}
	if l := line(t, r, "dedup, 40 queues", "storage rate", "Little's law"); *l.Predicted != 300 || !strings.Contains(l.Note, "not a limit") {
		t.Errorf("%+v", l)
	}
}

func TestWait(t *testing.T) {
	s := newSaved(t)
	// 8 events in 0.2 s arrive at 40/s, whatever storage's rate was.
	s.cell(t, "keyed", 1, 1, 31, func(sc *spec.Scenario, c *result.Cell) {
		sc.Load.Arrival = "poisson"
		c.Load.DurationS, c.Handler.QueuedSeconds, c.Pace = 0.2, new(0.3), &result.Pace{KeepsUp: true}
	})
	// M/D/1 at 80 %: ρ² ÷ 2(1−ρ).
	if l := line(t, s.of(t), "keyed, 1 queue", "mean queue", "G/G/c"); math.Abs(*l.Predicted-1.6) > 1e-9 || math.Abs(*l.Measured-1.5) > 1e-9 || l.Kind != Approximate {
		t.Errorf("%+v", l)
	}
}

func TestScaling(t *testing.T) {
	law := model.Scaling{Gamma: 49, Alpha: 0.01, Beta: 0.0005}
	s := newSaved(t)
	for i, n := range []int{1, 5, 10, 20, 40, 80} {
		for rep := range 2 {
			s.cell(t, "keyed", n, rep+1, law.At(n)*(1+0.01*float64((i+rep)%3-1)))
		}
	}
	s.cell(t, "keyed", 120, 1, 9, func(_ *spec.Scenario, c *result.Cell) { c.Pace = &result.Pace{KeepsUp: true} }) // the load's rate
	r := s.of(t)
	if len(r.Curves) != 1 || r.Curves[0].Peak == nil || math.Abs(*r.Curves[0].Peak-44.5) > 4 || len(r.Curves[0].Points) != 6 {
		t.Fatalf("%+v, %v", r.Curves, r.Refused)
	}
	if l := line(t, r, "keyed, 20 queues", "storage rate", "universal scalability law"); l.Kind != Fits || math.Abs(*l.Predicted-law.At(20)) > 0.03*law.At(20) {
		t.Errorf("%+v", l)
	}
	var page, text bytes.Buffer
	if err := render.DocumentHTML(&page, r.Document()); err != nil || !strings.Contains(page.String(), `data-chart="section1-plot1"`) {
		t.Errorf("no chart: %v", err)
	}
	if err := render.DocumentTerminal(&text, r.Document(), render.TerminalOptions{}); err != nil || !strings.Contains(text.String(), "The rate is highest at 4") {
		t.Errorf("%v:\n%s", err, &text)
	}
}

// TestHardKnee: where storage has a hard limit the law's peak is not believed.
func TestHardKnee(t *testing.T) {
	s := newSaved(t)
	for i, n := range []int{2, 4, 8, 16, 32, 64} {
		s.cell(t, "keyed", n, 1, 49*min(float64(n), 16)*(1+0.01*float64(i%3-1)), func(sc *spec.Scenario, _ *result.Cell) { sc.Storage.Capacity.Inflight = 16 })
	}
	r := s.of(t)
	if l := line(t, r, "keyed", "storage's knee", "storage.capacity"); *l.Predicted != 16 || math.Abs(*l.Measured-16) > 1 {
		t.Errorf("%+v", l)
	}
	for _, c := range r.Curves {
		if c.Peak != nil || !strings.Contains(c.NoPeak, "knee at 16") {
			t.Errorf("%+v", c)
		}
	}
	if len(r.Curves) == 0 {
		t.Errorf("no law at all: %v", r.Refused)
	}
}

// TestRefuses politely what a run has no data for.
func TestRefuses(t *testing.T) {
	s := newSaved(t)
	s.cell(t, "keyed", 1, 1, 49)
	s.cell(t, "keyed", 2, 1, 98)
	s.cell(t, "keyed", 4, 1, 98, func(_ *spec.Scenario, c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"late"} })
	s.cell(t, "keyed", 8, 1, 98, func(_ *spec.Scenario, c *result.Cell) { c.Cut = true })
	s.cell(t, "adaptive", 8, 1, 98)
	r := s.of(t)
	all := strings.Join(append(r.Refused, r.LeftOut...), "\n")
	for _, want := range []string{"keyed, universal scalability law: too few points: 2 different", "keyed-4-r1: invalid: late", "keyed-8-r1: its drain was cut", "adaptive-8-r1: adaptive finds"} {
		if !strings.Contains(all, want) {
			t.Errorf("not said: %s\n%s", want, all)
		}
	}
	if len(r.Curves) != 0 {
		t.Errorf("%+v", r.Curves)
	}
	for name, broken := range map[string]*saved{
		"no record of the cell": {dir: filepath.Join(s.dir, "elsewhere"), res: s.res}, "no cells": {dir: s.dir, res: &result.Results{}},
		"no valid cell": {dir: s.dir, res: &result.Results{Cells: []result.Cell{{ID: "a", InvalidReasons: []string{"late"}}}}},
	} {
		if _, err := Of(broken.dir, broken.res); !badinput.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
