package knee

import (
	"errors"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// witness is a fake that says of each cell the same of the machine.
type witness struct {
	*fake
	evidence []string
	err      error
	asked    []string
}

func (w *witness) Stalled(run, cell string) ([]string, error) {
	w.asked = append(w.asked, run+"/"+cell)
	return w.evidence, w.err
}

// lateAt makes the cells of the final measurement late that are among the numbers.
func lateAt(change func(*result.Cell), numbers ...int) func(float64, int, *result.Cell) {
	return func(rate float64, nth int, c *result.Cell) {
		for _, n := range numbers {
			if rate < 290 && nth == n {
				c.Valid, c.InvalidReasons = false, []string{"the generator was 900 ms late"}
				c.LateReasons = c.InvalidReasons
				change(c)
			}
		}
	}
}

// TestSecondTry: a cell that was late in the final measurement gets one second try, and only
// with evidence that the machine stood still; what it lost, or failed otherwise, is a fact.
func TestSecondTry(t *testing.T) {
	stood := []string{"the runner stood still for 3s"}
	same := func(*result.Cell) {}
	for name, tc := range map[string]struct {
		change   func(float64, int, *result.Cell)
		evidence []string
		valid    int
		tries    int
		n        string
	}{
		"late, and the machine stood still": {lateAt(same, 1), stood, 3, 1, "3/3, 1 repeated"},
		"late, and no evidence":             {lateAt(same, 1), nil, 2, 0, "2/3"},
		"late again":                        {lateAt(same, 1, 3), stood, 2, 1, "2/3, 1 repeated"},
		"two":                               {lateAt(same, 0, 2), stood, 3, 2, "3/3, 2 repeated"},
		"lost":                              {lateAt(func(c *result.Cell) { *c.Events.Lost = 1 }, 1), stood, 3, 0, "3/3"},
		"invalid for another reason too":    {lateAt(func(c *result.Cell) { c.InvalidReasons = append(c.InvalidReasons, "no metrics") }, 1), stood, 2, 0, "2/3"},
	} {
		w := &witness{fake: &fake{knees: map[string]float64{"keyed": 400}, change: tc.change}, evidence: tc.evidence}
		r, err := Find(t.Context(), w, options(t))
		if err != nil {
			t.Fatal(name, err)
		}
		s := r.Strategies[0]
		y := s.Steady
		if y.Valid != tc.valid || y.Cells != 3 || len(y.SecondTries) != tc.tries || y.n() != tc.n {
			t.Errorf("%s: %+v, n %s", name, y, y.n())
		}
		if said := strings.Join(s.Remarks, "\n"); strings.Contains(said, "second try: the generator was 900 ms late; the runner stood still") != (tc.tries > 0) {
			t.Errorf("%s: %s", name, said)
		}
		if name != "late, and the machine stood still" {
			continue
		}
		if x := y.SecondTries[0]; x.Cell != "only-r2" || x.Run == "" || x.Run == y.Run || len(x.Stalled) != 1 || w.asked[0] != y.Run+"/only-r2" {
			t.Errorf("%+v of %s, asked %v", x, y.Run, w.asked)
		}
		if seeds := w.seeds["keyed"]; seeds[len(seeds)-1] != 2 { // of repetition 2
			t.Errorf("the second try has another plan: seeds %v", seeds)
		}
	}
	broken := errors.New("no samples")
	w := &witness{fake: &fake{knees: map[string]float64{"keyed": 400}, change: lateAt(same, 1)}, err: broken}
	if r, err := Find(t.Context(), w, options(t)); !errors.Is(err, broken) || r.Strategies[0].Steady == nil || r.Strategies[0].Steady.Valid != 2 {
		t.Errorf("%v: what was measured is kept: %+v", err, r.Strategies[0].Steady)
	}
}
