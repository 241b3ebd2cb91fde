package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// scenario is one of a row, with one cell.
func rowScenario(t *testing.T, name, row string) Scenario {
	t.Helper()
	f, err := spec.Format{}.Parse(name+".yaml", []byte(fmt.Sprintf(`apiVersion: watchbench/v1
kind: Scenario
metadata: {name: %s}
load: {model: closed, threads: 2, operations: 10}
fault: {row: %s, title: of %s, assert: [C]}
`, name, row, row)))
	if err != nil {
		t.Fatal(err)
	}
	return Scenario{"faults/" + name, f}
}

// scripted is a campaign of runs that came to the given cells or errors, in order.
type scripted struct {
	outcomes  []any
	baselines []string // the freshness that each run was given
	lines     []string
}

func (p *scripted) run(_ context.Context, s Scenario, base *result.Cell) (Outcome, error) {
	have := "none"
	if base != nil {
		have = fmt.Sprint(base.Freshness.P99)
	}
	p.baselines = append(p.baselines, have)
	n := len(p.baselines)
	dir := fmt.Sprintf("/out/run-%d", n)
	switch x := p.outcomes[n-1].(type) {
	case result.Cell:
		x.ID = "only"
		x.Freshness = &result.Quantiles{P99: float64(n)}
		x.Robustness.Row = s.File.Base().Fault.Row
		return Outcome{Dir: dir, Results: &result.Results{Cells: []result.Cell{x}}}, nil
	case error:
		return Outcome{Dir: dir, Results: &result.Results{}}, x
	}
	panic("no such outcome")
}

func inColumn(column, verdict string) result.Cell {
	return result.Cell{Valid: true, Robustness: &result.Robustness{Columns: map[string]result.Column{column: {Verdict: verdict, Detail: "0.3 s"}}}}
}

// unproven was late in T, and proves nothing.
func unproven() result.Cell {
	c := inColumn("T", result.Fail)
	c.Valid, c.InvalidReasons = false, []string{"the generator was late"}
	return c
}

var errCrash = &party.ExitError{Name: party.WatcherName}

var errFatal = badinput.New("", "no control plane\nat all")

func (p *scripted) campaign(t *testing.T, todo ...Scenario) (string, *result.Matrix, error) {
	t.Helper()
	dir := t.TempDir()
	c := Campaign{
		Scenarios: todo, Rows: []string{"F0", "F1", "F2"}, Profile: "default", Dir: dir, Single: p.run,
		Report: func(line string) { p.lines = append(p.lines, line) },
	}
	m, err := c.Run(t.Context())
	return dir, m, err
}

// TestCampaign: the row F0 is the baseline of all later runs, with its second try; a violation gets none.
func TestCampaign(t *testing.T) {
	p := &scripted{outcomes: []any{unproven(), inColumn("T", result.Pass), inColumn("C", result.Fail), errors.New("boom\nand more")}}
	dir, m, err := p.campaign(t, rowScenario(t, "f00-none", "F0"), rowScenario(t, "f01-slow", "F1"), rowScenario(t, "f02-refuse", "F2"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"none", "none", "2", "2"}, p.baselines); d != "" {
		t.Errorf("baselines (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"[1/3] faults/f00-none", "running it again: the generator was late", "[2/3] faults/f01-slow", "[3/3] faults/f02-refuse"}, p.lines); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
	var got []string
	for _, e := range m.Entries {
		got = append(got, strings.Join([]string{e.Row, e.Scenario, e.Cell, e.Dir, e.First, e.Error}, "|"))
	}
	want := []string{"F0|f00-none|only|run-2|the generator was late|", "F1|f01-slow|only|run-3||", "F2|f02-refuse||run-4||boom; and more"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]result.Retry{{Scenario: "f00-none", Why: "the generator was late"}}, m.Retries); d != "" {
		t.Errorf("second tries (-want +got):\n%s", d)
	}
	record, err := history.LoadCampaign(dir)
	if err != nil {
		t.Fatal(err)
	}
	var tries []int
	for _, r := range record.Runs {
		tries = append(tries, r.Try)
	}
	if !cmp.Equal(tries, []int{1, 2, 1, 1}) || record.Seconds != m.Seconds || !cmp.Equal(record.Asked, []string{"F0", "F1", "F2"}) {
		t.Errorf("%+v", record)
	}
	saved, err := result.LoadMatrix(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, saved); d != "" {
		t.Errorf("matrix.json holds something else (-returned +saved):\n%s", d)
	}
	if all, err := filepath.Glob(dir + "/*"); err != nil || len(all) != 3 {
		t.Errorf("files %v, %v", all, err)
	}
}

// TestNoSecondTry: a watcher that ends by itself, one that exits with an error, and one
// that is late in a valid cell get none.
func TestNoSecondTry(t *testing.T) {
	exit := unproven()
	exit.Robustness.Columns["X"] = result.Column{Verdict: result.Fail, Detail: "exit code 1"}
	for name, tc := range map[string]struct {
		outcome any
		want    string
	}{
		"crashed": {fmt.Errorf("cell only: %w", errCrash), "X"}, "exit code": {exit, "T X"}, "late": {inColumn("T", result.Fail), "T"},
	} {
		p := &scripted{outcomes: []any{tc.outcome, inColumn("T", result.Pass)}}
		_, m, err := p.campaign(t, rowScenario(t, "f01-slow", "F1"))
		if err != nil || len(p.baselines) != 1 || len(m.Retries) != 0 {
			t.Errorf("%s: %d runs, second tries %+v, %v", name, len(p.baselines), m.Retries, err)
			continue
		}
		i := slices.IndexFunc(m.Entries, func(e result.MatrixEntry) bool { return e.Row == "F1" })
		if failed, _ := m.Entries[i].Verdict(); strings.Join(failed, " ") != tc.want {
			t.Errorf("%s: failed %v, want %s", name, failed, tc.want)
		}
	}
}

// TestFatalEndsIt: what would meet every scenario ends the campaign, which keeps what there is.
func TestFatalEndsIt(t *testing.T) {
	p := &scripted{outcomes: []any{inColumn("C", result.Pass), errFatal}}
	dir, m, err := p.campaign(t, rowScenario(t, "f00-none", "F0"), rowScenario(t, "f01-slow", "F1"), rowScenario(t, "f02-refuse", "F2"))
	if !errors.Is(err, errFatal) || len(p.baselines) != 2 {
		t.Fatalf("%v after %d runs", err, len(p.baselines))
	}
	saved, lerr := result.LoadMatrix(dir)
	if lerr != nil || !cmp.Equal(m, saved) || len(m.Entries) != 3 || m.Entries[1].Error != "no control plane; at all" || m.Entries[2].NotBuilt != "" || !m.Entries[2].NotRun {
		t.Errorf("%v, %+v", lerr, m.Entries)
	}
}

func TestInterruptedBeforeTheFirst(t *testing.T) {
	why := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	dir := t.TempDir()
	c := Campaign{Scenarios: []Scenario{rowScenario(t, "f00-none", "F0")}, Dir: dir}
	_, err := c.Run(ctx)
	if _, lerr := history.LoadCampaign(dir); !errors.Is(err, why) || lerr != nil {
		t.Errorf("%v, %v", err, lerr)
	}
}
