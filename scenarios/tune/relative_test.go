package tune

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestRelativeObjective: where nothing but the lowest is asked for there is always an answer.
// The rungs that were played with one plan set a bound below what any came to with three, so
// that none held it, and the closest was measured once and recommended.
func TestRelativeObjective(t *testing.T) {
	data, sets, err := Question{Rate: 200, Storage: "lognormal(p50=60ms,p99=400ms)", Length: 20 * time.Second}.Source()
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, nil, asking, "freshness.p99")
	if o.Scenario, err = faults.Format.Parse("tune", data, sets...); err != nil {
		t.Fatal(err)
	}
	virtual := Virtual()
	o.Simulate, o.Measurer, o.Strategies, o.Queues, o.Lengths = virtual, inVirtualTime{virtual}, Strategies, QueueRange, LengthRange
	var lines []string
	o.Line = func(s string) { lines = append(lines, s) }
	got := run(t, o)
	best := got.At(got.Best)
	if !got.Met || len(best.Cells) != o.Repeat || len(got.Notes) > 0 {
		t.Errorf("met %t, %d cells, notes %q", got.Met, len(best.Cells), got.Notes)
	}
	if strings.Contains(strings.Join(lines, "\n"), "nothing is predicted") {
		t.Error("no setting is as good as the lowest:\n", strings.Join(lines, "\n"))
	}
	for _, f := range got.Why {
		if f.Name == "fewer" && !strings.Contains(f.Value, "does not") {
			t.Errorf("%s is the fewest, but %s", best.Name(), f.Value)
		}
	}
	for _, c := range got.Changes {
		if c.Setting == nil || c.Setting.Queues < best.Queues || strings.Contains(c.Answer, "comes closest") {
			t.Errorf("%s is recommended; if %s: %s", best.Name(), c.If, c.Answer)
		}
	}
}

// TestClosestIsRepeated: a setting that was predicted not to hold, and does, is measured as often
// as any other.
func TestClosestIsRepeated(t *testing.T) {
	w := planted()
	w.noise = 0
	measurer := scaledWorld{w, 0.9}
	o := options(t, w, burst, "drain=7s") // 7.5 s at best by prediction, 6.75 s in truth
	o.Strategies, o.Measurer = []string{keyed}, measurer
	got := run(t, o)
	if best := got.At(got.Best); !got.Met || len(best.Cells) != o.Repeat {
		t.Errorf("met %t, %d cells: %s", got.Met, len(best.Cells), got.Sentence)
	}
}

// scaledWorld measures faster than predicted.
type scaledWorld struct {
	*world
	factor float64
}

func (w scaledWorld) Measure(ctx context.Context, f *spec.File) (*result.Results, error) {
	res, err := w.world.Measure(ctx, f)
	if err == nil {
		h := &res.Cells[0].Handler
		h.DrainSeconds, h.DrainAfterLoad = new(*h.DrainSeconds*w.factor), new(*h.DrainAfterLoad*w.factor)
	}
	return res, err
}
