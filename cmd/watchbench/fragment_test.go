package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/search"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/watcher/config"
)

// TestFragmentsAreReadBack: k8s-watch takes each value of the settings that a search hands out as it is written, whatever
// is done when a queue is full; the original has each of its keys.
func TestFragmentsAreReadBack(t *testing.T) {
	for _, full := range []string{"coalesce", "block", "drop"} {
		for _, strategy := range search.Strategies {
			f, err := faults.Format.Parse("open.yaml", []byte(open), "watcher.queueFull="+full, "matrix.watcher.strategy=keyed")
			if err != nil {
				t.Fatal(err)
			}
			o, err := search.ParseObjective("freshness.p99=2s")
			if err != nil {
				t.Fatal(err)
			}
			x, err := search.New(search.Options{Scenario: f, Objective: o, Queues: search.Range{Low: 1, High: 8},
				Strategies: []string{strategy}, Repeat: 1, Simulate: search.Virtual})
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Run(t.Context(), fastWatcher{}, func(string) {})
			if err != nil || len(got.Fragments) == 0 {
				t.Fatalf("%s %s: %v, %d fragments", full, strategy, err, len(got.Fragments))
			}
			for i := range got.Fragments {
				if err := checkFragment(&got.Fragments[i]); err != nil {
					t.Errorf("%s %s: %v", full, strategy, err)
				}
			}
		}
	}
}

// fastWatcher holds any objective.
type fastWatcher struct{}

func (fastWatcher) Measure(context.Context, *spec.File) (*result.Results, error) {
	c := result.Cell{ID: "only", Valid: true, Checks: map[string]result.Check{}, Freshness: &result.Quantiles{Count: 9},
		Events: &result.Events{Received: 9, Lost: new(int64)}}
	for _, g := range []string{"G1", "G2", "G3"} {
		c.Checks[g] = result.Check{Verdict: result.Pass}
	}
	return &result.Results{Cells: []result.Cell{c}}, nil
}

// frame is the least that a configuration needs beside a fragment.
const fragmentFrame = `{
  "default": {"clusterID": "BCS-K8S-00000"},
  "watch_resource": {"disable_netservice": true},
  "bcs": {"custom-storage-endpoints": "http://127.0.0.1:50024"}
}`

// checkFragment reads a fragment back with k8s-watch's own decoder, as a part of a whole configuration: each of its
// values must be in force as it is written. One for the original has only keys that the original reads.
func checkFragment(f *result.TuningFragment) error {
	var whole, part map[string]map[string]any
	if err := json.Unmarshal([]byte(fragmentFrame), &whole); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(f.Text), &part); err != nil {
		return fmt.Errorf("%s: %w", f.File, err)
	}
	for section, values := range part {
		for key, v := range values {
			if f.File == search.FileOriginal && !config.Original(section+"."+key) {
				return fmt.Errorf("%s: bcs-k8s-watch has no %s.%s", f.File, section, key)
			}
			if whole[section] == nil {
				whole[section] = map[string]any{}
			}
			whole[section][key] = v
		}
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	cfg, warnings, err := config.Parse(f.File, data)
	if err != nil {
		return fmt.Errorf("the fragment would not start k8s-watch: %w", err)
	}
	if len(warnings) > 0 {
		return fmt.Errorf("the fragment has keys without effect: %s", strings.Join(warnings, "; "))
	}
	return inForce(f.File, part["bcs"], cfg.BCS)
}

func inForce(file string, written map[string]any, read config.BCS) error {
	v := reflect.ValueOf(read)
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("json")
		want, ok := written[key]
		if got := fmt.Sprint(v.Field(i).Interface()); ok && got != fmt.Sprint(want) {
			return fmt.Errorf("%s: bcs.%s is %v and would be taken as %s", file, key, want, got)
		}
	}
	return nil
}

// TestReportOfTune: the folder of a search has its report, and check knows nothing of it.
func TestReportOfTune(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, result.TuningFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code, err := invoke(t, "report", dir)
	if err != nil {
		stderr += err.Error()
	}
	if code != exitInput || !strings.Contains(stderr, "report.md") || strings.Contains(stderr, "watchbench check") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
