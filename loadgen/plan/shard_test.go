package plan

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// whole is all that a plan sends, a part of it or all, in lines that two parts cannot have alike.
func whole(p *Plan) (lines []string) {
	threads := func(n int, of func(int) iter.Seq[Op]) iter.Seq[Op] {
		return func(yield func(Op) bool) {
			for k := range p.Shard().Threads(n) {
				for op := range of(k) {
					if !yield(op) {
						return
					}
				}
			}
		}
	}
	all := []iter.Seq[Op]{p.Setup(), threads(p.WarmupThreads(), p.WarmupThread), bystanders(p, 40)}
	if p.cfg.Model == ModelClosed {
		all = append(all, threads(p.cfg.Threads, p.Thread))
	} else {
		all = append(all, p.Timed())
	}
	for _, ops := range all {
		for op := range ops {
			lines = append(lines, textOf(&op))
		}
	}
	return lines
}

// bystanders are the first updates of the trickle, which has no end.
func bystanders(p *Plan, upTo int64) iter.Seq[Op] {
	return func(yield func(Op) bool) {
		for op := range p.Bystander(oplog.PhaseLoad) {
			if op.ID >= idBystander+upTo || !yield(op) {
				return
			}
		}
	}
}

// textOf is an operation with all that its object is made of, as one line that begins with the id.
func textOf(op *Op) string {
	o := *op
	target := func(t *Target) string {
		if t == nil {
			return "-"
		}
		c := *t
		c.Owner, c.Subject = nil, nil
		return fmt.Sprintf("%+v", c)
	}
	text := target(op.Target) + target(op.Target.Owner) + target(op.Target.Subject)
	if op.State != nil {
		s := *op.State
		for _, list := range [][]*Target{s.Endpoints, s.NotReady, s.Leaving} {
			for _, e := range list {
				text += target(e)
			}
		}
		s.Endpoints, s.NotReady, s.Leaving = nil, nil, nil
		text += fmt.Sprintf("%+v", s)
	}
	o.Target, o.State = nil, nil
	return fmt.Sprintf("%012d %+v %s", op.ID, o, text)
}

// shardable are plans of every profile, and of plain pods in both models.
func shardable(t *testing.T) map[string]*Plan {
	all := map[string]*Plan{}
	for _, name := range ProfileNames() {
		all[name] = profilePlan(t, name, func(c *Config) { c.Prefill = 30 })
	}
	for _, model := range []string{ModelOpen, ModelClosed} {
		cfg := Default()
		cfg.Seed, cfg.RunID, cfg.Model, cfg.Prefill, cfg.Namespaces = 7, "r1", model, 40, 3
		cfg.Recreate, cfg.Warmup.Operations = 0.5, 101
		cfg.Bystander = &Bystander{Kind: KindConfigMap, Rate: 2, Objects: 7}
		cfg.Hotkeys = &Hotkeys{Objects: 4, Burst: 5, Share: 0.2, Zipf: 1}
		if model == ModelOpen {
			cfg.Rate, cfg.Duration = 100, 20*second
		} else {
			cfg.Threads, cfg.Operations = 10, 2003
		}
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		all["pods, "+model] = p
	}
	return all
}

// TestShardsMakeUpThePlan: whatever the number of shards, together they send the plan to the byte, and each says how
// much it sends.
func TestShardsMakeUpThePlan(t *testing.T) {
	for name, p := range shardable(t) {
		want := whole(p)
		slices.Sort(want)
		for _, n := range []int{3, MaxShards} {
			var got []string
			planned := int64(0)
			for i := range n {
				part := p.Part(Shard{i + 1, n})
				got = append(got, whole(part)...)
				planned += part.Planned()
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s in %d shards: %d operations, want %d%s", name, n, len(got), len(want), firstDifference(got, want))
			}
			if planned != p.Planned() {
				t.Errorf("%s in %d shards: %d are planned, want %d", name, n, planned, p.Planned())
			}
		}
	}
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return "\ngot  " + got[i] + "\nwant " + want[i]
		}
	}
	return ""
}

