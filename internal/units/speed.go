package units

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// Speed is how many times faster something is done again: 10x, 0.1x or unlimited. The zero Speed is 1x.
type Speed float64

// Unlimited is as fast as those that follow it can take it.
const Unlimited = Speed(math.MaxFloat64)

// Bounds of a Speed that is not Unlimited.
const (
	MinSpeed = 0.1
	MaxSpeed = 1000
)

const unlimited = "unlimited"

// UnmarshalText reads a number followed by x, or unlimited.
func (s *Speed) UnmarshalText(text []byte) error {
	if string(text) == unlimited {
		*s = Unlimited
		return nil
	}
	number, ok := strings.CutSuffix(string(text), "x")
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case !ok || err != nil:
		return fmt.Errorf("%q is not a speed; write a number with x, for example 10x, or unlimited", text)
	case !(v >= MinSpeed && v <= MaxSpeed):
		return fmt.Errorf("%q is out of range; use %vx to %dx, or unlimited", text, MinSpeed, MaxSpeed)
	}
	*s = Speed(v)
	return nil
}

// Set and Type make a Speed a flag.
func (s *Speed) Set(text string) error { return s.UnmarshalText([]byte(text)) }

// Type is the value's name in help.
func (s *Speed) Type() string { return "speed" }

// MarshalText writes the form that UnmarshalText reads.
func (s Speed) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Speed) String() string {
	if s == Unlimited {
		return unlimited
	}
	return strconv.FormatFloat(s.factor(), 'g', -1, 64) + "x"
}

func (s Speed) factor() float64 { return float64(cmp.Or(s, 1)) }

// Limited reports whether there is a time for everything.
func (s Speed) Limited() bool { return s != Unlimited }

// Length is how long something of that length takes; 0 if the speed is Unlimited.
func (s Speed) Length(d time.Duration) time.Duration {
	if !s.Limited() {
		return 0
	}
	return time.Duration(float64(d) / s.factor())
}

// Rate returns a rate at this speed; it has no meaning if the speed is Unlimited.
func (s Speed) Rate(r float64) float64 { return r * s.factor() }

// JSONSchema describes the text form.
func (Speed) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?x|unlimited)$`, Examples: []any{"10x"}}
}
