package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
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

// TestSimulateSweep: a row has the value of what is swept.
func TestSimulateSweep(t *testing.T) {
	out, _, code, err := invoke(t, "simulate", "simulated", "--set", simulatedSets, "--quiet", "--set", "matrix.load.rate=40",
		"--set", "matrix.watcher.strategy=keyed", "--set", "matrix.watcher.podQueueNum=[3,17]")
	if code != exitOK || err != nil || !strings.Contains(out, "watcher.podQueueNum") || !strings.Contains(out, "  17  ") {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
}

func TestSimulateRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"needs a scenario":         {"simulate"},
		"watcher.profile":          {"simulate", "simulated", "--set", "watcher.profile=legacy"},
		"--format":                 {"simulate", "simulated", "--format", "xml"},
		"--overhead":               {"simulate", "simulated", "--overhead", "-1ms"},
		"--tolerance":              {"simulate", "--against", ".", "--tolerance", "5"},
		"--seed means nothing":     {"simulate", "--against", ".", "--seed", "2"},
		"name the folder of a run": {"simulate", "--against", t.TempDir()},
		"scenario simulated and --against out/run: the run has its own scenario": {"simulate", "simulated", "--against",
			"out/run"},
		"--tolerance means nothing without --against": {"simulate", "simulated", "--tolerance",
			"3%"},
	} {
		if _, _, code, err := invoke(t, args...); code != exitInput || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: exit code %d, %v; want %q", args, code, err, want)
		}
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

// TestSimulateAgainst: a prediction that is off is a failed check, and none, or one that could
// not have been off, is no pass.
func TestSimulateAgainst(t *testing.T) {
	for _, tc := range []struct {
		latency string
		args    []string
		planned bool
		code    int
	}{
		{"28ms", []string{"--tolerance", "3%"}, true, exitOK},
		{"28ms", nil, true, exitInvalid}, // of a drain of 610 ms storage is less than 5%
		{"90ms", nil, true, exitCheck},
		{"90ms", []string{"--tolerance", "12%"}, true, exitOK},
		{"28ms", []string{"--overhead", "80ms"}, true, exitCheck},
		{"28ms", nil, false, exitInvalid},
	} {
		dir := t.TempDir()
		assesstest.Run(t, dir, assesstest.Scenario(t, "plain", "", "storage.latency="+tc.latency), 30, nil)
		if !tc.planned {
			cell := history.CellDir(dir, "only")
			c, err := history.LoadCell(cell)
			if err != nil {
				t.Fatal(err)
			}
			c.Planned = 1000
			if err := history.SaveJSON(cell, history.FileCell, c); err != nil {
				t.Fatal(err)
			}
		}
		res, err := assess.Run(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if res.Cells[0].Valid != tc.planned {
			t.Fatalf("%+v: valid %t", tc, res.Cells[0].Valid)
		}
		if err := result.Save(filepath.Join(dir, result.FileName), res); err != nil {
			t.Fatal(err)
		}
		out, _, code, err := invoke(t, append([]string{"simulate", "--against", dir}, tc.args...)...)
		if code != tc.code {
			t.Errorf("%+v: exit code %d, %v\n%s", tc, code, err, out)
		}
		data, _, _, _ := invoke(t, append([]string{"simulate", "--format", "json", "--against", dir}, tc.args...)...)
		var doc simulate.AgainstDocument
		if err := json.Unmarshal([]byte(data), &doc); err != nil || doc.Schema != simulate.AgainstSchema || doc.Cells == nil || doc.Left == nil || len(doc.Cells)+len(doc.Left) != 1 {
			t.Errorf("%+v: %v in %s", tc, err, data)
		}
		if given := slices.Contains(tc.args, "--overhead"); tc.planned && (strings.Contains(out, "given") != given || strings.Contains(out, "none") == given) {
			t.Errorf("%+v: where the overhead is from:\n%s", tc, out)
		}
	}
}
