package versus

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Apart lists what keeps the figures of two runs from being joined in one line: differences of
// scenario, control plane and machine. Watchers, seeds and builds may differ: a line over runs
// is there to show what they change.
// What was resumed elsewhere was measured on both machines.
func Apart(a, b *result.Results) ([]Difference, error) {
	for _, x := range places(a) {
		for _, y := range places(b) {
			all, err := differences([]*result.Results{x, y})
			all = slices.DeleteFunc(all, func(d Difference) bool {
				return d.Kind != kindScenario && d.Kind != kindCluster && d.Kind != kindMachine
			})
			if len(all) > 0 || err != nil {
				return all, err
			}
		}
	}
	return nil, nil
}

// Line is a text that two runs share if Apart finds nothing between them; "" is shared with none,
// as of a run that was resumed elsewhere.
func Line(res *result.Results) (string, error) {
	var line string
	for _, p := range places(res) {
		scenario := maps.Clone(p.Scenario)
		for _, free := range []string{"seed", "metadata", "watcher"} {
			delete(scenario, free)
		}
		text := []any{scenario}
		for _, f := range placeFields {
			text = append(text, f.of(p))
		}
		data, err := json.Marshal(text)
		if err != nil {
			return "", fmt.Errorf("encode the scenario: %w", err)
		}
		if line != "" && line != string(data) {
			return "", nil
		}
		line = string(data)
	}
	return line, nil
}

// places are the run as it was started, and as it was taken up again.
func places(res *result.Results) []*result.Results {
	all := []*result.Results{res}
	for i := range res.Run.Resumed {
		if r := &res.Run.Resumed[i]; slices.ContainsFunc(res.Cells, func(c result.Cell) bool { return c.Resumed == i+1 }) {
			again := *res
			again.Environment = r.Environment
			all = append(all, &again)
		}
	}
	return all
}

// Sentence is "machine CPUs 2 → 4".
func (d Difference) Sentence() string {
	place := strings.TrimPrefix(strings.TrimPrefix(d.What, string(d.Kind)), ".")
	return fmt.Sprintf("%s %s %s → %s", d.Kind, place, brief(d.Values[0]), brief(d.Values[len(d.Values)-1]))
}

// Reading is what one run has at one of its points.
type Reading struct {
	Point  string // as in Point.Name
	Params map[string]string
	Sides  []Side // by metric; without values where Why says so
	// Why says that the figures are not to be compared: nothing valid was measured, or a core
	// check fails.
	Why string
}

// Readings sums a run up at each of its points.
func Readings(res *result.Results, metrics []result.Metric) (all []Reading) {
	for _, g := range newSide(res).points {
		p := Point{Name: g.name, Params: g.params}
		p.add(g)
		r := Reading{Point: g.name, Params: g.params, Sides: make([]Side, len(metrics))}
		failing := p.failing(0)
		switch {
		case len(failing) > 0:
			r.Why = "fails " + strings.Join(failing, " ")
		case len(p.Cells[0]) == 0 && p.Cut[0] > 0:
			r.Why = "cut"
		case len(p.Cells[0]) == 0:
			r.Why = "invalid"
		case p.Cut[0] > 0:
			r.Why = "partly cut" // those that were not are the faster ones
		default:
			for i, m := range metrics {
				r.Sides[i] = sideOf(m, &p, 0)
			}
		}
		all = append(all, r)
	}
	return all
}
