package calibration

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func recorded(t testing.TB, name string) []Step {
	t.Helper()
	steps, err := Recorded(name)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// The constants are what the recordings say.
func TestLives(t *testing.T) {
	for name, want := range map[string][]string{"deployment-pod": DeploymentPod, "deployment-pod-probe": ProbedPod, "job-pod": JobPod} {
		steps := recorded(t, name)
		if got := Stages(steps, "Pod", 0); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		n := Counts(steps)
		if n["Pod ADDED"] != 1 || n["Pod MODIFIED"] != len(want)-2 || n["Pod DELETED"] != 1 {
			t.Errorf("%s: %v", name, n)
		}
	}
	for stage, want := range PodShare {
		steps := recorded(t, "deployment-pod")
		if stage == Running {
			steps = recorded(t, "deployment-pod-probe")
		}
		if got := Share(steps, "Pod", stage, Ready); math.Abs(got-want) > 0.01 {
			t.Errorf("a pod that is %s has %.3f of the size of a ready one, want %.2f", stage, got, want)
		}
	}
}

func TestRollout(t *testing.T) {
	n := Counts(recorded(t, "rollout-30"))
	for what, want := range PerReplacedPod {
		if got := float64(n[what]) / 30; math.Abs(got-want) > 0.05 {
			t.Errorf("%s: %.2f for each pod, want %.1f", what, got, want)
		}
	}
}

func TestCrashLoop(t *testing.T) {
	steps := recorded(t, "crashloop")
	stages := Stages(steps, "Pod", 0)
	first := slices.Index(stages, Stopped) // the first restart has no back-off
	cycles := stages[first+2 : slices.Index(stages, Terminated)]
	for range 3 {
		if i := slices.Index(cycles, BackOff); i < 1 || !slices.Equal(cycles[i-1:i+2], CrashCycle) {
			t.Fatalf("after the first restart %q, want %q", cycles, CrashCycle)
		}
		cycles = cycles[slices.Index(cycles, BackOff)+1:]
	}
	// One whole restart: from one back-off to the next.
	var began []int64
	for _, s := range steps {
		if s.Stage == BackOff && s.Kind == "Pod" {
			began = append(began, s.At)
		}
	}
	if len(began) < 3 {
		t.Fatalf("%d restarts with back-off", len(began))
	}
	within := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.At < began[0] || s.At >= began[2] })
	n := Counts(within)
	for what, want := range PerRestart {
		if got := float64(n[what]) / 2; math.Abs(got-want) > 0.5 {
			t.Errorf("%s: %.1f for each restart, want %.1f", what, got, want)
		}
	}
}

func TestRecordings(t *testing.T) {
	names := Names()
	if len(names) < 3 {
		t.Fatalf("recordings %q", names)
	}
	for _, name := range names {
		steps := recorded(t, name)
		last := map[string]int64{}
		for i, s := range steps {
			if s.At < last[s.Kind] {
				t.Errorf("%s: step %d goes back in time", name, i)
			}
			last[s.Kind] = s.At
		}
		if len(steps) < 10 {
			t.Errorf("%s: only %d steps", name, len(steps))
		}
	}
	if _, err := Recorded("nothing"); err == nil || !strings.Contains(err.Error(), "job-pod") {
		t.Errorf("got error %v, want one that lists the recordings", err)
	}
}

