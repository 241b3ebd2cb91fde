package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// measurer runs variants of a scenario, one after another, on one cluster, for commands that choose what to run by
// what was measured before. Each variant has a run's folder of its own below dir. It is not for concurrent use.
type measurer struct {
	flags    *runFlags
	cmd      *cobra.Command
	bins     party.Binaries
	on       spec.Cluster
	cluster  *cluster.Cluster // nil until the first variant
	progress *runner.Progress // for lines between variants
	dir      string
}

// measurer makes the folder of a command's measurements and looks for the programs that the scenario needs. The
// cluster is brought up for the first variant; of provider simulated there is none. The caller closes the measurer.
func (f *runFlags) measurer(cmd *cobra.Command, s runner.Scenario) (*measurer, error) {
	bins, err := binaries([]runner.Scenario{s})
	if err != nil {
		return nil, err
	}
	m := &measurer{flags: f, cmd: cmd, bins: bins, on: s.File.Base().Cluster, progress: f.progress(cmd)}
	name := time.Now().Format("tune-20060102-150405")
	if of := s.File.Base().Metadata.Name; of != result.TuningQuestion {
		name = strings.Replace(name, "-", "-"+of+"-", 1)
	}
	if m.dir, _, err = runner.MakeDir(f.out, name); err != nil {
		return nil, err
	}
	return m, nil
}

// Measure runs all cells of a variant; its folder is dir/<run id>. On an error it also returns the results so far,
// which may be nil or have no cell; after an interruption the error is the cause of ctx.
func (m *measurer) Measure(ctx context.Context, file *spec.File) (*result.Results, error) {
	on := file.Base().Cluster
	if on.Provider != m.on.Provider || on.FSync != m.on.FSync || on.Controllers != m.on.Controllers ||
		!slices.Equal(on.Gates, m.on.Gates) {
		return nil, fmt.Errorf("a variant needs another cluster than the one that is up: %+v, not %+v", on, m.on)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if m.cluster == nil {
		up, err := m.flags.up(ctx, m.on, filepath.Join(m.dir, "logs"), m.progress)
		if err != nil {
			return nil, err
		}
		m.cluster = up
	}
	out, err := runner.Run(ctx, runner.Options{
		Scenario: file, Binaries: m.bins, Provider: m.on.Provider, OutDir: m.dir, Progress: m.flags.progress(m.cmd),
		Command: commandLine(), OneTry: true, // the search measures again, as often as its budget allows
	}, m.cluster)
	return out.Results, err
}

// Close takes the cluster down, after an interruption too. The folder goes if nothing is in it.
func (m *measurer) Close() (err error) {
	if m.cluster != nil {
		err = takeDown(m.cmd.Context(), m.cluster)
		m.cluster = nil
	}
	_ = os.Remove(m.dir)
	return err
}
