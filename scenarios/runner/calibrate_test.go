package runner

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func capacityJobs(t *testing.T, repeat int) []job {
	t.Helper()
	name, data, err := scenarios.Read("capacity")
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Format{}.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return calibrationsFirst(order(f.Cells(), plainly(repeat, 1)), f.Base())
}

// TestCalibrationsComeFirst: in each repetition, and each cell gets that of its own.
func TestCalibrationsComeFirst(t *testing.T) {
	jobs := capacityJobs(t, 2)
	half := len(jobs) / 2
	for _, rep := range [][]job{jobs[:half], jobs[half:]} {
		done := map[string]bool{}
		for _, j := range rep {
			if !j.cell.Calibrates && !done[j.calibration] {
				t.Errorf("%s runs before its calibration %q", j.id, j.calibration)
			}
			done[j.id] = true
		}
	}
	if !slices.ContainsFunc(jobs, func(j job) bool { return j.id == "keyed-poisson-80-r2" && j.calibration == "keyed-calibrate-r2" }) {
		t.Error("the second repetition has no cells of its own")
	}
}

func TestCapacityFor(t *testing.T) {
	measured := func(change func(*result.Cell)) []result.Cell {
		c := result.Cell{ID: "cal", Valid: true, Capacity: &result.Capacity{Cell: "cal", QPS: 40}, Checks: map[string]result.Check{"G2": {Verdict: result.Pass, Judged: 4}}}
		change(&c)
		return []result.Cell{{ID: "other"}, c}
	}
	for _, tc := range []struct {
		name  string
		cells []result.Cell
		want  string // "" is a capacity
	}{
		{"measured", measured(func(*result.Cell) {}), ""},
		{"a failure that is allowed", measured(func(c *result.Cell) { c.Checks["G2"] = result.Check{Verdict: result.Allowed} }), ""},
		{"never run", nil, "not run: its calibration cal did not run"},
		{"invalid", measured(func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"the machine stalled", "late"} }),
			"not run: its calibration cal is invalid: the machine stalled; late"},
		{"failed", measured(func(c *result.Cell) { c.Checks["G2"] = result.Check{Verdict: result.Fail} }), "not run: its calibration cal fails G2"},
		{"nothing measured", measured(func(c *result.Cell) { c.Capacity = nil }), "not run: its calibration cal measured no capacity"},
	} {
		c, why := capacityFor("cal", tc.cells)
		if why != tc.want || (c != nil) != (tc.want == "") {
			t.Errorf("%s: %+v, %q, want %q", tc.name, c, why, tc.want)
		}
	}
}

// TestPartsOfACapacity: a cell gets its rate from the calibration before it, which its
// record keeps; without one it is recorded as not run, and why, and nothing is started.
func TestPartsOfACapacity(t *testing.T) {
	jobs := capacityJobs(t, 1)
	find := func(id string) job {
		return jobs[slices.IndexFunc(jobs, func(j job) bool { return j.id == id })]
	}
	r := &Runner{dir: t.TempDir(), results: &result.Results{Cells: []result.Cell{
		{ID: "keyed-calibrate", Valid: true, Capacity: &result.Capacity{Cell: "keyed-calibrate", QPS: 25}},
		{ID: "single-calibrate", InvalidReasons: []string{"late"}},
	}}}
	for id, peak := range map[string]float64{"keyed-poisson-120": 30, "keyed-burst-80": 40} {
		c := r.newCell(find(id))
		if c.s.Load.Rate != peak || c.record.Scenario.Load.Rate != peak || c.record.Params["load.ofCapacity"] == "" || c.record.Capacity.QPS != 25 || c.record.NotRun != "" {
			t.Errorf("%s: %v/s, recorded as %v/s of %+v, params %v, %q", id, c.s.Load.Rate, c.record.Scenario.Load.Rate, c.record.Capacity, c.record.Params, c.record.NotRun)
		}
	}
	for qps, want := range map[float64]string{
		0.01: "not run: 120% of the capacity of keyed-calibrate is 0.012 writes/s, which comes to no write in ",
		1e6:  "not run: 120% of the capacity of keyed-calibrate is 1.2e+06 writes/s: rate: 1.2e+06 is out of range; ",
	} {
		r.results.Cells[0].Capacity.QPS = qps
		if c := r.newCell(find("keyed-poisson-120")); !strings.HasPrefix(c.record.NotRun, want) || c.record.Capacity != nil {
			t.Errorf("%v/s: %q, %+v", qps, c.record.NotRun, c.record.Capacity)
		}
	}
	if cal := r.newCell(find("keyed-calibrate")); !cal.record.Calibrates || cal.record.Capacity != nil {
		t.Errorf("a calibration is recorded as %+v", cal.record)
	}
	out, err := r.newCell(find("single-burst-50")).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if why := strings.Join(out.InvalidReasons, " "); out.Valid || why != "not run: its calibration single-calibrate is invalid: late" || *out.Load.OfCapacity != 0.5 {
		t.Errorf("valid %v, %q, %+v", out.Valid, why, out.Load)
	}
	again, err := assess.Cell(t.Context(), history.CellDir(r.dir, "single-burst-50"), assess.Options{})
	if err != nil || again.Valid || again.InvalidReasons[0] != out.InvalidReasons[0] {
		t.Errorf("assessed again: %+v, %v", again, err)
	}
	if files, _ := filepath.Glob(filepath.Join(r.dir, "*", "*", "*")); len(files) != 1 {
		t.Errorf("a cell that was not run left %v", files)
	}
	if err := (&result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: []result.Cell{out}}).Validate(); err != nil {
		t.Error(err)
	}
}

// With FailFast nothing is run after the first invalid cell; here, of cells whose calibration
// did not run, so that nothing is started.
func TestFailFast(t *testing.T) {
	jobs := slices.DeleteFunc(capacityJobs(t, 1), func(j job) bool { return j.calibration == "" })[:3]
	for fast, want := range map[bool]int{true: 1, false: 3} {
		r := &Runner{dir: t.TempDir(), jobs: jobs, opts: Options{Scenario: strategies(t), FailFast: fast}}
		r.results = &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}}
		for _, j := range jobs {
			r.results.Run.Order = append(r.results.Run.Order, j.id)
		}
		if err := r.all(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(r.results.Cells); n != want || len(r.results.Missing()) != 3-want || !Resumable(r.results) {
			t.Errorf("fail fast %v: %d cells, missing %v", fast, n, r.results.Missing())
		}
	}
}
