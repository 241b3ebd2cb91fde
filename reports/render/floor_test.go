package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

// costly is a valid cell that was waited for, with its CPU per request in microseconds;
// the relay's where name is floor.
func costly(load, name string, cpu, drained float64) result.Cell {
	c := result.Cell{
		ID: name + "-" + load, Repetition: 1, Valid: true, Params: map[string]string{result.ParamLoad: load, result.ParamStrategy: name},
		Handler: result.Handler{DrainSeconds: &drained}, Watcher: result.Watcher{CPUMicrosPerReq: &cpu},
		Checks: map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 1}},
	}
	if name == "floor" {
		c.Watcher.Command = []string{"/opt/bin/watchfloor", "-f", "watcher.json"}
	}
	return c
}

func TestFloorIsComparedUnderItsLoad(t *testing.T) {
	failed, invalid := costly("r150", "wrong", 10, 1), costly("r150", "late", 10, 1)
	failed.Checks["G2"] = result.Check{Verdict: result.Allowed, Violations: 1, Judged: 1}
	invalid.Valid, invalid.InvalidReasons = false, []string{"lag"}
	orderless := costly("r150", "floor", 45, 1)
	orderless.Checks["G2"] = result.Check{Verdict: result.Allowed, Violations: 1, Judged: 1}
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: []result.Cell{
		costly("r150", "keyed", 85, 2), orderless, failed, invalid,
		costly("r400", "keyed", 60, 20), costly("r400", "floor", 40, 1),
		costly("r900", "keyed", 50, 2),
	}}
	tab := arrange(res)
	want := []string{
		"r150: a request costs keyed 85 µs of CPU = 1.9 × floor (45 µs).",
		"r400: a request costs keyed 60 µs of CPU = 1.5 × floor (40 µs).",
	}
	if diff := cmp.Diff(want, answer{tab}.floors()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
