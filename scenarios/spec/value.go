package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// Duration is a length of time with its unit, such as 45s.
type Duration time.Duration

// UnmarshalText reads Go's notation and insists on a unit.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a duration; write a number with ms, s, m or h, for example 45s", text)
	case v < 0:
		return fmt.Errorf("%q is negative; write a duration from 0s", text)
	case v == 0 && strings.Trim(string(text), "0") == "":
		return fmt.Errorf("%q has no unit; write for example 0s", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the shortest form that UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Std is the value as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// JSONSchema describes the text form.
func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`, Examples: []any{"45s"}}
}

// Size is a number of bytes with its unit, such as 3KiB.
type Size int64

var sizeUnits = []struct {
	suffix string
	factor float64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// UnmarshalText reads a number with B, KiB, MiB or GiB.
func (s *Size) UnmarshalText(text []byte) error {
	in := string(text)
	for _, u := range sizeUnits {
		num, ok := strings.CutSuffix(in, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) || v*u.factor > 1<<40 {
			break
		}
		*s = Size(v * u.factor)
		return nil
	}
	return fmt.Errorf("%q is not a size; write a number with B, KiB, MiB or GiB, for example 3KiB", in)
}

// MarshalText writes the largest unit that needs no fraction.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Size) String() string {
	for _, u := range sizeUnits {
		if f := int64(u.factor); s != 0 && int64(s)%f == 0 {
			return strconv.FormatInt(int64(s)/f, 10) + u.suffix
		}
	}
	return "0B"
}

// JSONSchema describes the text form.
func (Size) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?(B|KiB|MiB|GiB)$`, Examples: []any{"3KiB"}}
}

// Share is a part of a whole, written in percent: 80%.
type Share float64

// UnmarshalText reads 0% to 100%.
func (s *Share) UnmarshalText(text []byte) error {
	num, ok := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(num, 64)
	if !ok || err != nil || !(v >= 0 && v <= 100) {
		return fmt.Errorf("%q is not a share; write 0%% to 100%%, for example 80%%", text)
	}
	*s = Share(v / 100)
	return nil
}

// MarshalText writes percent.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Share) String() string {
	return strconv.FormatFloat(math.Round(float64(s)*1e8)/1e6, 'f', -1, 64) + "%"
}

// JSONSchema describes the text form.
func (Share) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?%$`, Examples: []any{"80%"}}
}
