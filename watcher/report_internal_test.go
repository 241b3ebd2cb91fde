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

// TestStateOfWhatFlaps: what comes and goes without end is some lines at first, and then one each in two
// minutes; each that says so is followed by one that it is back.
func TestStateOfWhatFlaps(t *testing.T) {
	for _, kinds := range []int{1, 20} {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		s := newState("is lost", "is back", "kinds")
		begin := time.Now()
		look := func(second int, all ...trouble) { s.look(log, begin.Add(time.Duration(second)*time.Second), all) }
		for second := range 600 {
			var all []trouble
			for k := range kinds {
				if at := (second + 7*k) % 6; at < 3 {
					since := begin.Add(time.Duration(second-at) * time.Second)
					all = append(all, trouble{of: fmt.Sprintf("Kind%02d", k), since: since, err: errors.New("no answer"), tell: at > 0})
				}
			}
			look(second, all...)
		}
		look(600)
		if lost := strings.Count(text.String(), "is lost"); lost < 4 || lost > 10 || !strings.Contains(text.String(), "is back") {
			t.Errorf("%d lines in ten minutes:\n%s", lost, text.String())
		}
		text.Reset()
		for second := range 300 {
			look(900+second, trouble{of: "Kind00", since: begin.Add(900 * time.Second), err: errors.New("no answer"), tell: second > 0})
		}
		look(1200)
		if got := text.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `msg="is lost" kinds=Kind00 for=1s`) || !strings.Contains(got, `msg="is back" kinds=Kind00 after=5m0s`) {
			t.Errorf("a calm outage afterwards:\n%s", got)
		}
	}
}
