package units

import (
	"encoding"
	"strconv"
)

// Quantity reads values of one kind as numbers.
type Quantity struct{ value func(string) (float64, error) }

// The quantities that points of a matrix are written in.
var (
	Numbers   = Quantity{func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }}
	Durations = quantity(func(d *Duration) float64 { return float64(*d) })
	Sizes     = quantity(func(s *Size) float64 { return float64(*s) })
	Shares    = quantity(func(s *Share) float64 { return float64(*s) })
	Speeds    = quantity(func(s *Speed) float64 { return float64(*s) })
)

// maxExact is up to where a float64 holds every whole number.
const maxExact = 1 << 53

// quantity is of a type of this package.
func quantity[P interface {
	*T
	encoding.TextUnmarshaler
}, T any](value func(P) float64) Quantity {
	return Quantity{func(s string) (float64, error) {
		p := P(new(T))
		err := p.UnmarshalText([]byte(s))
		return value(p), err
	}}
}

// Value reads one value in the quantity's least unit; ok is false if the text is none, such as unlimited.
func (q Quantity) Value(text string) (v float64, ok bool) {
	v, err := q.value(text)
	return v, err == nil && v >= 0 && v <= maxExact
}
