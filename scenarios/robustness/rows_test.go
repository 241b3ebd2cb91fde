package robustness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

var matrixDir = flag.String("matrix", "", "folder of a matrix to which the rows are added; without it they are not run")

func TestMain(m *testing.M) {
	if text := os.Getenv(asSlow); text != "" {
		if err := beSlow(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(clustertest.Shared(m).Run())
}

// families are those of the rows, each made anew for every cell.
var families = []func() faults.Family{
	replicas, shards, account, customResources, queues, anytime, notifications, forgedAddresses, queryAbuse, readerScans,
}

// format is the scenario format with their events.
var format = faults.FormatOf(families...)

const folder = "robustness/"

// read finds a row of this package or of the product.
func read(t *testing.T, name string, sets ...string) *spec.File {
	t.Helper()
	var (
		path string
		data []byte
		err  error
	)
	if own, ok := strings.CutPrefix(name, folder); ok {
		path = own + ".yaml"
		data, err = os.ReadFile(path)
	} else {
		path, data, err = scenarios.Read(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := format.Parse(path, data, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// rows are the names of this package's rows, in order.
func rows(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("f*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".yaml"))
	}
	return names
}

// TestRows runs the rows on real processes and adds them to a matrix. A row that is compared with F0 has that run first
// where the matrix has none.
func TestRows(t *testing.T) {
	if *matrixDir == "" {
		t.Skip("make robustness runs the rows; it takes some ten minutes")
	}
	dir, err := filepath.Abs(*matrixDir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	g := newGround(t, filepath.Join(t.TempDir(), "bin"))
	for _, name := range rows(t) {
		t.Run(name, func(t *testing.T) {
			file := read(t, folder+name)
			fault := file.Base().Fault
			todo := []runner.Scenario{{Name: name, File: file}}
			_, err := os.Stat(filepath.Join(dir, result.MatrixFile))
			if err != nil && slices.Contains(fault.Assert, "I") {
				todo = slices.Insert(todo, 0, runner.Scenario{Name: "faults/f00-none", File: read(t, "faults/f00-none")})
			}
			campaign := runner.Campaign{
				Scenarios: todo, Rows: []string{fault.Row}, Profile: "default", Dir: dir, Report: func(line string) { t.Log(line) },
				Single: func(ctx context.Context, s runner.Scenario, baseline *result.Cell) (runner.Outcome, error) {
					return g.runner(ctx, s.File, dir, g.bins, baseline)
				},
			}
			m, err := campaign.Run(t.Context())
			if err := errors.Join(err, render.WriteMatrixPage(dir, m)); err != nil {
				t.Fatal(err)
			}
			for i := range m.Entries {
				if e := &m.Entries[i]; e.Scenario == name {
					failed, invalid := e.Verdict()
					if t.Log(e.Row, e.Scenario, e.Cell, failed, invalid); len(failed) > 0 || invalid != "" {
						t.Errorf("%s %s: failed %v %s\n%s\n%s", name, e.Cell, failed, invalid, details(e), filepath.Join(dir, e.Dir))
					}
				}
			}
		})
	}
}

// runner runs a scenario on the ground's control plane or, where it is simulated or has feature gates, on one of its own.
func (g *ground) runner(ctx context.Context, file *spec.File, dir string, bins party.Binaries, baseline *result.Cell) (out runner.Outcome, err error) {
	on := g.cluster
	if c := file.Base().Cluster; c.Provider != cluster.Embedded || len(c.Gates) > 0 {
		var p cluster.Provider
		if p, err = cluster.New(c.Provider, cluster.Options{Embedded: cluster.EmbeddedOptions{Gates: c.Gates}}); err == nil {
			on, err = p.Up(ctx, nil)
		}
		if err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, on.Down(context.WithoutCancel(ctx))) }()
	}
	return runner.Run(ctx, runner.Options{
		Scenario: file, Binaries: bins, Provider: on.Provider, OutDir: dir, Command: os.Args, Baseline: baseline, Failpoints: families,
	}, on)
}

// TestRowsAreRead: every row can be run as it is written, and is of its name's row.
func TestRowsAreRead(t *testing.T) {
	for _, name := range rows(t) {
		file := read(t, folder+name)
		var number int
		if _, err := fmt.Sscanf(name, "f%d-", &number); err != nil || file.Base().Fault.Row != fmt.Sprintf("F%d", number) || file.Base().Metadata.Name != name {
			t.Errorf("%s is of row %s, named %s", name, file.Base().Fault.Row, file.Base().Metadata.Name)
		}
	}
}

// repairs notes that an event leaves work for the synchronizer.
func repairs(t *spec.Timeline, _ spec.Event) error {
	t.Repairs = true
	return nil
}

// secrets notes that an event brings secrets along.
func secrets(t *spec.Timeline, _ spec.Event) error {
	t.Secrets = true
	return nil
}

// certLife is longer than any cell.
const certLife = tokenLife

// asks reports whether a scenario has one of these events.
func asks(s *spec.Scenario, what ...string) bool {
	return slices.ContainsFunc(s.Events, func(e spec.Event) bool { return slices.Contains(what, e.What) })
}
