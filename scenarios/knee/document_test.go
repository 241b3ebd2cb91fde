package knee

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestDocument(t *testing.T) {
	m := &fake{knees: map[string]float64{"keyed": 400, "single": 40, "dedup": 2_000}, generator: 800, change: func(rate float64, nth int, c *result.Cell) {
		if rate > 38 && rate < 39 && nth == 0 {
			*c.Events.Lost = 2
		}
	}}
	r := find(t, m, func(o *Options) { o.Strategies = []string{"single", "keyed", "dedup"}; o.Resolution = 0.2 })
	r.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"knee.txt": func(b *bytes.Buffer) error { return render.DocumentTerminal(b, r.Document(), render.TerminalOptions{}) },
		"knee.md":  func(b *bytes.Buffer) error { return render.DocumentMarkdown(b, r.Document()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		path := "testdata/" + name
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (go test ./scenarios/knee -update rewrites it) (-want +got):\n%s", path, diff)
		}
	}
	var page bytes.Buffer
	if err := render.DocumentHTML(&page, r.Document()); err != nil || !strings.Contains(page.String(), `data-chart="section1-plot1"`) {
		t.Errorf("the page has no chart: %v", err)
	}
}

// TestMost names nobody whose bracket meets another's.
func TestMost(t *testing.T) {
	r := find(t, &fake{knees: map[string]float64{"keyed": 400, "single": 401}}, func(o *Options) { o.Strategies = []string{"single", "keyed"} })
	if s := r.most(); s != "No strategy is shown to carry more than all others." {
		t.Error(s)
	}
	r = find(t, &fake{knees: map[string]float64{"keyed": 400, "single": 200}}, func(o *Options) { o.Strategies = []string{"single", "keyed"} })
	if s := r.most(); !strings.HasPrefix(s, "keyed carries the most: at least 1.") {
		t.Error(s)
	}
	// Of one that is at least so much nobody knows how much it carries.
	r.Strategies[0].Bound = ByGenerator
	if s := r.most(); s != "No strategy is shown to carry more than all others." {
		t.Error(s)
	}
}
