package plan

import (
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// profilePlan has half a minute of a profile; lives are short enough to end in it.
func profilePlan(t testing.TB, name string, change func(*Config)) *Plan {
	t.Helper()
	cfg := Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Rate, cfg.Duration = 42, "r1", ModelOpen, 20, minute/2
	cfg.Profile, cfg.Nodes, cfg.Namespaces = name, 60, 20
	cfg.Tuning = &Tuning{TimeScale: 20}
	if name == ProfileRecreate {
		cfg.Rate = 2
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
		if name != ProfileRecreate {
			continue
		}
		if other, differs := fingerprint(profilePlan(t, name, func(c *Config) { c.Seed = 43 }).Timed()); other == n && differs == sum {
			t.Errorf("%s: another seed gives the same plan", name)
		}
	}
	closed := profilePlan(t, ProfileServiceChurn, asClosed)
	for k := range 3 {
		n, sum := fingerprint(closed.Thread(k))
		fmt.Fprintf(&b, "closed, thread %d: %d, %x\n", k, n, sum)
	}
	golden(t, "profiles.txt", b.String())
}

func asClosed(c *Config) {
	c.Model, c.Rate, c.Duration, c.Threads, c.Operations = ModelClosed, 0, 0, 3, 3000
}

// What every profile keeps to, so that whoever sends it can: the order of a lane, owners
// before what they own, each object's life from create to delete.
func TestProfilesKeepOrder(t *testing.T) {
	for _, name := range ProfileNames() {
		t.Run(name, func(t *testing.T) {
			p := profilePlan(t, name, func(c *Config) { c.Hotkeys = &Hotkeys{Objects: 4, Burst: 5, Share: 0.1}; c.Prefill = 50 })
			k := newKeeper(t)
			for op := range p.Setup() {
				k.take(op, 0)
			}
			for op := range p.Timed() {
				k.take(op, DefaultOpenGap)
			}
			if k.ops < 1000 || k.hot < 50 {
				t.Errorf("only %d operations, %d on hot pods", k.ops, k.hot)
			}
		})
	}
	t.Run("closed", func(t *testing.T) {
		p := profilePlan(t, ProfileServiceChurn, func(c *Config) { asClosed(c); c.Hotkeys = &Hotkeys{Objects: 4, Burst: 5, Share: 0.1} })
		k := newKeeper(t)
		for op := range p.Setup() {
			k.take(op, 0)
		}
		for i := range 3 {
			for op := range p.Thread(i) {
				if op.Thread != i {
					t.Fatalf("thread %d has an operation of thread %d", i, op.Thread)
				}
				k.take(op, 0)
			}
		}
		if k.ops != 3000+k.setup || k.hot < 200 {
			t.Errorf("%d operations after %d, %d on hot pods", k.ops, k.setup, k.hot)
		}
	})
}

// keeper holds the rules.
type keeper struct {
	t               *testing.T
	at              time.Duration
	ids             map[int64]bool
	last            map[int64]time.Duration // by lane
	bearer          map[int64]*Target       // that exists, by lane
	names           map[string]int64        // lane by kind, namespace and name
	created         map[*Target]time.Duration
	done            map[*Target]bool
	onNode          map[int]int
	ops, hot, setup int
}

func newKeeper(t *testing.T) *keeper {
	return &keeper{t: t, ids: map[int64]bool{}, last: map[int64]time.Duration{}, bearer: map[int64]*Target{}, names: map[string]int64{},
		created: map[*Target]time.Duration{}, done: map[*Target]bool{}, onNode: map[int]int{}}
}

func (k *keeper) take(op Op, gap time.Duration) {
	t, o := k.t, op.Target
	t.Helper()
	k.ops++
	bad := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("operation %d, %s of %s %s at %s: %s", op.ID, op.Type, o.Kind, o.Name, op.At, fmt.Sprintf(format, args...))
	}
	if k.ids[op.ID] {
		bad("the id is taken")
	}
	k.ids[op.ID] = true
	if op.Phase == oplog.PhasePrepare {
		k.setup++
	} else if gap > 0 && op.At < k.at {
		bad("before the one in front of it")
	}
	k.at = op.At
	if op.Hot {
		k.hot++
		if k.bearer[o.Lane] != o || o.Kind != "Pod" {
			bad("not a pod that exists")
		}
		return
	}
	if k.done[o] {
		bad("after the last")
	}
	k.done[o] = op.Last
	key := fmt.Sprint(o.Kind, o.Namespace, o.Name)
	if lane, ok := k.names[key]; ok && lane != o.Lane {
		bad("its name is on lane %d, not %d", lane, o.Lane)
	}
	k.names[key] = o.Lane
	if before, ok := k.last[o.Lane]; ok && op.Phase == oplog.PhaseLoad && op.At < before+gap {
		bad("only %s after the former of its lane", op.At-before)
	}
	if op.Phase == oplog.PhaseLoad {
		k.last[o.Lane] = op.At
	}
	if op.Type != oplog.TypeCreate {
		if k.bearer[o.Lane] != o {
			bad("it does not exist")
		}
	} else {
		if k.bearer[o.Lane] != nil {
			bad("its name is taken")
		}
		k.bearer[o.Lane], k.created[o] = o, op.At
		for _, x := range []*Target{o.Owner, o.Subject} {
			if x == nil {
				continue
			}
			if made, ok := k.created[x]; !ok || op.Phase == oplog.PhaseLoad && made > 0 && op.At < made+gap {
				bad("%s %s, which it depends on, is not there", x.Kind, x.Name)
			}
		}
	}
	for _, e := range op.State.Endpoints {
		if _, ok := k.created[e]; !ok {
			bad("endpoint %s does not exist", e.Name)
		}
	}
	if len(op.State.Endpoints) > maxEndpoints {
		bad("%d endpoints", len(op.State.Endpoints))
	}
	if o.Kind == "Pod" && o.Node != NoNode && op.Type == oplog.TypeCreate {
		if k.onNode[o.Node]++; k.onNode[o.Node] > podsPerNode+2 { // two that go while their names' next come
			bad("node %d has %d pods", o.Node, k.onNode[o.Node])
		}
	}
	if op.Type == oplog.TypeDelete {
		if !op.Last {
			bad("something is to follow")
		}
		k.bearer[o.Lane] = nil
		if o.Kind == "Pod" && o.Node != NoNode {
			k.onNode[o.Node]--
		}
	}
}

