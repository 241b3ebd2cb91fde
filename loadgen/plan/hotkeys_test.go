package plan

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// hotPlans are plans of both models with hot keys, and their operations.
func hotPlans(t *testing.T, h Hotkeys, operations int64) map[string]func() []Op {
	t.Helper()
	closed := mustPlan(t, func(c *Config) { c.Threads, c.Operations, c.Hotkeys = 7, operations, &h })
	open := openPlan(t, func(c *Config) {
		c.Rate, c.Duration, c.Hotkeys = float64(operations)/10, units.Duration(10*time.Second), &h
	})
	return map[string]func() []Op{
		"closed": func() (ops []Op) {
			for k := range 7 {
				ops = slices.AppendSeq(ops, closed.Thread(k))
			}
			return ops
		},
		"open": func() []Op { return slices.Collect(open.Timed()) },
	}
}

// TestHotShare: the share is met to within one burst, but for bursts that the end of a thread's operations cuts.
func TestHotShare(t *testing.T) {
	for _, h := range []Hotkeys{
		{Objects: 1, Burst: 2, Share: 0.5},
		{Objects: 4, Zipf: 1.2, Burst: 8, Share: 0.1},
		{Objects: 20, Burst: 25, Share: 0.9},
		{Objects: 3, Zipf: 1, Burst: 10, Share: 0.01},
	} {
		for model, ops := range hotPlans(t, h, 10_000) {
			t.Run(fmt.Sprintf("%s, %+v", model, h), func(t *testing.T) {
				hot, total := 0, 0
				last := map[int]Op{} // by thread
				for _, op := range ops() {
					total++
					last[op.Thread] = op
					if op.Hot {
						hot++
					}
				}
				for _, op := range last {
					hot += op.Burst
				}
				want := h.Share * float64(total)
				if math.Abs(float64(hot)-want) > float64(h.Burst)+1 {
					t.Errorf("%d of %d operations are hot, want %.0f", hot, total, want)
				}
			})
		}
	}
}

// TestHotBursts: a burst is Burst patches of one pod in a row, due at one time, and the ids of all operations differ.
func TestHotBursts(t *testing.T) {
	h := Hotkeys{Objects: 4, Zipf: 1.2, Burst: 8, Share: 0.2}
	for model, ops := range hotPlans(t, h, 5000) {
		t.Run(model, func(t *testing.T) {
			var last Op
			ids := map[int64]bool{}
			for _, op := range ops() {
				if ids[op.ID] {
					t.Fatalf("id %d twice", op.ID)
				}
				ids[op.ID] = true
				follows := op.Hot && last.Burst > 0 && op.Thread == last.Thread
				switch {
				case follows && (op.Target != last.Target || op.At != last.At || op.Burst != last.Burst-1 || op.N != last.N+1):
					t.Fatalf("%+v follows %+v in one burst", op, last)
				case op.Hot && !follows && op.Burst != h.Burst-1:
					t.Fatalf("%+v begins a burst after %+v", op, last)
				case !op.Hot && last.Burst > 0 && op.Thread == last.Thread:
					t.Fatalf("%+v interrupts the burst of %+v", op, last)
				case op.Hot && (op.Type != oplog.TypePatch || op.Last || op.Gap != 0 || op.Rank >= h.Objects):
					t.Fatalf("a patch of a hot pod is %+v", op)
				}
				last = op
			}
		})
	}
}

// TestHotRanks: the pods' parts of all bursts are as Zipf's law has them.
func TestHotRanks(t *testing.T) {
	for _, s := range []float64{0, 1, 2} {
		for model, ops := range hotPlans(t, Hotkeys{Objects: 5, Zipf: s, Burst: 2, Share: 0.9}, 100_000) {
			t.Run(fmt.Sprintf("%s, %v", model, s), func(t *testing.T) {
				got, all := make([]float64, 5), 0.0
				for _, op := range ops() {
					if op.Hot {
						got[op.Rank]++
						all++
					}
				}
				sum := 0.0
				for rank := range 5 {
					sum += math.Pow(float64(rank+1), -s)
				}
				for rank := range 5 {
					near(t, fmt.Sprintf("part of rank %d", rank+1), got[rank]/all, math.Pow(float64(rank+1), -s)/sum, 0.01)
				}
			})
		}
	}
}

// TestHotPodsAreMadeFirst: what is patched was created, and no other life bears its name.
func TestHotPodsAreMadeFirst(t *testing.T) {
	p := mustPlan(t, func(c *Config) {
		c.Operations, c.Prefill, c.Hotkeys = 2000, 50, &Hotkeys{Objects: 4, Zipf: 1, Burst: 4, Share: 0.3}
		c.Warmup.Operations = 500
	})
	names, ids := map[string]int{}, map[int64]bool{}
	made := map[*Target][]string{}
	for op := range p.Setup() {
		if ids[op.ID] || op.Phase != oplog.PhasePrepare || op.Hot {
			t.Errorf("%+v", op)
		}
		ids[op.ID] = true
		made[op.Target] = append(made[op.Target], op.Type)
	}
	for i, pod := range p.hot {
		names[pod.Name] = i
		if want := []string{oplog.TypeCreate, oplog.TypeBind, oplog.TypeRunning, oplog.TypeReady}; !slices.Equal(made[pod], want) {
			t.Errorf("pod %d is made by %v", i, made[pod])
		}
	}
	if len(names) != 4 || len(made) != 2*p.cfg.Nodes+50+4 {
		t.Fatalf("%d hot pods, %d objects", len(names), len(made))
	}
	for _, seq := range []iter.Seq[Op]{p.Thread(0), p.Thread(1), p.WarmupThread(0)} {
		for op := range seq {
			i, hot := names[op.Target.Name]
			if hot != op.Hot || hot && (op.Rank != i || op.Target != p.hot[i]) || ids[op.ID] {
				t.Fatalf("%+v", op)
			}
			if op.Hot && op.Phase != oplog.PhaseLoad {
				t.Fatalf("a burst in the phase %s", op.Phase)
			}
		}
	}
}
