package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/units"
)

const (
	head   = "runID: r1\n"
	closed = head + "model: closed\nthreads: 4\noperations: 10\n"
	open   = head + "model: open\nrate: 10\nduration: 5s\n"
)

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, file, want string // want: where, and what the message has to mention
	}{
		{"empty", "", "p.yaml: the file is empty; a plan starts with runID and model"},
		{"not a mapping", "- a\n- b\n", "p.yaml:1: the file is not a mapping"},
		{"unknown field", closed + "thread: 5\n", "p.yaml:5: thread: unknown field; did you mean threads?"},
		{"size that is none", closed + "objectBytes: .nan\n", `p.yaml:5: objectBytes: ".nan" is not a size`},
		{"duration without unit", closed + "duration: 5\n", `p.yaml:5: duration: "5" is not a duration; write a number with ms, s, m or h`},
		{"size too small", closed + "objectBytes: 1KiB\n", "p.yaml:5: objectBytes: 1KiB is out of range"},

		{"no run id", "model: closed\nthreads: 1\noperations: 1\n", "p.yaml: runID: is missing"},
		{"no model", head + "threads: 1\n", "p.yaml: model: is missing"},
		{"unknown model", head + "model: half\n", `p.yaml:2: model: "half" is not known`},

		{"closed without threads", head + "model: closed\noperations: 1\n", "p.yaml: threads: 0 is out of range"},
		{"closed with too many threads", head + "model: closed\nthreads: 100000\noperations: 1\n", "p.yaml:3: threads: "},
		{"closed without an end", head + "model: closed\nthreads: 1\n", "p.yaml: operations: is missing"},
		{"closed with a rate", closed + "rate: 5\n", "p.yaml:5: rate: belongs to the open model"},
		{"duration beyond a day", closed + "duration: 25h\n", "p.yaml:5: duration: 25h is out of range; use at most 24h"},

		{"open without a rate", head + "model: open\nduration: 5s\n", "p.yaml: rate: 0 is out of range"},
		{"open without a duration", head + "model: open\nrate: 5\n", "p.yaml: duration: is missing"},
		{"open with threads", open + "threads: 5\n", "p.yaml:5: threads: belongs to the closed model"},
		{"open with too many operations", head + "model: open\nrate: 100000\nduration: 1h\n", "p.yaml:3: rate: "},
		{"unknown arrival", open + "arrival: random\n", `p.yaml:5: arrival: "random" is not known; use constant or poisson, and steps for a rate that changes`},
		{"a former arrival's section", open + "burst: {period: 1s}\n", "p.yaml:5: burst: unknown field; write steps, such as ["},
		{"closed with steps", closed + "steps: [{length: 1s, rate: 1}]\n", "p.yaml:5: steps: belongs to the open model"},
		{"a step without a length", open + "steps: [{rate: 1}]\n", "p.yaml:5: steps[0].length: 0s is out of range; use more than 0s and at most 24h"},

		{"unknown lifecycle", closed + "lifecycle: pod/slow\n", `p.yaml:5: lifecycle: "pod/slow" is not known; use pod/fast, or spell out stages`},
		{"lifecycle and stages", closed + "lifecycle: pod/fast\nstages: [{stage: create}]\n", "p.yaml:6: stages: lifecycle and stages exclude each other"},
		{"unknown stage", closed + "stages:\n- stage: create\n- stage: explode\n", `p.yaml:7: stages[1].stage: "explode" is not a stage`},
		{"life without a beginning", closed + "stages: [{stage: bind}]\n", "p.yaml:5: stages[0].stage: a life begins with create"},
		{"grace without a node", closed + "stages: [{stage: create}, {stage: terminate}, {stage: delete}]\n", "p.yaml:5: stages[1].stage: terminate has no effect on a pod without a node, which goes at once; put bind before it"},
		{"life that stays terminating", closed + "stages: [{stage: create}, {stage: bind}, {stage: terminate}]\n", "p.yaml:5: stages[2].stage: a life cannot end with terminate; put delete behind it"},
		{"repeated stage that is no patch", closed + "stages:\n- stage: create\n  times: 2\n", "p.yaml:7: stages[0].times: only a patch"},

		{"hot keys without pods", closed + "hotkeys: {burst: 2, share: 0.1}\n", "p.yaml:5: hotkeys.objects: 0 is out of range; use 1 to 1000"},
		{"hot keys without bursts", closed + "hotkeys: {objects: 2, share: 0.1}\n", "p.yaml:5: hotkeys.burst: 0 is out of range; use 2 to 100"},

		{"survivors beyond all", closed + "survivors: 1.5\n", "p.yaml:5: survivors: 1.5 is out of range; use 0 to 1"},
		{"bystander of a strange kind", closed + "bystander: {kind: Secret, rate: 2}\n", `p.yaml:5: bystander.kind: "Secret" is not supported`},
		{"bystander without a rate", closed + "bystander: {kind: ConfigMap}\n", "p.yaml:5: bystander.rate: 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("p.yaml", []byte(tc.file))
			if err == nil {
				t.Fatalf("accepted:\n%s", tc.file)
			}
			if got := err.Error(); !strings.HasPrefix(got, tc.want) || strings.Contains(got, "\n") {
				t.Errorf("got  %s\nwant %s…", got, tc.want)
			}
		})
	}
}

