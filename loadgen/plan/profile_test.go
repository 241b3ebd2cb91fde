package plan

import (
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

const (
	second = units.Duration(1e9)
	minute = 60 * second
)

// profilePlan has half a minute of a profile; lives are short enough to end in it.
func profilePlan(t testing.TB, name string, change func(*Config)) *Plan {
	t.Helper()
	cfg := Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Rate, cfg.Duration = 42, "r1", ModelOpen, 20, minute/2
	cfg.Profile, cfg.Nodes, cfg.Namespaces = name, 60, 20
	cfg.Tuning = &Tuning{TimeScale: 20}
	switch name {
	case ProfileRollout:
		cfg.Rate = 6
	}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fingerprint is a hash of all that two machines must agree on, times in microseconds.
func fingerprint(ops iter.Seq[Op]) (n int, sum uint64) {
	h := fnv.New64a()
	for op := range ops {
		n++
		o, s := op.Target, op.State
		owner, subject := int64(0), int64(0)
		if o.Owner != nil {
			owner = o.Owner.Lane
		}
		if o.Subject != nil {
			subject = o.Subject.Lane
		}
		fmt.Fprintln(h, op.ID, op.Phase, op.Type, op.Thread, op.At.Microseconds(), op.Gap.Microseconds(), op.N, op.Last, op.Hot, op.Burst,
			o.Lane, o.Kind, o.Namespace, o.Name, o.Incarnation, o.Seed, o.Bytes, o.Containers, o.InitContainers, o.Node, owner, subject, o.Reason, o.Spec,
			s.Replicas, s.Ready, s.Updated, s.Terminating, s.Active, s.Succeeded, s.Failed, s.Restarts, s.Count, s.Template)
		for _, e := range s.Endpoints {
			fmt.Fprintln(h, e.Name)
		}
		for _, e := range s.NotReady {
			fmt.Fprintln(h, e.Name)
		}
		for _, e := range s.Leaving {
			fmt.Fprintln(h, e.Name)
		}
	}
	return n, h.Sum64()
}

func TestProfilesAreGolden(t *testing.T) {
	var b strings.Builder
	for _, name := range ProfileNames() {
		p := profilePlan(t, name, nil)
		n, sum := fingerprint(p.Setup())
		fmt.Fprintf(&b, "%s: %d before it, %x; ", name, n, sum)
		n, sum = fingerprint(p.Timed())
		fmt.Fprintf(&b, "%d, %x\n", n, sum)
		if again, same := fingerprint(p.Timed()); again != n || same != sum {
			t.Errorf("%s: a second pass has %d operations, %x, where the first had %d, %x", name, again, same, n, sum)
		}
		if name != ProfileRollout {
			continue
		}
		if other, differs := fingerprint(profilePlan(t, name, func(c *Config) { c.Seed = 43 }).Timed()); other == n && differs == sum {
			t.Errorf("%s: another seed gives the same plan", name)
		}
	}
	golden(t, "profiles.txt", b.String())
}

// timeScale divides lifetimes and nothing else.
func TestTimeScale(t *testing.T) {
	measure := func(scale float64) (stage, life time.Duration) {
		p := profilePlan(t, ProfileServiceChurn, func(c *Config) {
			c.Tuning = &Tuning{TimeScale: scale, Cluster: ClusterTuning{LeasePeriod: new(minute)}, Services: ServiceTuning{Lifetime: dist.Must[dist.Duration]("200s"), Step: dist.Must[dist.Number]("1")}}
			c.Duration, c.Rate, c.Nodes = 10*minute, 5, 200
		})
		created, running := map[*Target]time.Duration{}, map[*Target]time.Duration{}
		var stages, lives []time.Duration
		for op := range p.Timed() {
			if op.Target.Kind != "Pod" {
				continue
			}
			switch op.Type {
			case oplog.TypeCreate:
				created[op.Target] = op.At
			case oplog.TypeRunning:
				running[op.Target] = op.At
				stages = append(stages, op.At-created[op.Target])
			case oplog.TypeTerminate:
				lives = append(lives, op.At-created[op.Target])
			}
		}
		if len(stages) < 500 || len(lives) < 500 {
			t.Fatalf("only %d pods ran, %d ended", len(stages), len(lives))
		}
		return median(stages), median(lives)
	}
	stage, life := measure(1)
	stage10, life10 := measure(10)
	if r := float64(stage) / float64(stage10); r < 0.9 || r > 1.1 {
		t.Errorf("to run takes %s, with a time scale of 10 %s", stage, stage10)
	}
	if r := float64(life) / float64(life10); r < 8 || r > 11 {
		t.Errorf("a life lasts %s, with a time scale of 10 %s", life, life10)
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
