package churn

import (
	"testing"
	"time"
)

func TestStartOf(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		line string
		want time.Time // zero: about now
		bad  bool
	}{
		{line: "go"}, {line: ""}, {line: "go 1700000000123456789", want: time.Unix(1700000000, 123456789)},
		{line: "go soon", bad: true}, {line: "go 1 2", bad: true}, {line: "go 1.5", bad: true},
	} {
		got, err := startOf(c.line)
		switch {
		case c.bad != (err != nil):
			t.Errorf("%q: %v", c.line, err)
		case c.bad:
		case c.want.IsZero() && (got.Before(now) || got.After(time.Now())), !c.want.IsZero() && !got.Equal(c.want):
			t.Errorf("%q begins at %s", c.line, got)
		}
	}
}
