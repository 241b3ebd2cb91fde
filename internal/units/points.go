package units

import (
	"encoding"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A range stands for several values: 1..256 *2 for 1, 2, 4 … 256, and 10ms..60ms +10ms for
// 10ms, 20ms … 60ms. What follows * is a factor, what follows + is written as the values are.
// The end is a bound: it is a value where a step meets it, so 1..100 *2 ends with 64.
// Whole numbers, durations and sizes are rounded to the next whole one, and what rounding
// makes equal is one value: 1..8 *1.5 is 1, 2, 3, 5, 8.

// Quantity is what a range counts in.
type Quantity struct {
	parse func(string) (float64, error) // in the least unit
	text  func(float64) string
	whole bool // has no parts of the least unit
	step  string
}

// Quantities that ranges are written in.
var (
	WholeNumbers = Quantity{wholeNumber, func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }, true, "10"}
	Numbers      = Quantity{number, decimal, false, "0.5"}
	Durations    = quantity[*Duration](func(d *Duration) float64 { return float64(*d) },
		func(v float64) string { return Duration(v).String() }, true, "10ms")
	Sizes = quantity[*Size](func(s *Size) float64 { return float64(*s) },
		func(v float64) string { return Size(v).String() }, true, "1KiB")
	Shares = quantity[*Share](func(s *Share) float64 { return float64(*s) },
		func(v float64) string { return Share(v).String() }, false, "10%")
	Speeds = quantity[*Speed](func(s *Speed) float64 { return float64(*s) },
		func(v float64) string { return decimal(v) + "x" }, false, "1x")
)

// maxExact is up to where a float64 holds every whole number.
const maxExact = 1 << 53

// quantity is of a type of this package.
func quantity[P interface {
	*T
	encoding.TextUnmarshaler
}, T any](value func(P) float64, text func(float64) string, whole bool, step string) Quantity {
	return Quantity{func(s string) (float64, error) {
		p := P(new(T))
		err := p.UnmarshalText([]byte(s))
		return value(p), err
	}, text, whole, step}
}

func wholeNumber(s string) (float64, error) {
	n, err := strconv.ParseUint(s, 10, 53)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number from 0; write digits only, for example 30", s)
	}
	return float64(n), nil
}

func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= maxExact) {
		return 0, fmt.Errorf("%q is not a number from 0; write for example 2.5", s)
	}
	return v, nil
}

// decimal writes a number without what binary fractions add to it.
func decimal(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// IsRange reports whether text is meant as a range rather than as one value.
func IsRange(text string) bool { return strings.Contains(text, "..") }

// Range is the values that a range stands for, as texts that the quantity's type reads, in
// rising order; more than most are an error.
func (q Quantity) Range(text string, most int) ([]string, error) {
	low, rest, _ := strings.Cut(text, "..")
	high, sign, by, ok := cutStep(rest)
	low, high, by = strings.TrimSpace(low), strings.TrimSpace(high), strings.TrimSpace(by)
	from, err := q.parse(low)
	if err != nil {
		return nil, err
	}
	to, err := q.parse(high)
	if err != nil {
		return nil, err
	}
	if !ok {
		advice := fmt.Sprintf("%s..%s +%s", low, high, q.step)
		if from > 0 {
			advice = fmt.Sprintf("%s..%s *2 or %s", low, high, advice)
		}
		return nil, fmt.Errorf("the range %s does not say how it steps; write %s", text, advice)
	}
	step, err := q.parseStep(sign, by)
	if err != nil {
		return nil, err
	}
	switch {
	case from > maxExact || to > maxExact:
		return nil, fmt.Errorf("the range %s is out of range; end below %s", text, q.text(maxExact))
	case to < from:
		return nil, fmt.Errorf("the range %s ends before it begins; write %s..%s %c%s", text, high, low, sign, by)
	case sign == '+' && step == 0, sign == '*' && step <= 1:
		return nil, fmt.Errorf("the range %s does not move by %c%s; step by more, for example %s..%s *2", text, sign, by, low,
			high)
	case sign == '*' && from == 0:
		return nil, fmt.Errorf("the range %s stays at %s whatever it is multiplied by; begin above, or write a step such as "+
			"+%s", text, low, q.step)
	}
	n := steps(sign, from, to, step)
	if n+1 > float64(most) {
		return nil, fmt.Errorf("the range %s has %.0f points, at most %d are run; use a larger step", text, n+1, most)
	}
	return q.values(int(n), to, func(i int) float64 {
		if sign == '*' {
			return from * math.Pow(step, float64(i))
		}
		return from + step*float64(i)
	}), nil
}

// steps is how many steps fit between two values, before rounding.
func steps(sign byte, from, to, by float64) float64 {
	n := (to - from) / by
	if sign == '*' {
		n = math.Log(to/from) / math.Log(by)
	}
	return math.Floor(n + 1e-9) // 0.1 + 0.1 + … may come to a little more
}

// values are the first and those that so many steps lead to, none above the end, each once.
func (q Quantity) values(steps int, end float64, at func(int) float64) (all []string) {
	for i := range steps + 1 {
		v := min(at(i), end) // inexact parts may add up to a little more
		if q.whole {
			v = math.Round(v)
		}
		if text := q.text(v); len(all) == 0 || all[len(all)-1] != text {
			all = append(all, text)
		}
	}
	return all
}

func (q Quantity) parseStep(sign byte, by string) (float64, error) {
	if sign == '+' {
		return q.parse(by)
	}
	v, err := number(by)
	if err != nil {
		return 0, fmt.Errorf("%q is not a factor; write a number, for example *2", by)
	}
	return v, nil
}

// cutStep splits what follows the dots at the sign of its step.
func cutStep(rest string) (high string, sign byte, by string, ok bool) {
	i := strings.IndexAny(rest, "*+")
	if i < 0 {
		return rest, 0, "", false
	}
	return rest[:i], rest[i], rest[i+1:], true
}

// Value reads one value in the quantity's least unit: nanoseconds, bytes, parts of a whole or
// what the number says. ok is false where the text is none, as unlimited is no number of times.
func (q Quantity) Value(text string) (v float64, ok bool) {
	v, err := q.parse(text)
	return v, err == nil && v <= maxExact
}
