package robustness

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const eventful = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: eventful}
storage: {latency: 2ms}
load: {model: open, rate: 50, duration: 6s, prefill: 20, bystander: {kind: ConfigMap, rate: 5}}
watcher: {podQueueNum: 6, synchronizer: {period: 1s}}
extra: {pods: 6, namespaces: 2}
limits: {lag: 10s, minOffered: 20%, minPower: 0}
drainTimeout: 30s
`

func parsed(t *testing.T, text string, sets ...string) *spec.File {
	t.Helper()
	file, err := format.Parse("e2e.yaml", []byte(text), sets...)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// left names the objects beyond namespaces that runs made and left behind.
func left(t *testing.T) (names []string) {
	t.Helper()
	api, err := party.NewAPIServer(clustertest.Start(t).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	for _, path := range []string{rolePath, bindingPath, definitionsPath} {
		err := api.Each(t.Context(), path, party.RunLabel, func(raw json.RawMessage) error {
			names = append(names, string(raw[:min(len(raw), 200)]))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestCells: failpoints of these families in small cells. What their rules find is in the record, from which check
// computes the same results, and nothing is left in the cluster or on disk.
func TestCells(t *testing.T) {
	g := newGround(t, filepath.Join(t.TempDir(), "bin"))
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, tc := range []struct {
		name, fault string
		sets        []string
		columns     string
		facts       map[string]float64 // at least
		invalid     string
	}{
		{"kills", "{row: F15, title: x, assert: [C, O], measure: [T], repairs: true}", []string{"events=[{at: 1s, what: kill-anytime, times: 10, for: 600ms}]"}, "CO", map[string]float64{
			"kills during the first lists": 1, "storage caught up after the last kill": 1,
		}, "any"}, // whether ten kills hit each phase is chance
		{"token", "{row: F27, title: x, assert: [C, T, S, X], recovery: 60s}", []string{
			"events=[{at: 1s, what: rotate-token}]", "watch.faults=['close(500ms,1s)']", "load.duration=16s",
		}, "CTSX", map[string]float64{
			"the apiserver's answer to the former token": 401, "the apiserver's answer to the new token": 200, "watches ended after that": 3,
		}, ""},
		{"customs", "{row: F22, title: x, assert: [C, O, L, A], measure: [T], lists: 0}", []string{
			"events=[{at: 100ms, what: crd-add, count: 3}, {at: 100ms, what: change-customs, count: 9}, {at: 100ms, what: crd-switch}, " +
				"{at: 100ms, what: crd-unserve, for: 100ms}, {at: 100ms, what: crd-remove, count: 2}]",
		}, "COLA", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := g.runner(t.Context(), parsed(t, eventful+"fault: "+tc.fault+"\n", tc.sets...), dir, g.bins, nil)
			if err != nil {
				t.Fatal(err)
			}
			c := out.Results.Cells[0]
			for _, col := range strings.Split(tc.columns, "") {
				if x := c.Robustness.Columns[col]; x.Verdict != result.Pass {
					t.Errorf("%s: %+v", col, x)
				}
			}
			for name, least := range tc.facts {
				if !slices.ContainsFunc(c.Robustness.Facts, func(f result.Fact) bool { return f.Name == name && f.Value >= least }) {
					t.Errorf("no fact %q of at least %v: %+v", name, least, c.Robustness.Facts)
				}
			}
			if len(c.InvalidReasons) > len(c.LateReasons) && tc.invalid == "" {
				t.Errorf("invalid: %v", c.InvalidReasons)
			}
			again, err := assess.Check(t.Context(), out.Dir)
			if err != nil || again.Missing || len(again.Differences) > 0 {
				t.Errorf("check: %v, %v", again, err)
			}
		})
	}
	if names := left(t); len(names) > 0 {
		t.Errorf("left: %q", names)
	}
	if files, err := filepath.Glob(filepath.Join(temp, "watchbench-token-*")); err != nil || len(files) > 0 {
		t.Errorf("left: %v, %v", files, err)
	}
}

// TestInterrupted: definitions that are just being made go, too.
func TestInterrupted(t *testing.T) {
	g := newGround(t, filepath.Join(t.TempDir(), "bin"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := g.runner(ctx, parsed(t, eventful, "events=[{at: 0s, what: crd-add, count: 20}]"), t.TempDir(), g.bins, nil)
		ended <- err
	}()
	for deadline := time.Now().Add(time.Minute); len(left(t)) < 2; {
		if time.Now().After(deadline) {
			t.Fatal("no definition was made")
		}
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("no error")
	}
	if names := left(t); len(names) > 0 {
		t.Errorf("left: %q", names)
	}
}
