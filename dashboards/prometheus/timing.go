package prometheus

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Timing is how often Prometheus looks, and how far back.
type Timing struct {
	Scrape time.Duration // of targets, and evaluation of rules
	Window time.Duration // of rates
	Long   time.Duration // of what happens a few times an hour
	For    time.Duration // how long a condition must hold for an alert
}

// Default is the timing of the files in this directory.
func Default() Timing {
	return Timing{Scrape: 15 * time.Second, Window: 5 * time.Minute, Long: time.Hour, For: 5 * time.Minute}
}

// Text writes a duration as Prometheus does: 90s, 5m, 1h.
func Text(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// Expand replaces $window, $long and $age in an expression: $age is in seconds, twice Long.
func (t Timing) Expand(expr string) string {
	return strings.NewReplacer("$window", Text(t.Window), "$long", Text(t.Long), "$age", strconv.Itoa(int(2*t.Long/time.Second))).Replace(expr)
}
