package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/scenarios/simulate"
)

var updateSimulated = flag.Bool("update-simulated", false, "write the golden files of watchbench simulate")

const simulatedSets = "load.duration=2s"

// TestSimulateCommand: one seed gives the same table to the byte.
func TestSimulateCommand(t *testing.T) {
	out, _, code, err := invoke(t, "simulate", "simulated", "--set", simulatedSets, "--overhead", "500us", "--quiet")
	if code != exitOK || err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, out)
	}
	if !strings.HasPrefix(out, "simulated: nothing was measured") {
		t.Errorf("does not begin by saying so:\n%s", out)
	}
	golden := filepath.Join("testdata", "simulated.txt")
	if *updateSimulated {
		if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out); d != "" {
		t.Error(d)
	}
	out, _, code, err = invoke(t, "simulate", "simulated", "--set", simulatedSets, "--format", "json", "--quiet")
	var doc simulate.Document
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if jerr := dec.Decode(&doc); jerr != nil || code != exitOK || doc.Schema != simulate.Schema || len(doc.Points) != 12 || doc.Points[0].Events == 0 {
		t.Errorf("exit code %d, %v, %v: %+v", code, err, jerr, doc)
	}
	if !strings.Contains(out, `"storageQPS"`) || !strings.Contains(out, `"scenario": "simulated"`) {
		t.Errorf("not the fields of the schema: %.600s", out)
	}
}

// TestSimulateSweep: each row has the name that its cell has in a run.
func TestSimulateSweep(t *testing.T) {
	out, _, code, err := invoke(t, "simulate", "simulated", "--set", simulatedSets, "--quiet", "--set", "matrix.load.rate=40",
		"--set", "matrix.watcher.strategy=keyed", "--set", "matrix.watcher.podQueueNum=[3,17]")
	if code != exitOK || err != nil || strings.Count(out, "keyed-40-3 ") != 1 || strings.Count(out, "keyed-40-17 ") != 1 {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
}

// TestSimulateCut: a point that is not drained is a row without the figures that only a whole
// drain shows. If there is no other, nothing is predicted.
func TestSimulateCut(t *testing.T) {
	cut := []string{"simulate", "simulated", "--set", simulatedSets, "--set", "drainTimeout=10s", "--quiet"}
	out, _, code, err := invoke(t, cut...)
	if code != exitOK || err != nil || !strings.Contains(out, "1 point cut at drainTimeout") {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
	out, _, code, err = invoke(t, append(cut, "--set", "matrix.watcher.strategy=single", "--set",
		"matrix.load.rate=500")...)
	if code != exitInvalid || err == nil || !strings.Contains(err.Error(), "no point drains within drainTimeout") || !strings.Contains(out, "cut at drainTimeout") {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
}
