package versus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

// run is a record of the given cells.
func run(cells ...result.Cell) *result.Results {
	return &result.Results{Schema: result.Schema, Run: result.Run{ID: "test"}, Cells: cells}
}

// cell is a valid cell at the given parameters, in the repetition that its id ends in.
func cell(id string, params ...string) result.Cell {
	c := result.Cell{ID: id, Params: map[string]string{}, Valid: true, Checks: map[string]result.Check{}, Parties: map[string]result.Party{}}
	if i := strings.LastIndex(id, "-r"); i >= 0 {
		_, _ = fmt.Sscanf(id[i:], "-r%d", &c.Repetition)
	}
	for _, p := range params {
		k, v, _ := strings.Cut(p, "=")
		c.Params[k] = v
	}
	return c
}

func with(c result.Cell, change func(*result.Cell)) result.Cell {
	change(&c)
	return c
}

func named(name string) func(*result.Cell) { return func(c *result.Cell) { c.Watcher.Name = name } }

func invalid(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"late"} }
func cutShort(c *result.Cell) {
	c.Cut, c.CutFraction = true, 0.5
}

// shown are points in a line each: name, then ids by run.
func shown(points []Point) (lines []string) {
	for _, p := range points {
		l := p.Name + ":"
		for i, cells := range p.Cells {
			l += " ["
			for j, c := range cells {
				if j > 0 {
					l += " "
				}
				l += c.ID
			}
			l += fmt.Sprintf("]-%d", p.Left[i])
			if p.Cut[i] > 0 {
				l += fmt.Sprintf(" cut %d", p.Cut[i])
			}
		}
		lines = append(lines, l)
	}
	return lines
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		runs   []*result.Results
		points []string
		left   []string
	}{
		{name: "no runs"},
		{"no matrix", []*result.Results{run(cell("smoke")), run(cell("other"))}, []string{"smoke: [smoke]-0 [other]-0"}, nil},
		{
			"repetitions in order, invalid and cut ones left out",
			[]*result.Results{
				run(cell("light-r2", "load=light"), cell("light-r1", "load=light")),
				run(with(cell("light-r1", "load=light"), invalid), cell("light-r2", "load=light"), with(cell("light-r3", "load=light"), cutShort)),
			},
			[]string{"light: [light-r1 light-r2]-0 [light-r2]-2 cut 1"}, nil,
		},
		{
			"none valid is a point still",
			[]*result.Results{run(cell("light", "load=light")), run(with(cell("light", "load=light"), invalid))},
			[]string{"light: [light]-0 []-1"}, nil,
		},
		{
			"points of one run only",
			[]*result.Results{run(cell("a", "load=a"), cell("b", "load=b")), run(cell("b", "load=b"), cell("c", "load=c"))},
			[]string{"b: [b]-0 [b]-0"}, []string{"a: in A only", "c: in B, not in A"},
		},
		{
			"another strategy each",
			[]*result.Results{
				run(cell("heavy-keyed", "load=heavy", "watcher.strategy=keyed"), cell("light-keyed", "load=light", "watcher.strategy=keyed")),
				run(cell("light-single", "load=light", "watcher.strategy=single"), cell("heavy-single", "load=heavy", "watcher.strategy=single")),
			},
			[]string{"heavy-keyed: [heavy-keyed]-0 [heavy-single]-0", "light-keyed: [light-keyed]-0 [light-single]-0"}, nil,
		},
		{
			"an axis of one value on one side",
			[]*result.Results{run(cell("light", "load=light")), run(cell("light-keyed", "load=light", "watcher.strategy=keyed"))},
			[]string{"light: [light]-0 [light-keyed]-0"}, nil,
		},
		{
			"two watchers on one side are not matched with another one",
			[]*result.Results{
				run(cell("light-keyed", "load=light", "watcher.strategy=keyed"), cell("light-single", "load=light", "watcher.strategy=single")),
				run(cell("light-dedup", "load=light", "watcher.strategy=dedup")),
			},
			nil,
			[]string{"light-keyed: in A only", "light-single: in A only", "light-dedup: in B, not in A", oneWatcherEach},
		},
		{
			"another watcher under the same parameters",
			[]*result.Results{run(with(cell("light", "load=light"), named("old"))), run(with(cell("light", "load=light"), named("new")))},
			[]string{"light: [light]-0 [light]-0"}, nil,
		},
		{
			"three runs, of which the last lacks a point",
			[]*result.Results{run(cell("a", "load=a"), cell("b", "load=b")), run(cell("a", "load=a"), cell("b", "load=b")), run(cell("b", "load=b"))},
			[]string{"a: [a]-0 [a]-0 []-0", "b: [b]-0 [b]-0 [b]-0"}, nil,
		},
	} {
		points, left := Match(tt.runs...)
		if diff := cmp.Diff(tt.points, shown(points)); diff != "" {
			t.Errorf("%s: points (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.left, left); diff != "" {
			t.Errorf("%s: left (-want +got):\n%s", tt.name, diff)
		}
	}
}

// FuzzMatch holds that whatever two records have, no cell is in two points, none is
// matched with itself alone, what is in no point is said, and the comparison is one that
// JSON can carry, with a reason for all that it does not compare.
func FuzzMatch(f *testing.F) {
	encoded := func(res *result.Results) []byte {
		var b bytes.Buffer
		if err := result.Encode(&b, res); err != nil {
			f.Fatal(err)
		}
		return b.Bytes()
	}
	f.Add(encoded(run(cell("a-r1", "load=a"), cell("a-r2", "load=a"), cell("b", "load=b", "watcher=x"))), encoded(run(cell("a", "load=a"), cell("b", "load=b", "watcher=y"))))
	f.Add(encoded(run(cpu(1e308, 1e308)...)), encoded(run(cpu(1e-308, 1e-308)...)))
	f.Add(encoded(run(lost(1, 0, -1)...)), encoded(run(each(lost(2, 3), invalid)...)))
	f.Add(encoded(run(cell("a"))), encoded(run(cell("z", "watcher.strategy=\x00\"=;"))))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var runs []*result.Results
		for _, data := range [][]byte{a, b} {
			res, err := result.Decode(bytes.NewReader(data), "fuzz")
			if err != nil {
				t.Skip()
			}
			runs = append(runs, res)
		}
		points, left := Match(runs...)
		for i, res := range runs {
			in := map[*result.Cell]int{}
			for _, p := range points {
				if !p.Has(0) || !p.Has(1) {
					t.Fatalf("point %q is in one run only", p.Name)
				}
				if got := len(p.Cells[i]) + p.Left[i]; got != len(p.all[i]) {
					t.Fatalf("point %q: %d cells of %d accounted for", p.Name, got, len(p.all[i]))
				}
				for _, c := range p.all[i] {
					in[c]++
				}
			}
			out := 0
			for j := range res.Cells {
				switch n := in[&res.Cells[j]]; {
				case n > 1:
					t.Fatalf("cell %q is in %d points", res.Cells[j].ID, n)
				case n == 0:
					out++
				}
			}
			if out > 0 && len(left) == 0 {
				t.Fatalf("%d cells of run %d are in no point, and nobody says so", out, i+1)
			}
		}
		metrics, err := Metrics("*.*", "bystander.*.*")
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compare(metrics, Run{"a", runs[0]}, Run{"b", runs[1]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.Figures {
			s := f.Sides[1]
			if (s.Verdict == NotComparable) != (s.Why != "") || s.Verdict != NotComparable && (s.Value == nil || f.Sides[0].Value == nil) {
				t.Fatalf("%s of %s: %+v", f.Metric, f.Point, s)
			}
		}
	})
}
