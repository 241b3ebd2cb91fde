package result

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Verdicts lists every value of Check.Verdict.
func Verdicts() []string { return []string{Pass, Fail, Allowed, NoPower, NotJudged, NotApply} }

// Validate reports the first place where the record contradicts itself: a number
// that is not finite, two cells of one id, a pass that judged nothing, a curve
// whose times and values do not pair up.
func (r *Results) Validate() error {
	if r.Schema != Schema {
		return fmt.Errorf("schema is %q: %w", r.Schema, ErrSchema)
	}
	if r.Run.ID == "" {
		return fmt.Errorf("run.id is empty; it names the run")
	}
	if err := finite(reflect.ValueOf(r).Elem(), ""); err != nil {
		return err
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

// finite finds the first number that JSON cannot carry.
func finite(v reflect.Value, path string) error {
	if at, f, ok := infinite(v); !ok {
		return fmt.Errorf("%s is %v; leave out what is not known", strings.TrimPrefix(path+at, "."), f)
	}
	return nil
}

// infinite is the place of such a number, which is put together on the way back, and the number.
func infinite(v reflect.Value) (path string, f float64, ok bool) {
	bad := func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }
	switch v.Kind() {
	case reflect.Float64, reflect.Float32:
		return "", v.Float(), !bad(v.Float())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return infinite(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return "", 0, true
		}
		for i := range v.NumField() {
			if at, f, ok := infinite(v.Field(i)); !ok {
				return "." + jsonName(v.Type().Field(i)) + at, f, false
			}
		}
	case reflect.Slice, reflect.Array:
		if all, ok := v.Interface().([]float64); ok && !slices.ContainsFunc(all, bad) {
			return "", 0, true
		}
		for i := range v.Len() {
			if at, f, ok := infinite(v.Index(i)); !ok {
				return fmt.Sprintf("[%d]%s", i, at), f, false
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if at, f, ok := infinite(v.MapIndex(k)); !ok {
				return fmt.Sprintf("[%q]%s", k.String(), at), f, false
			}
		}
	}
	return "", 0, true
}
