package latency

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/userfile"
)

// maxEmpirical bounds the values read from one file.
const maxEmpirical = 1 << 20

// empirical draws from the measured values of a file, with replacement.
func empirical(a *arguments) distribution {
	file := a.Text("file", "")
	if file == "" {
		a.Fail("", "file is missing")
	}
	if a.Err() != nil {
		return distribution{}
	}
	b, err := userfile.ReadFile(file)
	if err != nil {
		a.err = fmt.Errorf("%q: reading the measured values: %w", a.in, err)
		return distribution{}
	}
	values, err := ParseEmpirical(b)
	if err != nil {
		a.err = fmt.Errorf("%q: %s: %w", a.in, file, err)
		return distribution{}
	}
	var sum float64
	for _, v := range values {
		sum += float64(v)
	}
	sorted := slices.Sorted(slices.Values(values))
	return distribution{toDuration(sum / float64(len(values))), func(r random, _ time.Time) time.Duration {
		return values[r.IntN(len(values))]
	}, func(ns float64) float64 {
		n, _ := slices.BinarySearch(sorted, time.Duration(ns)+1)
		return float64(n) / float64(len(sorted))
	}}
}

// ParseEmpirical reads one duration per line; a bare number is in milliseconds.
// Blank lines and what follows a # do not count.
func ParseEmpirical(b []byte) ([]time.Duration, error) {
	var values []time.Duration
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if ms, ferr := strconv.ParseFloat(text, 64); ferr == nil {
			d, err = time.Duration(ms*float64(time.Millisecond)), nil
			if !(ms >= 0 && ms <= float64(maxDuration/time.Millisecond)) {
				d = -1
			}
		}
		if err != nil || d < 0 || d > maxDuration {
			return nil, fmt.Errorf("line %d: %q is no duration between 0 and %s; write 87ms, or 87 for milliseconds", n, text, maxDuration)
		}
		if values = append(values, d); len(values) > maxEmpirical {
			return nil, fmt.Errorf("line %d: more than %d values; draw a sample first", n, maxEmpirical)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no values; want one duration per line")
	}
	return values, nil
}
