package calibration_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/calibration"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

const second = units.Duration(time.Second)

func share(v float64) *float64 { return &v }

// imitate plays a plan in which one thing happens, a second after its start, with the numbers
// that the recorded lives had: one container, no pull, no other workload, about their times.
// What the load writes, as an apiserver would serve it, has the form of a recording.
func imitate(t *testing.T, profile string, change func(*plan.Tuning)) (steps []calibration.Step) {
	t.Helper()
	cfg := plan.Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Profile = 7, "lives", plan.ModelOpen, profile
	cfg.Rate, cfg.Arrival, cfg.Trace, cfg.Duration = 0, plan.ArrivalTrace, []units.Duration{second}, 600*second
	cfg.Namespaces, cfg.Nodes = 1, 1
	cfg.Tuning = &plan.Tuning{
		Stages:   plan.StageTuning{PullShare: share(0), ProbeShare: share(0), Stop: dist.MustDuration("6s"), Final: dist.MustDuration("1500ms")},
		Pods:     plan.PodTuning{Containers: dist.MustNumber("1"), InitShare: share(0)},
		Sizes:    plan.SizeTuning{Pod: dist.MustSize("12KB")},
		Services: plan.ServiceTuning{Deployments: 1, Selected: share(1), Step: dist.MustNumber("1"), Lifetime: dist.MustDuration(lifetime.String())},
		Rollouts: plan.RolloutTuning{Deployments: 1, Size: dist.MustNumber("30")},
		Jobs:     plan.JobTuning{Pods: dist.MustNumber("1"), Run: dist.MustDuration("5s"), TTL: new(4 * second), CronShare: share(0)},
		Crashes:  plan.CrashTuning{Run: dist.MustDuration("3s")},
	}
	if change != nil {
		change(cfg.Tuning)
	}
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	maker := shape.New(shape.Config{RunID: cfg.RunID, Namespaces: cfg.NamespaceName, Nodes: cfg.NodeName})
	version := uint64(0)
	serve := func(op plan.Op) []byte {
		version++
		return maker.Served(op, uids{}, version, time.Unix(1_800_000_000, 0).Add(op.At))
	}
	for op := range p.Setup() {
		serve(op)
	}
	numbers := map[*plan.Target]int{}
	count := map[string]int{}
	for op := range p.Timed() {
		text, o := serve(op), op.Target
		if o.Kind == "Node" || o.Kind == "Lease" {
			continue
		}
		if _, known := numbers[o]; !known {
			numbers[o] = count[o.Kind]
			count[o.Kind]++
		}
		for _, event := range eventsOf(op) {
			steps = append(steps, step(t, op, event, numbers[o], text))
		}
	}
	return steps
}

// lifetime is that of a pod in service-churn.
const lifetime = 30 * second

// eventsOf are the watch events that an apiserver makes of an operation.
func eventsOf(op plan.Op) []string {
	switch {
	case op.Type == oplog.TypeCreate:
		return []string{"ADDED"}
	case op.Type == oplog.TypeDelete && op.Target.Kind == "Pod":
		// It writes that the grace is 0 before it takes a pod away (rest.BeforeDelete, and
		// updateForGracefulDeletionAndFinalizers of the generic store).
		return []string{"MODIFIED", "DELETED"}
	case op.Type == oplog.TypeDelete:
		return []string{"DELETED"}
	}
	return []string{"MODIFIED"}
}

func step(t *testing.T, op plan.Op, event string, number int, text []byte) calibration.Step {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	meta := o["metadata"].(map[string]any)
	if op.Type == oplog.TypeDelete && op.Target.Kind == "Pod" {
		meta["deletionGracePeriodSeconds"], meta["deletionTimestamp"] = 0, "2027-01-15T08:00:00Z"
	}
	length := func() int {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		text = b
		return len(b)
	}
	s := calibration.Step{At: op.At.Milliseconds(), Kind: op.Target.Kind, Object: number, Type: event, Bytes: length()}
	delete(meta, "managedFields")
	s.Stripped = length()
	var err error
	if s.Stage, err = calibration.StageOf(s.Kind, event, text); err != nil {
		t.Fatal(err)
	}
	return s
}

type uids struct{}

func (uids) UID(t *plan.Target) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", len(t.Name), t.Lane))
}

func only(steps []calibration.Step, keep func(calibration.Step) bool) []calibration.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s calibration.Step) bool { return !keep(s) })
}

