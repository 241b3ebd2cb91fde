package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Verdicts lists every value of Check.Verdict.
func Verdicts() []string { return []string{Pass, Fail, Allowed, NoPower, NotJudged, NotApply} }

// Validate reports the first place where the record contradicts itself: two cells of one id, a pass that
// judged nothing, a curve whose times and values do not pair up.
func (r *Results) Validate() error {
	if r.Schema != Schema {
		return fmt.Errorf("schema is %q: %w", r.Schema, ErrSchema)
	}
	if r.Run.ID == "" {
		return fmt.Errorf("run.id is empty; it names the run")
	}
	ids := map[string]int{}
	for i := range r.Cells {
		path := fmt.Sprintf("cells[%d]", i)
		c := &r.Cells[i]
		if c.ID == "" {
			return fmt.Errorf("%s.id is empty; every cell needs an id", path)
		}
		if first, taken := ids[c.ID]; taken {
			return fmt.Errorf("%s.id %q is taken by cells[%d]; ids are unique within a run", path, c.ID, first)
		}
		ids[c.ID] = i
		if err := c.validate(path); err != nil {
			return err
		}
	}
	for i, t := range r.Thresholds {
		if t.Holds && t.Value == nil {
			return fmt.Errorf("thresholds[%d] (%s) holds without a value", i, t.Metric)
		}
	}
	return nil
}

func (c *Cell) validate(path string) error {
	switch {
	case c.Valid && len(c.InvalidReasons) > 0:
		return fmt.Errorf("%s is valid and gives a reason why not (%q)", path, c.InvalidReasons[0])
	case !c.Valid && len(c.InvalidReasons) == 0:
		return fmt.Errorf("%s is invalid without a reason in invalidReasons", path)
	case c.CutFraction < 0 || c.CutFraction > 1:
		return fmt.Errorf("%s.cutFraction is %v; it lies between 0 and 1", path, c.CutFraction)
	case !c.Cut && c.Handler.DrainProjected:
		return fmt.Errorf("%s.handler.drainProjected is set on a cell that was not cut", path)
	case c.Cut && c.Handler.DrainSeconds != nil && !c.Handler.DrainProjected &&
		(c.Handler.Owed == nil || *c.Handler.Owed > 0):
		return fmt.Errorf("%s was cut and owes Pods, so handler.drainSeconds must be marked drainProjected", path)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Checks)) {
		check := c.Checks[name]
		if !slices.Contains(Verdicts(), check.Verdict) {
			return fmt.Errorf("%s.checks.%s.verdict is %q; it is one of %s", path, name, check.Verdict,
				strings.Join(Verdicts(), ", "))
		}
		if check.Verdict == Pass && check.Judged == 0 {
			return fmt.Errorf("%s.checks.%s passes with judged 0; a check that looked at nothing is %s", path, name, NotJudged)
		}
		weak := check.Power != nil && *check.Power < check.MinPower
		if check.Verdict == Pass && weak {
			return fmt.Errorf("%s.checks.%s passes with power %d of at least %d; that is %s", path, name, *check.Power,
				check.MinPower, NoPower)
		}
		if check.Verdict == NoPower && !weak {
			return fmt.Errorf("%s.checks.%s is %s without a power below its minPower", path, name, NoPower)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Series)) {
		s := c.Series[name]
		if len(s.T) != len(s.V) {
			return fmt.Errorf("%s.series[%q] has %d times and %d values; they pair up", path, name, len(s.T), len(s.V))
		}
		for i := 1; i < len(s.T); i++ {
			if s.T[i] < s.T[i-1] {
				return fmt.Errorf("%s.series[%q].t[%d] is %v after %v; time does not go back", path, name, i, s.T[i], s.T[i-1])
			}
		}
	}
	return nil
}
