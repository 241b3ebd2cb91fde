package grafana

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated files")

// The files in this directory are those of the code.
func TestFiles(t *testing.T) {
	for _, d := range All() {
		want, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(d.File, want, 0o644); err != nil { //nolint:gosec // read by Grafana
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(d.File); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what the code says (%v): run this test with -update", d.File, err)
		}
	}
}

// Every panel has a unit, a description and legends; the watcher's dashboard has all of the
// original's 19.
func TestPanels(t *testing.T) {
	const originals = 19
	var origins []int
	for _, d := range All() {
		titles := map[string]bool{}
		for _, r := range d.Rows {
			for _, p := range r.Panels {
				if p.Unit == "" || p.Text == "" || len(p.Queries) == 0 {
					t.Errorf("%s, %s: want a unit, a description and queries", d.Title, p.Title)
				}
				for _, q := range p.Queries {
					if p.Stat != strings.Contains(q.Expr, "$__range") && p.Unit != yesNo {
						t.Errorf("%s, %s: totals of the time shown are numbers, everything else is a chart", d.Title, p.Title)
					}
					if q.Legend == "" {
						t.Errorf("%s, %s: %s has no legend", d.Title, p.Title, q.Expr)
					}
				}
				if titles[r.Title+p.Title] {
					t.Errorf("%s, %s: two panels of this title", d.Title, p.Title)
				}
				titles[r.Title+p.Title] = true
				if p.Origin > 0 {
					origins = append(origins, p.Origin)
				}
			}
		}
	}
	slices.Sort(origins)
	for i := range originals {
		if !slices.Contains(origins, i+1) {
			t.Errorf("panel %d of bcs-k8s-watch's dashboard is not answered", i+1)
		}
	}
}
