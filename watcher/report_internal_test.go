package watcher

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestStateOfWhatFlaps: what comes and goes without end is some lines at first, in both
// directions, and then one each in two minutes; a line says how much was left out, and the
// last one is true.
func TestStateOfWhatFlaps(t *testing.T) {
	for name, kinds := range map[string]int{"one": 1, "twenty, each at a time of its own": 20} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			log := slog.New(slog.NewTextHandler(&text, nil))
			s := newState("is lost", "is back", "kinds")
			begin := time.Now()
			look := func(second int, all []trouble) { s.look(log, begin.Add(time.Duration(second)*time.Second), all) }
			for second := range 600 {
				var all []trouble
				for k := range kinds {
					if at := (second + 7*k) % 6; at < 3 {
						since := begin.Add(time.Duration(second-at) * time.Second)
						all = append(all, trouble{of: fmt.Sprintf("Kind%02d", k), since: since, err: errors.New("no answer"), tell: at > 0})
					}
				}
				look(second, all)
			}
			lost, back := strings.Count(text.String(), "is lost"), strings.Count(text.String(), "is back")
			if lost < 4 || back < 4 || lost+back > 20 {
				t.Errorf("%d and %d lines in ten minutes:\n%s", lost, back, text.String())
			}
			if !strings.Contains(text.String(), "untold=") {
				t.Errorf("no line says how much was not told:\n%s", text.String())
			}
			for second := range 300 {
				look(600+second, nil)
			}
			if len(s.said)+len(s.over)+len(s.pending) != 0 {
				t.Errorf("five minutes after the end: said %v, over %v, pending %v", s.said, s.over, s.pending)
			}
			text.Reset()
			for second := range 300 {
				look(900+second, []trouble{{of: "Kind00", since: begin.Add(900 * time.Second), err: errors.New("no answer"), tell: second > 0}})
			}
			look(1200, nil)
			if got := text.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `msg="is lost" kinds=Kind00 for=1s`) || !strings.Contains(got, `msg="is back" kinds=Kind00 after=5m0s`) {
				t.Errorf("a calm outage afterwards:\n%s", got)
			}
		})
	}
}
