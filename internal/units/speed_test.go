package units

import (
	"strings"
	"testing"
	"time"
)

func TestSpeed(t *testing.T) {
	for text, want := range map[string]time.Duration{"1x": time.Minute, "10x": 6 * time.Second, "0.1x": 10 * time.Minute, "2.5x": 24 * time.Second, "unlimited": 0} {
		var s Speed
		if err := s.Set(text); err != nil || s.Length(time.Minute) != want || s.String() != text {
			t.Errorf("%s: %v, %s, %s", text, err, s.Length(time.Minute), s)
		}
	}
	if s := Speed(0); s.Length(time.Minute) != time.Minute || s.String() != "1x" || s.Rate(7) != 7 || !s.Limited() {
		t.Errorf("the zero speed is %s", s)
	}
	for text, want := range map[string]string{"": "not a speed", "10": "not a speed", "x": "not a speed", "0x": "out of range", "0.01x": "out of range", "-1x": "out of range", "NaNx": "out of range", "1e9x": "out of range"} {
		var s Speed
		if err := s.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
