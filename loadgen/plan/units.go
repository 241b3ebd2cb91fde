package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written with a unit: "3KiB".
type Size int64

// sizeUnits in the order in which a suffix is tried: longer ones first.
var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"kB", 1000}, {"KB", 1000}, {"MB", 1000 * 1000}, {"B", 1}}

// ParseSize reads a size such as "3KiB", "1.5MiB" or "800B".
func ParseSize(s string) (Size, error) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v >= 0 && v*float64(u.bytes) <= math.MaxInt32) { // NaN too
			break
		}
		return Size(math.Round(v * float64(u.bytes))), nil
	}
	return 0, fmt.Errorf("%q is not a size: write a number up to 2048 MiB with a unit (B, kB, KiB, MB, MiB), such as 3KiB", s)
}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	switch {
	case s != 0 && s%(1<<20) == 0:
		return strconv.FormatInt(int64(s>>20), 10) + "MiB"
	case s != 0 && s%(1<<10) == 0:
		return strconv.FormatInt(int64(s>>10), 10) + "KiB"
	default:
		return strconv.FormatInt(int64(s), 10) + "B"
	}
}

// MarshalText makes YAML and JSON carry the unit.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the YAML side of ParseSize.
func (s *Size) UnmarshalText(text []byte) error {
	v, err := ParseSize(string(text))
	if err == nil {
		*s = v
	}
	return err
}

// UnmarshalJSON refuses a bare number with the same message as YAML does.
func (s *Size) UnmarshalJSON(data []byte) error { return s.UnmarshalText(unquote(data)) }

// Duration is a time.Duration that is written as text: "87ms", "5s".
type Duration time.Duration

// ParseDuration reads a duration that is not negative.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration: write a number with a unit (ms, s, m, h), such as 87ms or 5s", s)
	}
	return Duration(d), nil
}

// Std is the duration as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText makes YAML and JSON carry the unit.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is the YAML side of ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err == nil {
		*d = v
	}
	return err
}

// UnmarshalJSON refuses a bare number with the same message as YAML does.
func (d *Duration) UnmarshalJSON(data []byte) error { return d.UnmarshalText(unquote(data)) }

// unquote is the text of a JSON string, or the JSON itself where it is none, so
// that the error shows what stood there.
func unquote(data []byte) []byte {
	var s string
	if json.Unmarshal(data, &s) == nil {
		return []byte(s)
	}
	return data
}