// counted are the writes per created pod and kind of a plan whose lives all end.
func counted(p *Plan) (perPod map[string]float64, total float64) {
	perPod = map[string]float64{}
	pods := 0.0
	for op := range p.Timed() {
		if k := op.Target.Kind; k != "Lease" && k != "Node" {
			perPod[k]++
			perPod[k+"/"+op.Type]++
			total++
		}
		if op.Target.Kind == "Pod" && op.Type == oplog.TypeCreate {
			pods++
		}
	}
	for k := range perPod {
		perPod[k] /= pods
	}
	return perPod, total / pods
}

// TestCountsPerLife holds what one pod means against what real clusters write; see
// docs/load.md.
func TestCountsPerLife(t *testing.T) {
	whole := func(change func(*Tuning)) func(*Config) {
		return func(c *Config) {
			c.Rate, c.Arrival, c.Steps = 0, ArrivalStep, []RateStep{{Length: 2 * minute, Rate: 20}, {Length: 8 * minute}}
			c.Duration, c.Nodes = 10*minute, 200
			c.Tuning = &Tuning{Services: ServiceTuning{Lifetime: dist.MustDuration("LN(60s,0.5) clip 10s..180s")}}
			if change != nil {
				change(c.Tuning)
			}
		}
	}
	for _, tc := range []struct {
		name, profile string
		change        func(*Tuning)
		want          map[string][2]float64 // from, to
	}{
		{"service", ProfileServiceChurn, nil, map[string][2]float64{
			"": {24, 28}, "Pod": {9.4, 9.9}, "Event": {7.5, 9.5}, "ReplicaSet": {2.8, 3.7}, "Deployment": {3, 4}, "EndpointSlice": {1, 2.1},
			"Pod/create": {1, 1}, "Pod/delete": {0.98, 1}, "Pod/terminate": {0.98, 1}, "Pod/running": {0.35, 0.65}, "Pod/acknowledged": {0.98, 1}, "Pod/terminated": {0.98, 1}, "Pod/ready": {0.98, 1.01},
		}},
		{"jobs of one pod", ProfileBatchJobs, func(tn *Tuning) {
			tn.Jobs = JobTuning{Pods: dist.MustNumber("1"), Run: dist.MustDuration("LN(10s,0.5)"), TTL: 5 * second}
		}, map[string][2]float64{"Pod": {8.8, 9.4}, "Job": {6, 7}, "Event": {6, 9}, "Pod/running": {0, 0}, "Pod/stopped": {0.99, 1}, "Pod/succeeded": {0.99, 1}, "Pod/unfinalized": {0.99, 1}, "Pod/terminate": {0, 0}, "Pod/delete": {0.99, 1}}},
		{"large jobs", ProfileBatchJobs, func(tn *Tuning) {
			tn.Jobs = JobTuning{Pods: dist.MustNumber("100"), Run: dist.MustDuration("10s"), TTL: 5 * second}
		}, map[string][2]float64{"Job": {0.05, 0.9}}},
		{"rollout", ProfileRollout, nil, map[string][2]float64{
			"Pod": {9.3, 9.9}, "ReplicaSet": {5, 8}, "Deployment": {2.5, 4.5}, "EndpointSlice": {1, 3}, "Event": {5, 10},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, total := counted(profilePlan(t, tc.profile, whole(tc.change)))
			got[""] = total
			t.Logf("%.2f writes per pod; %.2v", total, got)
			for k, want := range tc.want {
				if v := got[k]; !(v >= want[0] && v <= want[1]) {
					t.Errorf("%s: %.3f per pod, want %v to %v", k, v, want[0], want[1])
				}
			}
		})
	}
}

