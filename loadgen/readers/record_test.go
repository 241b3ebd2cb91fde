package readers

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestRecordsSayWhatTheyAreOf: one that does not is refused, and what was written is read again.
func TestRecordsSayWhatTheyAreOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "readers.ndjson.zst")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Record{What: Delivery, Reader: 2, Type: "ADDED", UID: "u", Version: 3, Started: 10, Ended: 11, Code: 500, Error: "500", Signed: true}
	w.Append(want)
	w.Append(Record{Code: 1})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, err := range ReadFile(path) {
		if n++; n == 1 && (err != nil || r != want) || n == 2 && (err == nil || !strings.Contains(err.Error(), "does not say what")) {
			t.Errorf("%d: %+v, %v", n, r, err)
		}
	}
	if n != 2 {
		t.Errorf("%d records", n)
	}
}