// TestShardsKeepOrder: what one object is written, its shard sends in the plan's order; hot pods have none. What an
// operation needs the uid of, its shard has created before.
func TestShardsKeepOrder(t *testing.T) {
	const n = 4
	for name, p := range shardable(t) {
		shardOf, busy := map[string]int{}, map[int]int{}
		for i := 1; i <= n; i++ {
			part := p.Part(Shard{i, n})
			created := map[*Target]bool{}
			lastID := map[string]int64{}
			take := func(op Op) {
				key := fmt.Sprint(op.Target.Kind, " ", op.Target.Namespace, "/", op.Target.Name)
				busy[i]++
				if op.Hot || strings.Contains(key, "/hot-") {
					return
				}
				if s := shardOf[key]; s != 0 && s != i {
					t.Fatalf("%s: %s is written by the shards %d and %d", name, key, s, i)
				}
				shardOf[key] = i
				if op.Phase == oplog.PhaseLoad && op.ID < lastID[key] {
					t.Fatalf("%s: operation %d of %s comes after %d", name, op.ID, key, lastID[key])
				}
				if op.Phase == oplog.PhaseLoad {
					lastID[key] = op.ID
				}
				needed := []*Target{op.Target.Owner, op.Target.Subject}
				if op.State != nil {
					needed = append(needed, op.State.Endpoints...)
				}
				for _, t2 := range needed {
					if t2 != nil && !created[t2] {
						t.Fatalf("%s: %s of %s needs %s %s, which shard %d has not created", name, op.Type, key, t2.Kind, t2.Name, i)
					}
				}
				created[op.Target] = created[op.Target] || op.Type == oplog.TypeCreate
			}
			for op := range part.Setup() {
				take(op)
			}
			if p.cfg.Model == ModelOpen {
				for op := range part.Timed() {
					take(op)
				}
				continue
			}
			for k := range part.Shard().Threads(p.cfg.Threads) {
				for op := range part.Thread(k) {
					take(op)
				}
			}
		}
		if len(busy) != n {
			t.Errorf("%s: only %d of %d shards have something to send", name, len(busy), n)
		}
	}
}

// TestShardOfTheName: plain pods of an open loop go by the FNV-1a hash of namespace and name, so that who reads the op
// log can tell whose an object is.
func TestShardOfTheName(t *testing.T) {
	p := shardable(t)["pods, "+ModelOpen]
	// By hand: 64-bit FNV-1a of "watchbench-r1-0/bystander-0".
	sum := uint64(14695981039346656037)
	for _, c := range []byte("watchbench-r1-0/bystander-0") {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	for i := 1; i <= 4; i++ {
		found := slices.ContainsFunc(slices.Collect(bystanders(p.Part(Shard{i, 4}), 40)), func(op Op) bool {
			return op.Target.Name == "bystander-0"
		})
		if want := sum%4 == uint64(i-1); found != want {
			t.Errorf("shard %d of 4 updates bystander-0: %t, want %t", i, found, want)
		}
	}
}

// TestShardWithoutBystanders: a shard that has no bystander object ends its trickle instead of looking for one.
func TestShardWithoutBystanders(t *testing.T) {
	p := shardable(t)["pods, "+ModelOpen]
	total := 0
	for i := 1; i <= MaxShards; i++ {
		total += min(1, len(slices.Collect(bystanders(p.Part(Shard{i, MaxShards}), 40))))
	}
	if total == 0 || total == MaxShards {
		t.Errorf("%d of %d shards have bystanders", total, MaxShards)
	}
}

func TestShardAsText(t *testing.T) {
	for _, c := range []struct {
		text string
		want Shard
	}{
		{"1/1", Shard{1, 1}}, {"4/4", Shard{4, 4}}, {"2/16", Shard{2, 16}},
		{"", Shard{}}, {"0/4", Shard{}}, {"5/4", Shard{}}, {"1/17", Shard{}}, {"2", Shard{}}, {"a/b", Shard{}}, {"-1/2", Shard{}},
		{"1/2/3", Shard{}},
	} {
		var got Shard
		err := got.UnmarshalText([]byte(c.text))
		if bad := c.want == (Shard{}); got != c.want || bad != badinput.Is(err) {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
		if err == nil && got.String() != c.text {
			t.Errorf("%q becomes %q", c.text, got)
		}
	}
	if got := (Shard{3, 4}).Share(401); got != 101 {
		t.Errorf("a fourth of 401, rounded up, is %d", got)
	}
}
