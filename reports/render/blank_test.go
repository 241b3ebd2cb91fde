package render

import "testing"

// TestShortListHasNoBlankBox: the room below the matrix is for its tips; a list without tips needs none.
func TestShortListHasNoBlankBox(t *testing.T) {
	dir, all := savedFolder(t)
	path, err := WriteHistory(dir, all[:1])
	if err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	b.open(path, 1400, 900)
	var blank float64
	b.eval(`(box => box.clientHeight - box.querySelector("table").offsetHeight)(document.querySelector("#runs .scroll"))`, &blank)
	if blank > 4 {
		t.Errorf("%v px are blank below the list", blank)
	}
}
