package result

import (
	"flag"
	"path/filepath"
	"testing"
)

var aa = flag.String("aa", "", "folder of runs of the scenario aa, of which none may name a winner")

// TestAA: in no run is one watcher told apart from itself.
func TestAA(t *testing.T) {
	if *aa == "" {
		t.Skip("make aa makes the runs")
	}
	files, err := filepath.Glob(filepath.Join(*aa, "aa-*", FileName))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d runs in %s, want 20: %v", len(files), *aa, err)
	}
	metric, err := MetricByName("freshness.p99")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		res, err := LoadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]*Cell
		for _, g := range res.Groups() {
			rows = append(rows, g.Cells)
		}
		p, ok := Rank(rows, metric.Of)
		switch {
		case !ok || len(p.Rows) != 2:
			t.Errorf("%s: nothing is ranked", file)
		case p.Differ(0, 1):
			t.Errorf("%s: %s is called fresher than %s", file, rows[p.Rows[0]][0].Point(), rows[p.Rows[1]][0].Point())
		}
	}
}
