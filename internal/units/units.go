// Package units reads and writes durations, sizes and shares as people do: 45s, 3KiB, 80%. A value without its unit is
// refused, and every error says what would be right.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// Duration is a length of time, written with its unit: 45s.
type Duration time.Duration

// UnmarshalText reads Go's notation, in which only 0 has no unit, and refuses negative values.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a duration; write a number with ms, s, m or h, for example 45s", text)
	case v < 0:
		return fmt.Errorf("%q is negative; write a duration from 0s", text)
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

// Size is a number of bytes, written with its unit: 3KiB.
type Size int64

// maxSize is far above anything that is configured, and keeps float64 exact.
const maxSize = 1 << 40

type sizeUnit struct {
	suffix string
	bytes  int64
}

// Longer suffixes come first where one ends with another; the decimal ones are only read.
var (
	binaryUnits = []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
	sizeUnits   = append([]sizeUnit{{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}}, binaryUnits...)
)

// UnmarshalText reads a number with one of the units.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := ParseSize(string(text))
	if err == nil {
		*s = v
	}
	return err
}

// ParseSize is UnmarshalText for a string.
func ParseSize(text string) (Size, error) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if v *= float64(u.bytes); err == nil && v >= 0 && v <= maxSize { // NaN is neither
			return Size(math.Round(v)), nil
		}
		break
	}
	return 0, fmt.Errorf("%q is not a size; write a number with B, kB, KiB, MB, MiB or GiB, for example 3KiB", text)
}

// MarshalText writes the largest unit that needs no fraction.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Size) String() string {
	for _, u := range binaryUnits {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.suffix
		}
	}
	return "0B"
}

// JSONSchema describes the text form.
func (Size) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?(B|kB|KB|KiB|MB|MiB|GiB)$`,
		Examples: []any{"3KiB"}}
}

// Share is a part of a whole from 0 to 1, written in percent: 80%.
type Share float64

// UnmarshalText reads 0% to 100%, to the millionth of a percent.
func (s *Share) UnmarshalText(text []byte) error {
	num, ok := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(num, 64)
	if !ok || err != nil || !(v >= 0 && v <= 100) {
		return fmt.Errorf("%q is not a share; write 0%% to 100%%, for example 80%%", text)
	}
	*s = Share(math.Round(v*1e6) / 1e6 / 100)
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