// Compare finds nothing between a recording and itself, and each change that is made to
// one.
func TestCompare(t *testing.T) {
	strict := Tolerance{Count: 0.1, Size: 0.05, Sizes: true}
	steps := recorded(t, "deployment-pod-probe")
	if got := Compare(steps, steps, strict); len(got) != 0 {
		t.Errorf("with itself: %q", got)
	}
	without := func(drop func(Step) bool) []Step { return slices.DeleteFunc(slices.Clone(steps), drop) }
	resized := slices.Clone(steps)
	for i := range resized {
		if resized[i].Stage == Creating {
			resized[i].Stripped /= 2
		}
	}
	for _, c := range []struct {
		name    string
		altered []Step
		says    string
	}{
		{"nothing", nil, "nothing to compare"},
		{"no sandbox", without(func(s Step) bool { return s.Stage == Sandbox }), "created bound creating running ready"},
		{"no Events", without(func(s Step) bool { return s.Kind == "Event" }), "Event ADDED: 0.00 for each pod"},
		{"half the writes of the ReplicaSet", without(func(s Step) bool { return s.Kind == "ReplicaSet" && s.At > 4000 }), "ReplicaSet MODIFIED"},
		{"a thin pod", resized, "a pod that is creating has 47 %"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(Compare(steps, c.altered, strict), "\n"); !strings.Contains(got, c.says) {
				t.Errorf("got %q, want %q", got, c.says)
			}
		})
	}
}

func TestStageOf(t *testing.T) {
	for _, c := range []struct{ kind, event, object, want string }{
		{"Pod", "ADDED", `{}`, Created},
		{"Pod", "MODIFIED", `{"spec":{"nodeName":"n"}}`, Bound},
		{"Pod", "MODIFIED", `{"spec":{"nodeName":"n"},"status":{"startTime":"t","containerStatuses":[{"state":{"waiting":{"reason":"ContainerCreating"}}}]}}`, Creating},
		{"Pod", "MODIFIED", `{"status":{"startTime":"t","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`, BackOff},
		{"Pod", "MODIFIED", `{"status":{"phase":"Running","containerStatuses":[{"state":{"terminated":{}}}]}}`, Stopped},
		{"Pod", "MODIFIED", `{"metadata":{"deletionTimestamp":"t"},"status":{"containerStatuses":[{"state":{"running":{}}}]}}`, Terminating},
		{"Pod", "DELETED", `{}`, Deleted},
		{"Event", "ADDED", `{"reason":"Pulled"}`, "Pulled"},
		{"Job", "MODIFIED", `{"status":{"conditions":[{"type":"Complete","status":"True"}]}}`, Complete},
		{"Job", "MODIFIED", `{"metadata":{"deletionTimestamp":"t"}}`, Terminating},
		{"ReplicaSet", "ADDED", `{}`, Created},
	} {
		if got, err := StageOf(c.kind, c.event, []byte(c.object)); err != nil || got != c.want {
			t.Errorf("%s %s %s: %q, %v, want %q", c.kind, c.event, c.object, got, err, c.want)
		}
	}
	if _, err := StageOf("Pod", "ADDED", []byte(`[`)); err == nil {
		t.Error("half a list has a stage")
	}
}

func compressed(t testing.TB, text string) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return enc.EncodeAll([]byte(text), nil)
}

func FuzzRead(f *testing.F) {
	f.Add(compressed(f, `{"at":0,"kind":"Pod","object":0,"type":"ADDED","stage":"created","bytes":3,"stripped":2}`))
	f.Add(compressed(f, `{"at":0,"kind":"Pod"}`))
	f.Add([]byte("no zstd"))
	f.Fuzz(func(t *testing.T, data []byte) {
		steps, err := read(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
			return
		}
		for _, s := range steps {
			if s.Kind == "" || s.Bytes < s.Stripped || s.Stripped <= 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

func FuzzStageOf(f *testing.F) {
	f.Add("Pod", "MODIFIED", []byte(`{"spec":{"nodeName":"n"}}`))
	f.Fuzz(func(t *testing.T, kind, event string, data []byte) {
		stage, err := StageOf(kind, event, data)
		if kind != "Event" && (stage == "") != (err != nil) {
			t.Errorf("stage %q, error %v", stage, err)
		}
	})
}

func ExampleStages() {
	steps, err := Recorded("job-pod")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Join(Stages(steps, "Pod", 0), " "))
	// Output: created bound creating sandbox ready stopped ended ended terminated deleted
}
