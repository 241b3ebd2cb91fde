package plan

import (
	"flag"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the plan differs from %s; every saved run with this seed would be another one. got:\n%s", path, got)
	}
}

func mustPlan(t *testing.T, change func(*Config)) *Plan {
	t.Helper()
	cfg := Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Threads, cfg.Operations = 42, "r1", ModelClosed, 2, 40
	cfg.Namespaces = 2
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openPlan(t *testing.T, change func(*Config)) *Plan {
	return mustPlan(t, func(c *Config) {
		c.Model, c.Threads, c.Operations, c.Rate, c.Duration = ModelOpen, 0, 0, 40, units.Duration(time.Second)
		if change != nil {
			change(c)
		}
	})
}

func write(b *strings.Builder, ops iter.Seq[Op]) {
	for op := range ops {
		if op.Hot {
			fmt.Fprintf(b, "%11d %-7s thread %2d at %-12s hot %d, %d more n=%d ns=%d node=%d %s\n",
				op.ID, op.Phase, op.Thread, op.At, op.Rank, op.Burst, op.N, op.Target.Namespace, op.Target.Node, op.Target.Name)
			continue
		}
		fmt.Fprintf(b, "%11d %-7s thread %2d at %-12s gap %-6s %-7s n=%d ns=%d node=%d %s#%d last=%t\n",
			op.ID, op.Phase, op.Thread, op.At, op.Gap, op.Type, op.N, op.Target.Namespace, op.Target.Node, op.Target.Name, op.Target.Incarnation, op.Last)
	}
}

func TestPlanIsGolden(t *testing.T) {
	var b strings.Builder
	p := mustPlan(t, func(c *Config) { c.Warmup.Operations, c.Prefill = 10, 5; c.Recreate = 0.5 })
	b.WriteString("closed loop\n")
	for k := range 2 {
		write(&b, p.Thread(k))
	}
	b.WriteString("warm-up\n")
	for k := range p.WarmupThreads() {
		write(&b, p.WarmupThread(k))
	}
	b.WriteString("before the load\n")
	write(&b, p.Setup())
	for _, arrival := range []string{ArrivalConstant, ArrivalPoisson} {
		b.WriteString("open loop, " + arrival + "\n")
		write(&b, openPlan(t, func(c *Config) { c.Arrival, c.Recreate = arrival, 0.5 }).Timed())
	}
	hot := &Hotkeys{Objects: 3, Zipf: 1.2, Burst: 4, Share: 0.3}
	b.WriteString("hot keys, closed loop\n")
	p = mustPlan(t, func(c *Config) { c.Hotkeys = hot })
	write(&b, p.Setup())
	for k := range 2 {
		write(&b, p.Thread(k))
	}
	b.WriteString("hot keys, open loop\n")
	write(&b, openPlan(t, func(c *Config) { c.Hotkeys = hot }).Timed())
	golden(t, "plan.txt", b.String())
}

// alike reports whether two sequences are the same but for the targets' addresses.
func alike(a, b []Op) bool {
	return slices.EqualFunc(a, b, func(a, b Op) bool {
		same := *a.Target == *b.Target && reflect.DeepEqual(a.State, b.State)
		a.Target, a.State, b.Target, b.State = nil, nil, nil, nil
		return same && a == b
	})
}

func TestSeedsDiffer(t *testing.T) {
	a := slices.Collect(mustPlan(t, nil).Thread(0))
	b := slices.Collect(mustPlan(t, func(c *Config) { c.Seed = 43 }).Thread(0))
	if alike(a, b) {
		t.Error("two seeds give one plan")
	}
}

// TestPromises holds every kind of plan against the promises of the package documentation.
func TestPromises(t *testing.T) {
	for name, p := range map[string]*Plan{
		"closed":          mustPlan(t, func(c *Config) { c.Threads, c.Operations, c.Recreate = 7, 20_000, 0.5 }),
		"closed, by time": mustPlan(t, func(c *Config) { c.Threads, c.Operations, c.Duration = 3, 0, units.Duration(time.Second) }),
		"open":            openPlan(t, func(c *Config) { c.Rate, c.Duration = 500, units.Duration(30*time.Second); c.Recreate = 0.5 }),
		"open, poisson":   openPlan(t, func(c *Config) { c.Rate, c.Duration, c.Arrival = 500, units.Duration(30*time.Second), ArrivalPoisson }),
		"closed, hot": mustPlan(t, func(c *Config) {
			c.Threads, c.Operations, c.Recreate, c.Hotkeys = 7, 20_000, 0.5, &Hotkeys{Objects: 3, Zipf: 1, Burst: 6, Share: 0.1}
		}),
		"open, hot": openPlan(t, func(c *Config) {
			c.Rate, c.Duration, c.Hotkeys = 500, units.Duration(30*time.Second), &Hotkeys{Objects: 3, Zipf: 1, Burst: 6, Share: 0.1}
		}),
		"create only": mustPlan(t, func(c *Config) { c.Operations, c.Stages = 1000, []Stage{{Stage: "create"}} }),
	} {
		t.Run(name, func(t *testing.T) {
			c := newChecker(p)
			if p.cfg.Model == ModelOpen {
				c.walk(t, p.Timed())
			} else {
				for k := range p.cfg.Threads {
					c.walk(t, take(p.Thread(k), 5000))
				}
			}
			c.done(t)
		})
	}
}

func take[T any](seq iter.Seq[T], n int) iter.Seq[T] {
	return func(yield func(T) bool) {
		i := 0
		for v := range seq {
			if i++; i > n || !yield(v) {
				return
			}
		}
	}
}

// checker follows the lives in a plan.
type checker struct {
	plan    *Plan
	ids     map[int64]bool
	alive   map[string]Op // last operation by name
	lanes   map[int64]string
	started int
	deleted int
	kept    int
	again   int
	at      time.Duration
}

func newChecker(p *Plan) *checker {
	return &checker{plan: p, ids: map[int64]bool{}, alive: map[string]Op{}, lanes: map[int64]string{}, at: -1}
}

func (c *checker) walk(t *testing.T, ops iter.Seq[Op]) {
	t.Helper()
	for op := range ops {
		if c.ids[op.ID] {
			t.Fatalf("id %d twice", op.ID)
		}
		c.ids[op.ID] = true
		if c.plan.cfg.Model == ModelOpen && op.At < c.at {
			t.Fatalf("operation %d is due at %s, after one at %s", op.ID, op.At, c.at)
		}
		if op.Hot {
			c.at = op.At
			continue
		}
		if name, ok := c.lanes[op.Target.Lane]; ok && name != op.Target.Name {
			t.Fatalf("lane %d has the names %s and %s", op.Target.Lane, name, op.Target.Name)
		}
		c.lanes[op.Target.Lane] = op.Target.Name
		if c.plan.cfg.Model == ModelOpen {
			c.at = op.At
		}
		former, lives := c.alive[op.Target.Name]
		switch {
		case op.Type == oplog.TypeCreate:
			if lives && former.Type != oplog.TypeDelete {
				t.Fatalf("%s is created again while it lives", op.Target.Name)
			}
			if lives {
				c.again++
			}
			if lives != (op.Target.Incarnation > 0) {
				t.Fatalf("%s: incarnation %d, though it existed before: %t", op.Target.Name, op.Target.Incarnation, lives)
			}
			c.started++
		case !lives || former.Last || former.Target != op.Target || slices.Index(stages, op.Type) < slices.Index(stages, former.Type) ||
			op.Type == oplog.TypePatch && op.N > 1 && (former.Type != oplog.TypePatch || former.N != op.N-1):
			t.Fatalf("%+v follows %+v", op, former)
		}
		if lives && c.plan.cfg.Model == ModelOpen && op.At-former.At < DefaultOpenGap {
			t.Fatalf("operation %d is due %s after its pod's former one", op.ID, op.At-former.At)
		}
		if op.Type == oplog.TypeDelete {
			c.deleted++
		} else if op.Last {
			if slices.Contains(ending, op.Type) {
				t.Fatalf("%+v is the last of its pod", op)
			}
			c.kept++
		}
		c.alive[op.Target.Name] = op
	}
}

func (c *checker) done(t *testing.T) {
	t.Helper()
	cfg := c.plan.cfg
	if planned := c.plan.Planned(); planned != 0 && int64(len(c.ids)) != planned {
		t.Errorf("%d operations, Planned says %d", len(c.ids), planned)
	}
	if hasDelete := c.plan.steps[len(c.plan.steps)-1].kind == oplog.TypeDelete; !hasDelete {
		return
	}
	near(t, "share of survivors", float64(c.kept)/float64(c.kept+c.deleted), cfg.Survivors, 0.05)
	near(t, "share of names taken again", float64(c.again)/float64(c.deleted), cfg.Recreate, 0.07)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %.3f, want %.3f ± %.3f", what, got, want, tolerance)
	}
}

func TestNamesAreUnique(t *testing.T) {
	n := newNamer(mustPlan(t, nil).rng(streamNames), "")
	names := map[string]bool{}
	for i := range int64(200_000) {
		name := n.name(i)
		if names[name] {
			t.Fatalf("name %s twice, at %d", name, i)
		}
		names[name] = true
	}
}

func TestBystanderTakesTurns(t *testing.T) {
	p := mustPlan(t, func(c *Config) { c.Bystander = &Bystander{Kind: KindConfigMap, Rate: 2, Objects: 3} })
	i := 0
	for op := range take(p.Bystander(oplog.PhaseLoad), 9) {
		if op.Target.Name != p.cfg.BystanderName(i%3) || !op.Bystander || op.N != i/3+1 || op.At != time.Duration(i)*500*time.Millisecond || op.Phase != oplog.PhaseLoad {
			t.Errorf("update %d is %+v", i, op)
		}
		i++
	}
	for range mustPlan(t, nil).Bystander(oplog.PhaseLoad) {
		t.Fatal("an update without a bystander")
	}
}
