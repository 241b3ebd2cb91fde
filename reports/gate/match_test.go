package gate

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

// shown are points in a line each: name, then by run the ids that count and how many cells are left out.
func shown(points []*point) (lines []string) {
	for _, p := range points {
		l := p.id + ":"
		for i, cells := range p.cells {
			var ids []string
			for _, c := range cells {
				ids = append(ids, c.ID)
			}
			l += fmt.Sprintf(" %v-%d", ids, len(p.all[i])-len(cells))
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
	}{
		{"no matrix", []*result.Results{run(cell("smoke")), run(cell("other"))}, []string{"smoke: [smoke]-0 [other]-0"}},
		{
			"repetitions in order, invalid and cut ones left out",
			[]*result.Results{
				run(cell("light-r2", "load=light"), cell("light-r1", "load=light")),
				run(with(cell("light-r1", "load=light"), invalid), cell("light-r2", "load=light"), with(cell("light-r3", "load=light"), cutShort)),
			},
			[]string{"light: [light-r1 light-r2]-0 [light-r2]-2"},
		},
		{
			"none valid is a point still",
			[]*result.Results{run(cell("light", "load=light")), run(with(cell("light", "load=light"), invalid))},
			[]string{"light: [light]-0 []-1"},
		},
		{
			"points of one run only",
			[]*result.Results{run(cell("a", "load=a"), cell("b", "load=b")), run(cell("b", "load=b"), cell("c", "load=c"))},
			[]string{"a: [a]-0 []-0", "b: [b]-0 [b]-0", "c: []-0 [c]-0"},
		},
		{
			"another strategy each",
			[]*result.Results{
				run(cell("heavy-keyed", "load=heavy", "watcher.strategy=keyed"), cell("light-keyed", "load=light", "watcher.strategy=keyed")),
				run(cell("light-single", "load=light", "watcher.strategy=single"), cell("heavy-single", "load=heavy", "watcher.strategy=single")),
			},
			[]string{"heavy-keyed: [heavy-keyed]-0 [heavy-single]-0", "light-keyed: [light-keyed]-0 [light-single]-0"},
		},
		{
			"an axis of one value on one side",
			[]*result.Results{run(cell("light", "load=light")), run(cell("light-keyed", "load=light", "watcher.strategy=keyed"))},
			[]string{"light: [light]-0 [light-keyed]-0"},
		},
		{
			"two watchers on one side are not matched with another one",
			[]*result.Results{
				run(cell("light-keyed", "load=light", "watcher.strategy=keyed"), cell("light-single", "load=light", "watcher.strategy=single")),
				run(cell("light-dedup", "load=light", "watcher.strategy=dedup")),
			},
			[]string{"light-keyed: [light-keyed]-0 []-0", "light-single: [light-single]-0 []-0", "light-dedup: []-0 [light-dedup]-0"},
		},
		{
			"another watcher under the same parameters",
			[]*result.Results{run(with(cell("light", "load=light"), named("old"))), run(with(cell("light", "load=light"), named("new")))},
			[]string{"light: [light]-0 [light]-0"},
		},
	} {
		if diff := cmp.Diff(tt.points, shown(match(tt.runs[0], tt.runs[1]))); diff != "" {
			t.Errorf("%s: points (-want +got):\n%s", tt.name, diff)
		}
	}
}

// FuzzMatch: whatever two records have, each cell is in one point, and the comparison is one that JSON can carry,
// with a reason for all that it does not compare.
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
		points := match(runs[0], runs[1])
		for i, res := range runs {
			in := map[*result.Cell]int{}
			for _, p := range points {
				for _, c := range p.all[i] {
					in[c]++
				}
			}
			for j := range res.Cells {
				if n := in[&res.Cells[j]]; n != 1 {
					t.Fatalf("cell %q is in %d points", res.Cells[j].ID, n)
				}
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
			if (f.Verdict == NotComparable) != (f.Why != "") || f.Verdict != NotComparable && (f.Sides[1].Value == nil || f.Sides[0].Value == nil) {
				t.Fatalf("%+v", f)
			}
		}
	})
}

// TestDrawnPortsAreNoDifference: see fixedFlags.
func TestDrawnPortsAreNoDifference(t *testing.T) {
	a, b := run(), run()
	a.Environment.Flags, b.Environment.Flags = []string{"--secure-port=41291"}, []string{"--secure-port=41292"}
	a.Environment.EtcdFlags = []string{"--data-dir=/tmp/watchbench-cluster-1/data"}
	b.Environment.EtcdFlags = []string{"--data-dir=/tmp/watchbench-cluster-2/data"}
	if all, err := Differences(a, b); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
	b.Environment.Flags = append(b.Environment.Flags, "--v=2")
	if all, err := Differences(a, b); err != nil || len(all) != 1 || all[0].What != "environment.flags" {
		t.Error("another flag:", all, err)
	}
}