// A large Deployment has several slices, each as full as the controller fills it.
func TestSlicesAreFull(t *testing.T) {
	p := profilePlan(t, ProfileRollout, func(c *Config) {
		c.Tuning = &Tuning{Services: ServiceTuning{Selected: ptr(1)}, Rollouts: RolloutTuning{Size: dist.MustNumber("250"), Deployments: 2}}
	})
	members := map[*Target]int{}
	for op := range p.Setup() {
		if op.Target.Kind == "EndpointSlice" {
			members[op.Target] = len(op.State.Endpoints)
		}
	}
	if got := slices.Sorted(maps.Values(members)); !slices.Equal(got, []int{50, 50, 100, 100, 100, 100}) {
		t.Errorf("the slices of two times 250 pods have %v endpoints", got)
	}
	most := 0
	for op := range p.Timed() {
		most = max(most, len(op.State.Endpoints))
	}
	if most != 100 {
		t.Errorf("a slice has %d endpoints during rollouts", most)
	}
}

// A pod that crashes is written three times per restart, its pauses double, and its Events
// are counted up.
func TestCrashLoop(t *testing.T) {
	p := profilePlan(t, ProfileCrashLoop, func(c *Config) {
		c.Rate, c.Duration = 0.2, 20*minute
		c.Tuning = &Tuning{Stages: StageTuning{Probe: dist.MustDuration("1s"), Running: dist.MustDuration("1s")}, Crashes: CrashTuning{Run: dist.MustDuration("2s")}}
	})
	pauses := map[*Target][]time.Duration{}
	since := map[*Target]time.Duration{}
	kinds := map[string]int{}
	for op := range p.Timed() {
		kinds[op.Target.Kind+"/"+op.Type]++
		switch {
		case op.Target.Kind == "Pod" && op.Type == oplog.TypeCrashed:
			since[op.Target] = op.At
		case op.Target.Kind == "Pod" && (op.Type == oplog.TypeRunning || op.Type == oplog.TypeReady) && since[op.Target] > 0:
			if op.State.Restarts != len(pauses[op.Target])+1 {
				t.Fatalf("restart %d is counted as %d", len(pauses[op.Target])+1, op.State.Restarts)
			}
			pauses[op.Target] = append(pauses[op.Target], op.At-since[op.Target])
			delete(since, op.Target)
		}
	}
	longest := 0
	for _, all := range pauses {
		longest = max(longest, len(all))
		for i, d := range all {
			want := time.Second // it takes 1s to start
			if i > 0 {
				want += min(10*time.Second<<(i-1), 5*time.Minute)
			}
			if d < want || d > want+200*time.Millisecond {
				t.Fatalf("pause %d lasted %s, want %s", i+1, d, want)
			}
		}
	}
	if longest < 6 {
		t.Errorf("no pod restarted more than %d times", longest)
	}
	if restarts := kinds["Pod/crashed"]; kinds["Event/update"] < 2*restarts {
		t.Errorf("%d updates of Events for %d restarts", kinds["Event/update"], restarts)
	}
}

// A lost node's pods are unready within seconds, and deleted and replaced after the
// toleration; they go when it is back.
func TestNodeFlap(t *testing.T) {
	p := profilePlan(t, ProfileNodeFlap, func(c *Config) {
		c.Rate, c.Duration, c.Prefill, c.Nodes = 1, 20*minute, 600, 20
		share := 0.05
		c.Tuning = &Tuning{Flaps: FlapTuning{Share: &share}}
	})
	down, lost := map[int]time.Duration{}, 0
	nodes, evicted, unready := 0, 0, 0
	for op := range p.Timed() {
		o := op.Target
		switch {
		case o.Kind == "Node" && op.Type == oplog.TypeUnready:
			down[o.Node], nodes = op.At, nodes+1
		case o.Kind == "Node" && op.Type == oplog.TypeReady:
			if away := op.At - down[o.Node]; away < 10*time.Minute || away > 11*time.Minute {
				t.Errorf("node %d was away for %s", o.Node, away)
			}
			delete(down, o.Node)
		case o.Kind == "Lease":
			if since, ok := down[o.Node]; ok && op.At > since+time.Second {
				t.Fatalf("the lost node %d renews its lease", o.Node)
			}
		case o.Kind == "Pod" && op.Type == oplog.TypeUnready:
			unready++
			if d := op.At - down[o.Node]; d > 3*time.Second {
				t.Errorf("%s is unready only after %s", o.Name, d)
			}
		case o.Kind == "Event" && o.Reason == "TaintManagerEviction":
			evicted++
		case o.Kind == "Pod" && (op.Type == oplog.TypeTerminated || op.Type == oplog.TypeAcknowledged):
			if since, ok := down[o.Node]; ok && op.At > since+time.Second {
				lost++
			}
		}
	}
	if nodes == 0 || unready < 20*nodes || evicted < 10*nodes/2 || lost > 0 {
		t.Errorf("%d nodes were lost, %d pods unready, %d evicted; %d were reported on by a kubelet that is away", nodes, unready, evicted, lost)
	}
}

