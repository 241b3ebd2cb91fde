package scenarios

import (
	"errors"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/party"
)

// TestOriginal: the scenario original is refused until its watcher is named, and only one point is that watcher.
func TestOriginal(t *testing.T) {
	for _, sets := range [][]string{nil, {"watcher.command=true -f {config}"}} {
		file, src, err := Read("original")
		if err != nil {
			t.Fatal(err)
		}
		f, err := faults.Format.Parse(file, src, sets...)
		if err != nil {
			t.Fatal(err)
		}
		others := 0
		for _, c := range f.Cells() {
			w := c.Scenario.Watcher
			if w.Command == "" {
				continue
			}
			others++
			_, err := party.Binaries{}.Command(w, "")
			if _, bad := errors.AsType[*badinput.Error](err); c.ID != "original" || bad != (sets == nil) {
				t.Errorf("%q: %s runs %q: %v", sets, c.ID, w.Command, err)
			}
		}
		if others != 1 || len(f.Cells()) < 2 {
			t.Errorf("%q: %d of %d points are another watcher", sets, others, len(f.Cells()))
		}
	}
}
