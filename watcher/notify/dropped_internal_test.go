package notify

import (
	"bytes"
	"log/slog"
	"regexp"
	"slices"
	"testing"
)

// TestDroppedIsLogged: the lines say how many events were lost, whatever else fails
// meanwhile, and at the end none is left unsaid.
func TestDroppedIsLogged(t *testing.T) {
	var out bytes.Buffer
	c := Subscription{Name: "s"}.withDefaults()
	s := &subscription{Subscription: c, logger: slog.New(slog.NewTextHandler(&out, nil)), queue: newQueue(c.Queue), series: newMetrics().of("s")}
	s.failing.allow(1)
	s.full(3)
	s.full(2)
	for i := range 5 {
		s.queue.put(itemOf(string(rune('a'+i)), 1, 1))
	}
	s.end()
	got := regexp.MustCompile(`events dropped.*`).FindAllString(out.String(), -1)
	want := []string{
		`events dropped" reason=` + dropFull + ` events=3`, `events dropped" reason=` + dropFull + ` events=2`,
		`events dropped" reason=` + dropAbandoned + ` events=5`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