// ofPods keeps what is written for a pod whoever asks for it. The recordings make and delete
// a whole Deployment, where the plan scales one: of its owners' writes only the beginning can
// be compared, and Events of scaling not at all. A probe that fails while the pod ends is no
// part of the plan.
func ofPods(s calibration.Step) bool {
	switch s.Kind {
	case "EndpointSlice":
		return s.Type == "MODIFIED"
	case "Event":
		return !slices.Contains([]string{"ScalingReplicaSet", "SuccessfulDelete", "Unhealthy"}, s.Stage)
	}
	return s.Kind == "Pod"
}

// writes is how often the objects of a kind are written until the pod's life is to end: until
// the Deployment is deleted, or after so many milliseconds.
func writes(steps []calibration.Step, kind string, until int64) (n int) {
	for _, s := range steps {
		if s.Kind == "Deployment" && s.Type == "DELETED" || until > 0 && s.At >= until {
			break
		}
		if s.Kind == kind {
			n++
		}
	}
	return n
}

// leftSlice reports whether the last write of a slice comes before the deletion of the pod:
// an endpoint goes as its pod has ended.
func leftSlice(steps []calibration.Step) bool {
	last := slices.IndexFunc(steps, func(s calibration.Step) bool { return s.Kind == "Pod" && s.Type == "DELETED" })
	return !slices.ContainsFunc(steps[last:], func(s calibration.Step) bool { return s.Kind == "EndpointSlice" })
}

// TestImitatedLives holds what the plan writes against what a real cluster wrote. A life alone
// leaves nothing to chance: its writes are the same in number and order, and each stage of the
// pod has the recorded share of its size, to six points. In a rollout of 30 controllers gather
// what happens at a time; there the numbers agree to 15 %.
func TestImitatedLives(t *testing.T) {
	exact := calibration.Tolerance{Size: 0.06, Sizes: true}
	for _, c := range []struct {
		recording, profile string
		change             func(*plan.Tuning)
		until              units.Duration // the pod's life is to end then
	}{
		{"deployment-pod", plan.ProfileServiceChurn, nil, lifetime},
		{"deployment-pod-probe", plan.ProfileServiceChurn, func(tn *plan.Tuning) { tn.Stages.ProbeShare = share(1) }, lifetime},
		{"crashloop", plan.ProfileCrashLoop, func(tn *plan.Tuning) { tn.Services.Lifetime = dist.MustDuration("120s") }, 120 * second},
	} {
		t.Run(c.recording, func(t *testing.T) {
			want, err := calibration.Recorded(c.recording)
			if err != nil {
				t.Fatal(err)
			}
			got := imitate(t, c.profile, c.change)
			for _, d := range calibration.Compare(only(want, ofPods), only(got, ofPods), exact) {
				t.Error(d)
			}
			if w, g := leftSlice(want), leftSlice(got); !w || !g {
				t.Errorf("a pod leaves its slice before it is deleted: %t, in the recording %t", g, w)
			}
			for _, kind := range []string{"ReplicaSet", "Deployment"} {
				if w, g := writes(want, kind, 0), writes(got, kind, (second+c.until).Std().Milliseconds()); w != g {
					t.Errorf("%s: %d writes from the first on until the pod is to go, %d in the recording", kind, g, w)
				}
			}
		})
	}
	t.Run("job-pod", func(t *testing.T) {
		want, err := calibration.Recorded("job-pod")
		if err != nil {
			t.Fatal(err)
		}
		got := imitate(t, plan.ProfileBatchJobs, nil)
		for _, d := range calibration.Compare(want, got, exact) {
			t.Error(d)
		}
		if w, g := calibration.Stages(want, "Job", 0), calibration.Stages(got, "Job", 0); !slices.Equal(w, g) {
			t.Errorf("the Job goes through %q, in the recording through %q", g, w)
		}
	})
	t.Run("rollout-30", func(t *testing.T) {
		want, err := calibration.Recorded("rollout-30")
		if err != nil {
			t.Fatal(err)
		}
		// Its kubelet had more to do than it could; these are the times that it took.
		got := imitate(t, plan.ProfileRollout, func(tn *plan.Tuning) {
			tn.Stages.Creating, tn.Stages.Sandbox = dist.MustDuration("uniform(170ms,9s)"), dist.MustDuration("uniform(2s,17s)")
			tn.Stages.Running, tn.Stages.Stop = dist.MustDuration("uniform(100ms,18s)"), dist.MustDuration("uniform(5s,20s)")
			tn.Stages.Final = dist.MustDuration("uniform(30ms,15s)")
		})
		for _, d := range calibration.Compare(want, got, calibration.Tolerance{Count: 0.15, Size: 0.06, Sizes: true}) {
			t.Error(d)
		}
	})
}
