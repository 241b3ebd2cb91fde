package gate

import "testing"

// A point's own name may have the mark of a repetition in it.
func TestSideOfAnIDAlone(t *testing.T) {
	for id, want := range map[string]int{
		"load-rush-base-r2": 0, "load-rush-base": 0, "base-r1": 0, "new-r3": 1, "rebase-r1": 1,
	} {
		if got := sideOf(nil, id); got != want {
			t.Errorf("%s is of side %d, want %d", id, got, want)
		}
	}
}
