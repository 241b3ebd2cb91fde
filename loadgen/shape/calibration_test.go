package shape_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

const second = units.Duration(time.Second)

func portion(v float64) *float64 { return &v }

// imitate plays a plan in which one thing happens, a second after its start, with the numbers
// that the recorded lives had: one container, no pull, no other workload, about their times.
// What the load writes, as an apiserver would serve it, has the form of a recording.
func imitate(t *testing.T, profile string, change func(*plan.Tuning)) (steps []recordedStep) {
	t.Helper()
	cfg := plan.Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Profile = 7, "lives", plan.ModelOpen, profile
	cfg.Steps, cfg.Duration = []plan.RateStep{{Length: second}, {Length: second, Rate: 0.001}}, 600*second
	cfg.Arrival = plan.ArrivalConstant
	cfg.Namespaces, cfg.Nodes = 1, 1
	cfg.Tuning = &plan.Tuning{
		Stages:   plan.StageTuning{PullShare: portion(0), ProbeShare: portion(0), Stop: dist.Must[dist.Duration]("6s"), Final: dist.Must[dist.Duration]("1500ms")},
		Pods:     plan.PodTuning{Containers: dist.Must[dist.Number]("1"), InitShare: portion(0)},
		Sizes:    plan.SizeTuning{Pod: dist.Must[dist.Size]("12KB")},
		Services: plan.ServiceTuning{Deployments: 1, Selected: portion(1), Step: dist.Must[dist.Number]("1"), Lifetime: dist.Must[dist.Duration](lifetime.String())},
		Rollouts: plan.RolloutTuning{Deployments: 1, Size: dist.Must[dist.Number]("30")},
		Jobs:     plan.JobTuning{Pods: dist.Must[dist.Number]("1"), Run: dist.Must[dist.Duration]("5s"), TTL: new(4 * second), CronShare: portion(0)},
		Crashes:  plan.CrashTuning{Run: dist.Must[dist.Duration]("3s")},
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

func step(t *testing.T, op plan.Op, event string, number int, text []byte) recordedStep {
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
	s := recordedStep{At: op.At.Milliseconds(), Kind: op.Target.Kind, Object: number, Type: event, Bytes: length()}
	delete(meta, "managedFields")
	s.Stripped = length()
	var err error
	if s.Stage, err = stageOf(s.Kind, event, text); err != nil {
		t.Fatal(err)
	}
	return s
}

func only(steps []recordedStep, keep func(recordedStep) bool) []recordedStep {
	return slices.DeleteFunc(slices.Clone(steps), func(s recordedStep) bool { return !keep(s) })
}

// ofPods keeps what is written for a pod whoever asks for it. The recordings make and delete a whole Deployment, where
// the plan scales one: of its owners' writes only the beginning can be compared, and Events of scaling not at all. A
// probe that fails while the pod ends is no part of the plan.
func ofPods(s recordedStep) bool {
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
func writes(steps []recordedStep, kind string, until int64) (n int) {
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
func leftSlice(steps []recordedStep) bool {
	last := slices.IndexFunc(steps, func(s recordedStep) bool { return s.Kind == "Pod" && s.Type == "DELETED" })
	return !slices.ContainsFunc(steps[last:], func(s recordedStep) bool { return s.Kind == "EndpointSlice" })
}

// TestImitatedLives holds what the plan writes against what a real cluster wrote. A life alone leaves nothing to
// chance: its writes are the same in number and order, and each stage of the pod has the recorded share of its size, to
// six points. In a rollout of 30 controllers gather what happens at a time; there the numbers agree to 15 %.
func TestImitatedLives(t *testing.T) {
	exact := tolerance{Size: 0.06, Sizes: true}
	for _, c := range []struct {
		recording, profile string
		change             func(*plan.Tuning)
		until              units.Duration // the pod's life is to end then
	}{
		{"deployment-pod", plan.ProfileServiceChurn, nil, lifetime},
		{"deployment-pod-probe", plan.ProfileServiceChurn, func(tn *plan.Tuning) { tn.Stages.ProbeShare = portion(1) }, lifetime},
		{"crashloop", plan.ProfileCrashLoop, func(tn *plan.Tuning) { tn.Services.Lifetime = dist.Must[dist.Duration]("120s") }, 120 * second},
	} {
		t.Run(c.recording, func(t *testing.T) {
			want := recorded(t, c.recording)
			got := imitate(t, c.profile, c.change)
			for _, d := range compareLives(only(want, ofPods), only(got, ofPods), exact) {
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
		want := recorded(t, "job-pod")
		got := imitate(t, plan.ProfileBatchJobs, nil)
		for _, d := range compareLives(want, got, exact) {
			t.Error(d)
		}
		if w, g := stagesOf(want, "Job", 0), stagesOf(got, "Job", 0); !slices.Equal(w, g) {
			t.Errorf("the Job goes through %q, in the recording through %q", g, w)
		}
	})
	t.Run("rollout-30", func(t *testing.T) {
		want := recorded(t, "rollout-30")
		// Its kubelet had more to do than it could; these are the times that it took.
		got := imitate(t, plan.ProfileRollout, func(tn *plan.Tuning) {
			tn.Stages.Creating, tn.Stages.Sandbox = dist.Must[dist.Duration]("uniform(170ms,9s)"), dist.Must[dist.Duration]("uniform(2s,17s)")
			tn.Stages.Running, tn.Stages.Stop = dist.Must[dist.Duration]("uniform(100ms,18s)"), dist.Must[dist.Duration]("uniform(5s,20s)")
			tn.Stages.Final = dist.Must[dist.Duration]("uniform(30ms,15s)")
		})
		for _, d := range compareLives(want, got, tolerance{Count: 0.15, Size: 0.06, Sizes: true}) {
			t.Error(d)
		}
	})
}

// object is what of an object says its stage.
type object struct {
	Metadata struct {
		DeletionTimestamp string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Reason string `json:"reason"` // of an Event
	Spec   struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		StartTime  string `json:"startTime"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
		Containers []struct {
			State struct {
				Waiting    *struct{ Reason string } `json:"waiting"`
				Running    *struct{}                `json:"running"`
				Terminated *struct{}                `json:"terminated"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
}

// stageOf names the stage of an object that a watch event of that type brought: of a Pod one of those above, of an
// Event its reason, of other kinds whether it is new, changed, complete (a Job), on its way out, or gone.
func stageOf(kind, event string, raw []byte) (string, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return "", fmt.Errorf("the stage of a %s: %w", kind, err)
	}
	switch {
	case kind == "Event":
		return o.Reason, nil
	case event == "DELETED":
		return "deleted", nil
	case kind == "Pod":
		return o.pod(), nil
	case event == "ADDED":
		return "created", nil
	case o.Metadata.DeletionTimestamp != "":
		return "terminating", nil
	case kind == "Job" && o.is("Complete"):
		return "complete", nil
	}
	return "changed", nil
}

func (o *object) is(condition string) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True"
		}
	}
	return false
}

func (o *object) pod() string {
	running, ended, waits := 0, 0, false
	for _, c := range o.Status.Containers {
		switch {
		case c.State.Running != nil:
			running++
		case c.State.Terminated != nil:
			ended++
		case c.State.Waiting != nil:
			waits = waits || c.State.Waiting.Reason == "CrashLoopBackOff"
		}
	}
	all := len(o.Status.Containers)
	switch s := o.Status; {
	case o.Metadata.DeletionTimestamp != "" && all > 0 && ended == all:
		return "terminated"
	case o.Metadata.DeletionTimestamp != "":
		return "terminating"
	case s.Phase == "Succeeded" || s.Phase == "Failed":
		return "ended"
	case waits:
		return "back-off"
	case ended > 0:
		return "stopped"
	case o.is("Ready"):
		return "ready"
	case running > 0:
		return "running"
	case o.is("PodReadyToStartContainers"):
		return "sandbox"
	case s.StartTime != "":
		return "creating"
	case o.Spec.NodeName != "":
		return "bound"
	}
	return "created"
}

// recordedStep is one watch event of a recording of a real cluster, docs/md.
type recordedStep struct {
	At     int64  `json:"at"` // milliseconds since the first of the recording
	Kind   string `json:"kind"`
	Object int    `json:"object"` // of its kind, numbered from 0 in the order of appearance
	Type   string `json:"type"`   // ADDED, MODIFIED or DELETED
	Stage  string `json:"stage"`  // see stageOf
	// Bytes is the length of the object as compact JSON, Stripped without managedFields.
	Bytes    int    `json:"bytes"`
	Stripped int    `json:"stripped"`
	Writer   string `json:"writer,omitempty"`
}

func recorded(t *testing.T, name string) (steps []recordedStep) {
	t.Helper()
	data, err := os.ReadFile("testdata/recorded/" + name + ".ndjson.zst")
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	for lines := json.NewDecoder(dec); ; {
		var s recordedStep
		if err := lines.Decode(&s); errors.Is(err, io.EOF) {
			return steps
		} else if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}
}

// countsOf is the number of steps by kind and type, such as "Pod ADDED".
func countsOf(steps []recordedStep) map[string]int {
	n := map[string]int{}
	for _, s := range steps {
		n[s.Kind+" "+s.Type]++
	}
	return n
}

// stagesOf are those of one object, in order; repeated ones stand as often as they came.
func stagesOf(steps []recordedStep, kind string, object int) (stages []string) {
	for _, s := range steps {
		if s.Kind == kind && s.Object == object {
			stages = append(stages, s.Stage)
		}
	}
	return stages
}

// shareOf is the median size of a kind's objects in a stage as a part of that in another,
// without managedFields; 0 where one of them is missing.
func stageShare(steps []recordedStep, kind, stage, of string) float64 {
	a, b := median(steps, kind, stage), median(steps, kind, of)
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func median(steps []recordedStep, kind, stage string) int {
	var sizes []int
	for _, s := range steps {
		if s.Kind == kind && s.Stage == stage {
			sizes = append(sizes, s.Stripped)
		}
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// tolerance is how far an imitation may be from what was recorded.
type tolerance struct {
	Count float64 // of events per object, by kind; 0.2 is a fifth
	Size  float64 // of a stage's share of Ready, of pods; absolute: 0.1 is ten points
	Sizes bool    // whether sizes are compared at all
}

// compareLives says how the imitated lives differ from recorded ones: pods that go through
// other stages, kinds that are written more or less often for each pod, and stages whose
// objects grow otherwise. Both must have pods. An empty answer is none.
func compareLives(recorded, imitated []recordedStep, t tolerance) (differences []string) {
	say := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	pods, ours := objects(recorded, "Pod"), objects(imitated, "Pod")
	if pods == 0 || ours == 0 {
		say("%d pods were recorded, %d imitated: nothing to compare", pods, ours)
		return differences
	}
	lives := map[string]bool{}
	for i := range pods {
		lives[life(recorded, i)] = true
	}
	for i := range ours {
		if l := life(imitated, i); !lives[l] {
			say("pod %d goes through %s; recorded pods go through %s", i, l, strings.Join(slices.Sorted(maps.Keys(lives)), " or "))
			break
		}
	}
	want, have := countsOf(recorded), countsOf(imitated)
	all := maps.Clone(want)
	maps.Copy(all, have)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		w, h := float64(want[k])/float64(pods), float64(have[k])/float64(ours)
		if math.Abs(w-h) > t.Count*max(w, 1) {
			say("%s: %.2f for each pod, %.2f in the recording", k, h, w)
		}
	}
	if !t.Sizes {
		return differences
	}
	for _, stage := range []string{"created", "bound", "creating", "sandbox", "running", "stopped", "back-off", "ended", "terminating", "terminated"} {
		w, h := stageShare(recorded, "Pod", stage, "ready"), stageShare(imitated, "Pod", stage, "ready")
		if w != 0 && h != 0 && math.Abs(w-h) > t.Size {
			say("a pod that is %s has %.0f %% of the size of a ready one, %.0f %% in the recording", stage, 100*h, 100*w)
		}
	}
	return differences
}

func objects(steps []recordedStep, kind string) (n int) {
	for _, s := range steps {
		if s.Kind == kind {
			n = max(n, s.Object+1)
		}
	}
	return n
}

// life is the stages of a pod with what repeats of them once.
func life(steps []recordedStep, pod int) string {
	return strings.Join(slices.Compact(stagesOf(steps, "Pod", pod)), " ")
}