func TestParseFillsDefaults(t *testing.T) {
	got, err := Parse("p.yaml", []byte(closed))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.RunID, want.Model, want.Threads, want.Operations = "r1", ModelClosed, 4, 10
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Survivors != 0.2 || got.Nodes != 5 || got.ObjectBytes != 3072 {
		t.Errorf("documented defaults are survivors 0.2, nodes 5, objectBytes 3KiB: got %v, %v, %v", got.Survivors, got.Nodes, got.ObjectBytes)
	}
}

// full uses every field of a closed and of an open plan.
var full = map[string]Config{
	"closed": {Seed: 1<<64 - 1, RunID: "a-1", Load: Load{
		Model: ModelClosed, Threads: 2, Operations: 3, Duration: units.Duration(1500 * time.Millisecond),
		ThinkTime: units.Duration(87 * time.Millisecond), Stages: []Stage{{Stage: "create"}, {Stage: "patch", Times: 3, Gap: units.Duration(time.Second)}, {Stage: "delete"}},
		StageGap: units.Duration(time.Millisecond), Survivors: 0, Recreate: 1, ObjectBytes: 4000, Namespaces: 3, Nodes: 1,
		Bystander: &Bystander{Kind: KindConfigMap, Rate: 2.5, Objects: 7, ObjectBytes: 2 << 10}, Prefill: 5, Warmup: Warmup{Operations: 9},
	}},
	"open": {RunID: "b", Load: Load{
		Model: ModelOpen, Duration: units.Duration(time.Minute), MaxInFlight: 8,
		Steps:     []RateStep{{Length: units.Duration(5 * time.Second), From: new(0.0), Rate: 10}, {Length: units.Duration(time.Second), Rate: 1}},
		Lifecycle: LifecycleFast, Survivors: 0.25, ObjectBytes: 3 << 10, Namespaces: 1, Nodes: 2,
	}},
}

func TestMarshalledPlanReadsBack(t *testing.T) {
	for name, want := range full {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "plan.json")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadFile(path)
			if err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v\n%s", got, want, data)
			}
		})
	}
}

// TestNotationsOfPlanFiles: decimal sizes, and a zero without its unit.
func TestNotationsOfPlanFiles(t *testing.T) {
	got, err := Parse("p.yaml", []byte(closed+"objectBytes: 3KB\nthinkTime: 0\nstageGap: 1m30s\n"))
	if err != nil || got.ObjectBytes != 3000 || got.ThinkTime != 0 || got.StageGap != units.Duration(90*time.Second) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(closed))
	f.Add([]byte(open + "arrival: poisson\n"))
	f.Add([]byte(closed + "stages: [{stage: create, gap: 1s}, {stage: patch, times: 3}]\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? {}\n: 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return // what is tested is the syntax, not the decoder's speed
		}
		cfg, err := Parse("p", data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error on several lines: %q", err)
			}
			return
		}
		again, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Parse("p", again); err != nil || !reflect.DeepEqual(back, cfg) {
			t.Errorf("%+v is written as\n%s which reads as %+v, %v", cfg, again, back, err)
		}
	})
}
