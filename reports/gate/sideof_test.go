package gate

import "testing"

// A point's own name may have the mark of a repetition in it.
func TestSideOfAnIDAlone(t *testing.T) {
	for id, want := range map[string]string{
		"load-rush-base-r2": BaseSide, "load-rush-base": BaseSide, "base-r1": BaseSide, "new-r3": NewSide, "rebase-r1": NewSide,
	} {
		if got := sideOf(nil, id); got != want {
			t.Errorf("%s is of %s, want %s", id, got, want)
		}
	}
}
