package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/loadgen/plan"
)

const shared = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: shared}
load: {lifecycle: pod/fast, namespaces: 3}
calibrate:
  load: {model: closed, threads: 60, thinkTime: 100ms, duration: 8s}
  drainTimeout: 2s
matrix:
  watcher.strategy: [single, keyed]
  load:
    poisson: {model: open, arrival: poisson, duration: 10s}
    burst: {model: open, arrival: burst, duration: 10s, burst: {period: 2s, length: 500ms}}
  load.ofCapacity: [50%, 120%]
`

func parsed(t *testing.T, src string, sets ...string) *File {
	t.Helper()
	f, err := Format{}.Parse("s.yaml", []byte(src), sets...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCalibrations(t *testing.T) {
	f := parsed(t, shared)
	var ids []string
	for _, c := range f.Cells() {
		ids = append(ids, c.ID)
		if c.Calibrates {
			l := c.Scenario.Load
			if l.Threads != 60 || l.OfCapacity != 0 || l.Namespaces != 3 || c.Scenario.DrainTimeout != Duration(2e9) || c.Calibration != "" {
				t.Errorf("%s: %+v", c.ID, c.Scenario)
			}
			continue
		}
		if want := c.Scenario.Watcher.Strategy + "-calibrate"; c.Calibration != want || c.Scenario.Load.Rate != 0 || c.Scenario.Load.Threads != 0 {
			t.Errorf("%s is a part of %q, want %q: %+v", c.ID, c.Calibration, want, c.Scenario.Load)
		}
	}
	want := []string{
		"single-calibrate", "keyed-calibrate",
		"single-poisson-50", "single-poisson-120", "single-burst-50", "single-burst-120",
		"keyed-poisson-50", "keyed-poisson-120", "keyed-burst-50", "keyed-burst-120",
	}
	if d := cmp.Diff(want, ids); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]Param{{"watcher.strategy", "keyed"}, {"load", "calibrate"}}, f.Cells()[1].Params); d != "" {
		t.Error(d)
	}
	record, err := f.Record()
	if err != nil || record["calibrate"].(map[string]any)["drainTimeout"] != "2s" {
		t.Errorf("recorded as %v, %v", record["calibrate"], err)
	}
	if f.Base().Load.Model != plan.ModelOpen {
		t.Errorf("the base is a calibration: %+v", f.Base().Load)
	}
}

// TestCalibrationsAreChosenAndSet: only the calibrations that are needed are run, and an
// override of the load is not theirs.
func TestCalibrationsAreChosenAndSet(t *testing.T) {
	f := parsed(t, shared, "matrix.watcher.strategy=keyed", "matrix.load=burst", "load.ofCapacity=30%", "load.duration=4s", "calibrate.load.duration=3s", "storage.latency=9ms")
	if n := len(f.Cells()); n != 2 {
		t.Fatalf("%d cells", n)
	}
	cal, c := f.Cells()[0], f.Cells()[1]
	if cal.ID != "keyed-calibrate" || cal.Scenario.Load.Duration != Duration(3e9) || cal.Scenario.Storage.Latency != "9ms" {
		t.Errorf("%s: %+v", cal.ID, cal.Scenario)
	}
	if c.ID != "keyed-burst-30" || c.Scenario.Load.Duration != Duration(4e9) || c.Scenario.Load.OfCapacity.String() != "30%" {
		t.Errorf("%s: %+v", c.ID, c.Scenario.Load)
	}
	// All the writes of a burst come in a quarter of its period.
	l := c.Scenario.Load.At(200)
	if l.Rate != 240 || l.MeanRate() != 60 {
		t.Errorf("30%% of 200/s: %v/s in bursts, %v/s on average", l.Rate, l.MeanRate())
	}
	if l := parsed(t, shared).Cells()[3].Scenario.Load.At(50); l.Rate != 60 || l.OfCapacity != 1.2 {
		t.Errorf("120%% of 50/s: %+v", l)
	}
}

func TestCalibrateErrors(t *testing.T) {
	with := func(old, repl string) string {
		t.Helper()
		if !strings.Contains(shared, old) {
			t.Fatalf("the scenario has no %q", old)
		}
		return strings.Replace(shared, old, repl, 1)
	}
	section := shared[strings.Index(shared, "calibrate:"):strings.Index(shared, "matrix:")]
	for _, tc := range []struct {
		name, src string
		want      string
	}{
		{"no calibration", with(section, ""), "s.yaml:10: load.ofCapacity: nothing measures the capacity; add for example calibrate: {load: {model: closed, threads: 60, duration: 8s}}"},
		{"nothing to calibrate for", with("  load.ofCapacity: [50%, 120%]", "  load.rate: [5, 12]"), "s.yaml:6: calibrate: no load is a part of the capacity; set load.ofCapacity, or drop calibrate"},
		{"a closed loop", with("{model: open, arrival: poisson, duration: 10s}", "{model: closed, threads: 3, duration: 10s}"),
			"s.yaml:13: load.ofCapacity: belongs to the open model; a closed loop has no rate; set model: open, or drop it"},
		{"two rates", with("arrival: poisson,", "rate: 7,"), "s.yaml:13: load.ofCapacity: rate and ofCapacity exclude each other; keep one of them"},
		{"a ramp", with("arrival: poisson,", "arrival: ramp, ramp: {from: 1},"), "s.yaml:13: load.ofCapacity: arrival: ramp has no one rate; use constant, poisson, burst, mmpp or diurnal"},
		{"writes between bursts", with("length: 500ms", "length: 500ms, base: 3"),
			"s.yaml:12: load.burst.base: with ofCapacity all writes come in the bursts, so that their mean rate is the part asked for; drop it"},
		{"half a period", with("arrival: burst, duration: 10s", "arrival: burst, duration: 9s"),
			"s.yaml:12: load.duration: 9s ends within a period of the bursts, so their mean rate would not be the part of the capacity asked for; use a multiple of 2s"},
		{"no part", with("[50%, 120%]", "[0%, 120%]"), `s.yaml:13: load.ofCapacity: "0%" is not a part of a whole; write more than 0% and at most 1000%, for example 120%`},
		{"no percent", with("[50%, 120%]", "[0.5]"), `s.yaml:13: load.ofCapacity: "0.5" is not a part of a whole; write more than 0% and at most 1000%, for example 120%`},
		{"a calibration of itself", with("threads: 60,", "ofCapacity: 80%,"), "s.yaml:6: calibrate.load.ofCapacity: a calibration measures the capacity; give its load threads or a rate above it"},
		{"no mapping", with(section, "calibrate: closed\n"), "s.yaml:5: calibrate: not a mapping; write for example calibrate: {load: {model: closed, threads: 60, duration: 8s}}"},
		{"no load", with(section, "calibrate: {drainTimeout: 2s}\n"), "s.yaml:5: calibrate.load: missing; write for example calibrate: {load: {model: closed, threads: 60, duration: 8s}}"},
		{"an empty load", with(section, "calibrate: {load: {}}\n"), "s.yaml:5: calibrate.load: a load without fields; write for example calibrate: {load: {model: closed, threads: 60, duration: 8s}}"},
		{"another section", with("  drainTimeout: 2s", "  watcher: {podQueueNum: 3}"), "s.yaml:7: calibrate.watcher: a calibration cannot set it; use one of load, drainTimeout, limits"},
		{"an unknown field", with("threads: 60", "thread: 60"), "s.yaml:6: load.thread: unknown field; did you mean threads?"},
		{"an impossible load", with("threads: 60", "threads: 0"), "s.yaml:6: load.threads: 0 is out of range; a closed loop needs 1 to 10000 threads"},
		{"a name taken", with("    poisson:", "    calibrate:"), `s.yaml:6: calibrate: its cell and another would both be called "single-calibrate"; rename the point calibrate of the matrix`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := tc.src
			if tc.name == "a name taken" {
				src = strings.Replace(src, "  load.ofCapacity: [50%, 120%]\n", "", 1)
				src = strings.Replace(src, "{lifecycle: pod/fast,", "{ofCapacity: 50%, lifecycle: pod/fast,", 1)
			}
			_, err := Format{}.Parse("s.yaml", []byte(src))
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != tc.want {
				t.Errorf("\n got %s\nwant %s", err, tc.want)
			}
		})
	}
}
