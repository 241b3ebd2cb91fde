package render

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"github.com/watchbench/watchbench/reports/result"
)

// TestBenchstatCompares: benchstat without options makes a table per configuration and a
// row per name. Two runs of one scenario share both, whatever else differs between them.
func TestBenchstatCompares(t *testing.T) {
	run := func(points ...int) *result.Results {
		res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "a", Scenario: "sizing"}, Environment: result.Environment{
			Commit: "1", GoVersion: "go1.26.0", Provider: "embedded", Kubernetes: "v1.36.3", Etcd: "3.7.3", Kernel: "6.12", CPUModel: "X", CPUs: 2,
		}}
		for _, n := range points {
			c := drained(3)
			c.ID = fmt.Sprint(n)
			c.Params = map[string]string{result.ParamLoad: "l", result.ParamStrategy: "partitioned", "watcher.podQueueNum": c.ID}
			res.Cells = append(res.Cells, c)
		}
		return res
	}
	keys := func(res *result.Results) (tables, rows []string) {
		var buf bytes.Buffer
		if err := Bench(&buf, res); err != nil {
			t.Fatal(err)
		}
		all, err := benchproc.NewFilter("*")
		if err != nil {
			t.Fatal(err)
		}
		var p benchproc.ProjectionParser // benchstat's own defaults
		table, err := p.Parse(".config", all)
		if err != nil {
			t.Fatal(err)
		}
		row, err := p.Parse(".fullname", all)
		if err != nil {
			t.Fatal(err)
		}
		for r := benchfmt.NewReader(&buf, "bench.txt"); r.Scan(); {
			if rec, ok := r.Result().(*benchfmt.Result); ok {
				tables, rows = append(tables, table.Project(rec).String()), append(rows, row.Project(rec).String())
			}
		}
		return slices.Compact(tables), rows
	}
	tables, rows := keys(run(10, 30))
	if len(tables) != 1 || len(rows) != 2 || rows[0] == rows[1] {
		t.Fatalf("tables %q, rows %q", tables, rows)
	}
	other := run(30)
	other.Run.ID, other.Run.Started, other.Run.Seed, other.Run.Command = "b", time.Now(), 7, []string{"x"}
	e := &other.Environment
	e.Commit, e.Dirty, e.GoVersion, e.Kubernetes, e.Etcd, e.Kernel = "2", true, "go1.27.0", "v1.37.0", "3.8.0", "6.13"
	otherTables, otherRows := keys(other)
	if !slices.Equal(tables, otherTables) {
		t.Errorf("benchstat would put them into different tables:\n%q\n%q", tables, otherTables)
	}
	if !slices.Equal(rows[1:], otherRows) {
		t.Errorf("benchstat would put them into different rows:\n%q\n%q", rows[1:], otherRows)
	}
	other.Run.Scenario = "smoke"
	if scenario, _ := keys(other); slices.Equal(tables, scenario) {
		t.Errorf("two scenarios are compared: %q", scenario)
	}
}
