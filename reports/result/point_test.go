package result

import "testing"

func TestPoint(t *testing.T) {
	for _, tt := range []struct {
		id         string
		repetition int
		want       string
	}{
		{"keyed-r1", 1, "keyed"},
		{"keyed-r12", 12, "keyed"},
		{"keyed", 1, "keyed"}, // a run without repetitions
		{"keyed-r2-r3", 3, "keyed-r2"},
		{"keyed-r2", 1, "keyed-r2"}, // that is the point's own name
		{"keyed-r21", 1, "keyed-r21"},
	} {
		if got := (&Cell{ID: tt.id, Repetition: tt.repetition}).Point(); got != tt.want {
			t.Errorf("%s, repetition %d: %s, want %s", tt.id, tt.repetition, got, tt.want)
		}
	}
	for id, want := range map[string]string{
		"keyed-r1": "keyed", "keyed-r2-r3": "keyed-r2", "keyed": "keyed", "new-replay-10": "new-replay-10", "a-r": "a-r", "a-r0": "a-r0", "-r1": "-r1", "a-r+1": "a-r+1",
	} {
		if got := PointOf(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