// The parts of a plan are the plan, and each workload is in one.
func TestPartsAreTheWhole(t *testing.T) {
	p := profilePlan(t, ProfileMixedProduction, func(c *Config) { c.Hotkeys = &Hotkeys{Objects: 4, Burst: 5, Share: 0.1}; c.Duration = minute / 2 })
	const n = 3
	type key struct {
		id   int64
		name string
	}
	from, sizes := map[key]int{}, [n]int{}
	lanes := map[int64]int{}
	for i := range n {
		q, err := p.Part(i, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, ops := range []iter.Seq[Op]{q.Setup(), q.Timed()} {
			for op := range ops {
				sizes[i]++
				from[key{op.ID, op.Target.Name}]++
				for o := op.Target; o != nil; o = o.Owner {
					if in, ok := lanes[o.Lane]; ok && in != i {
						t.Fatalf("%s %s is in parts %d and %d", o.Kind, o.Name, in, i)
					}
					lanes[o.Lane] = i
				}
				for _, e := range op.State.Endpoints {
					if lanes[e.Lane] != i {
						t.Fatalf("the endpoint %s is in part %d, its slice in %d", e.Name, lanes[e.Lane], i)
					}
				}
			}
		}
		if planned := q.Planned(); planned == 0 || planned >= int64(sizes[i]) {
			t.Errorf("part %d plans %d operations of the load, with those before it there are %d", i, planned, sizes[i])
		}
	}
	whole := 0
	for _, ops := range []iter.Seq[Op]{p.Setup(), p.Timed()} {
		for op := range ops {
			whole++
			if from[key{op.ID, op.Target.Name}] != 1 {
				t.Fatalf("operation %d is in %d parts", op.ID, from[key{op.ID, op.Target.Name}])
			}
		}
	}
	if sum := sizes[0] + sizes[1] + sizes[2]; sum != whole || slices.Min(sizes[:]) < whole/10 {
		t.Errorf("the parts have %v operations, the whole %d", sizes, whole)
	}
	for _, wrong := range [][2]int{{0, 0}, {-1, 2}, {2, 2}} {
		if _, err := p.Part(wrong[0], wrong[1]); err == nil {
			t.Errorf("part %d of %d is taken", wrong[0], wrong[1])
		}
	}
}

// timeScale divides lifetimes and nothing else.
func TestTimeScale(t *testing.T) {
	measure := func(scale float64) (stage, life time.Duration) {
		p := profilePlan(t, ProfileServiceChurn, func(c *Config) {
			c.Tuning = &Tuning{TimeScale: scale, Cluster: ClusterTuning{LeasePeriod: minute}, Services: ServiceTuning{Lifetime: dist.MustDuration("200s"), Step: dist.MustNumber("1")}}
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

// Workloads are divided among the namespaces by rank.
func TestNamespacesAreZipf(t *testing.T) {
	p := profilePlan(t, ProfileBatchJobs, func(c *Config) {
		c.Rate, c.Duration, c.Nodes = 100, minute, 200
		c.Tuning = &Tuning{Jobs: JobTuning{Pods: dist.MustNumber("1")}}
	})
	counts := map[int]float64{}
	all := 0.0
	for op := range p.Timed() {
		if op.Target.Kind == "Job" && op.Type == oplog.TypeCreate {
			counts[op.Target.Namespace]++
			all++
		}
	}
	h := 0.0
	for k := 1; k <= 20; k++ {
		h += 1 / float64(k)
	}
	for k := range 5 {
		want := all / h / float64(k+1)
		if d := math.Abs(counts[k] - want); d > 5*math.Sqrt(want) {
			t.Errorf("namespace %d has %v of %v workloads, want about %.0f", k, counts[k], all, want)
		}
	}
}
