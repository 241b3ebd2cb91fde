package knee

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/spelling"
	"github.com/watchbench/watchbench/reports/result"
)

// Objective is the most that a quantile of freshness may be.
type Objective struct {
	Metric string  // such as freshness.p99
	Limit  float64 // in seconds
	of     result.Metric
}

// Quantiles of freshness that an objective may be about.
var Quantiles = []string{"freshness.p50", "freshness.p90", "freshness.p99", "freshness.max"}

// ParseObjective reads a quantile and its limit, such as freshness.p99=2s.
func ParseObjective(text string) (Objective, error) {
	const example = "write for example freshness.p99=2s"
	name, limit, ok := strings.Cut(text, "=")
	name, limit = strings.TrimSpace(name), strings.TrimSpace(limit)
	if !ok {
		return Objective{}, badinput.New(example, "%q is no objective", text)
	}
	if !slices.Contains(Quantiles, name) {
		return Objective{}, badinput.New(spelling.Ask(spelling.Nearest(name, Quantiles), "use one of "+strings.Join(Quantiles, ", ")),
			"%q is nothing that a knee can be held to", name)
	}
	m, err := result.MetricByName(name)
	if err != nil {
		return Objective{}, err
	}
	if _, err := strconv.ParseFloat(limit, 64); err == nil {
		return Objective{}, badinput.New(example, "%s: %q has no unit", name, limit)
	}
	b, err := m.Bound("<= " + limit)
	if err != nil || b.Value <= 0 {
		return Objective{}, badinput.New(example, "%s: %q is no time above 0", name, limit)
	}
	return Objective{Metric: name, Limit: b.Value, of: m}, nil
}

func (o Objective) String() string {
	return fmt.Sprintf("%s ≤ %s s", strings.Replace(o.Metric, ".", " ", 1), number(o.Limit))
}

// number writes a figure with three digits.
func number(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
