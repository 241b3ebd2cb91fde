package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

type matrixFlags struct {
	runFlags
	profile string
	byHand  bool
}

func matrixCommand() *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix [ROW|SCENARIO...]",
		Short: "Run the fault matrix and print one table: faults down, guarantees across",
		Long: `Run the fault matrix: every scenario below faults/ and regression/, or those of the
named rows (F2) or names (faults/f02-refuse), on one control plane. The row F0 is run
first where another row is compared with it. The table is printed and written as
matrix.md and matrix.json beside the runs' folders.

Exit code 3 when an asserted cell fails, 5 when a scenario proves nothing: a fault did
not fire, the load fell short, or fewer than 3 objects were hit. With --profile legacy
the rows that are expected to fail are run, and it is an error if they do not.`,
		Example: `  watchbench matrix
  watchbench matrix F2 F5 --profile legacy`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.matrix(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.profile, "profile", "default", "profile of the watcher: default or legacy")
	fl.StringVar(&f.provider, "cluster", "", "embedded, kind or kubeconfig (default: embedded)")
	fl.StringVar(&f.cluster.Kubeconfig.Path, "kubeconfig", "", "kubeconfig: the file")
	fl.StringVar(&f.cluster.Kubeconfig.Context, "context", "", "kubeconfig: the context, which must be named")
	fl.StringVar(&f.out, "out", "out", "folder for the runs' folders")
	fl.StringArrayVar(&f.sets, "set", nil, "override a field of every scenario, path=value")
	fl.StringVar(&f.watcherCommand, "watcher-command", "", "another watcher; {config} stands for the path of its config file")
	fl.BoolVar(&f.quiet, "quiet", false, "no progress")
	fl.BoolVar(&f.byHand, "by-hand", false, "also the long forms, which take hours")
	return cmd
}

// byHandMark in a scenario's name keeps it out unless it is asked for.
const byHandMark = "-long"

func (f *matrixFlags) matrix(cmd *cobra.Command, refs []string) error {
	if f.profile != "default" && f.profile != "legacy" {
		return usage{fmt.Errorf("--profile %s is not known; use default or legacy", f.profile)}
	}
	f.sets = append(f.sets, "watcher.profile="+f.profile)
	todo, asked, err := f.chosen(cmd, refs)
	if err != nil {
		return err
	}
	bins, err := runner.FindBinaries()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	dir := filepath.Join(f.out, "matrix-"+time.Now().Format("20060102-150405"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &runner.InputError{What: fmt.Sprintf("--out %s: %v", f.out, err), Remedy: "name a folder that can be written"}
	}
	if f.provider == "" {
		f.provider = "embedded"
	}
	say := func(format string, args ...any) {
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
		}
	}
	opts := f.cluster
	opts.Embedded.Logs = filepath.Join(dir, "logs")
	provider, err := cluster.New(f.provider, opts)
	if err != nil {
		return err
	}
	up, err := provider.Up(ctx, func(line string) { say("%s", line) })
	if err != nil {
		return fmt.Errorf("bring the cluster up: %w", err)
	}
	m := &matrix.Matrix{Schema: matrix.Schema, Profile: f.profile}
	began := time.Now()
	runErr := f.all(cmd, todo, bins, up, dir, m, say)
	m.Seconds = time.Since(began).Seconds()
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err = errors.Join(runErr, up.Down(down))
	m.Complete(asked)
	if werr := writeMatrix(dir, m); werr != nil {
		return errors.Join(err, werr)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n%.0f s, %s\n", m.Text(), matrix.Legend, m.Seconds, filepath.Join(dir, "matrix.md"))
	if err != nil {
		return err
	}
	return matrixVerdict(m)
}

// chosen reads the scenarios to run, F0 first.
func (f *matrixFlags) chosen(cmd *cobra.Command, refs []string) (todo []planned, asked []string, err error) {
	all := append(scenarios.FaultNames(), scenarios.RegressionNames()...)
	wanted := map[string]bool{}
	for _, ref := range refs {
		switch {
		case matrix.Known(strings.ToUpper(ref)):
			asked = append(asked, strings.ToUpper(ref))
		case slices.Contains(all, ref):
			wanted[ref] = true
		default:
			return nil, nil, usage{fmt.Errorf("%q is neither a row F0 to F28 nor a scenario of the matrix; see watchbench scenarios list", ref)}
		}
	}
	rows := slices.Clone(asked) // asked grows by the rows of scenarios that were named
	var base *planned
	needBase := false
	for _, name := range all {
		row, err := faultOf(name)
		if err != nil {
			return nil, nil, err
		}
		named := wanted[name] || slices.Contains(rows, row.Row)
		take := named || len(refs) == 0
		if len(refs) == 0 && f.profile == "legacy" && len(row.Legacy) == 0 {
			take = false
		}
		if strings.Contains(name, byHandMark) && !wanted[name] && !f.byHand {
			take = false
		}
		isBase := row.Row == "F0" && base == nil
		if !take && !isBase {
			continue // it may not go with the flags, and need not
		}
		file, err := f.read(cmd, name)
		if err != nil {
			return nil, nil, err
		}
		p := planned{name, file}
		if isBase {
			base, needBase = &p, needBase || take
			continue
		}
		needBase = needBase || slices.Contains(row.Assert, "I")
		todo = append(todo, p)
		if !slices.Contains(asked, row.Row) && len(refs) > 0 {
			asked = append(asked, row.Row)
		}
	}
	if base != nil && needBase {
		todo = append([]planned{*base}, todo...)
	}
	if f.profile == "legacy" && len(asked) == 0 {
		for _, p := range todo {
			asked = append(asked, p.file.Base().Fault.Row)
		}
	}
	return todo, asked, nil
}

// faultOf is what a scenario of the matrix says of its row, whatever the flags.
func faultOf(name string) (*spec.Fault, error) {
	path, data, err := scenarios.Read(name)
	if err != nil {
		return nil, err
	}
	file, err := spec.Parse(path, data)
	if err != nil {
		return nil, err
	}
	if file.Base().Fault == nil {
		return nil, fmt.Errorf("scenario %s has no section fault", name)
	}
	return file.Base().Fault, nil
}

// lent is a cluster that outlives the runs.
type lent struct{ c *cluster.Cluster }

func (l lent) Up(context.Context, func(string)) (*cluster.Cluster, error) {
	return &cluster.Cluster{
		Provider: l.c.Provider, Kubeconfig: l.c.Kubeconfig, Version: l.c.Version, EtcdVersion: l.c.EtcdVersion, Flags: l.c.Flags, PIDs: l.c.PIDs,
	}, nil
}

func (f *matrixFlags) all(cmd *cobra.Command, todo []planned, bins runner.Binaries, up *cluster.Cluster, dir string, m *matrix.Matrix, say func(string, ...any)) error {
	var base *result.Cell
	once := func(p planned) (runner.Outcome, []matrix.Entry, error) {
		var progress *runner.Progress
		if !f.quiet {
			progress = runner.NewProgress(cmd.ErrOrStderr(), isTerminal(cmd.ErrOrStderr()))
		}
		began := time.Now()
		out, err := runner.Run(cmd.Context(), runner.Options{
			Scenario: p.file, Name: p.name, Binaries: bins, ProviderName: f.provider, OutDir: dir, Progress: progress, Command: os.Args, Baseline: base,
			NewProvider: func(string) (cluster.Provider, error) { return lent{up}, nil },
		})
		took := time.Since(began).Seconds()
		m.Seconds += took
		return out, entriesOf(p, out, err, took), err
	}
	for i, p := range todo {
		if cmd.Context().Err() != nil {
			return context.Cause(cmd.Context())
		}
		say("[%d/%d] %s", i+1, len(todo), p.name)
		out, entries, err := once(p)
		if why := matrix.WorthRepeating(entries); len(why) > 0 && cmd.Context().Err() == nil {
			say("again, because only time failed")
			first := entries
			out, entries, err = once(p)
			entries = matrix.Settle(first, entries, why)
		}
		m.Entries = append(m.Entries, entries...)
		if out.Results != nil && len(out.Results.Cells) > 0 && p.file.Base().Fault.Row == "F0" && base == nil {
			base = &out.Results.Cells[0]
		}
		if err != nil && (cmd.Context().Err() != nil || runner.IsInput(err)) {
			return err
		}
		if err := writeMatrix(dir, m); err != nil {
			return err
		}
	}
	return nil
}

// entriesOf is what a run came to.
func entriesOf(p planned, out runner.Outcome, err error, took float64) []matrix.Entry {
	var entries []matrix.Entry
	name := strings.TrimPrefix(strings.TrimPrefix(p.name, "faults/"), "regression/")
	cells := len(p.file.Cells())
	if out.Results != nil {
		for _, c := range out.Results.Cells {
			e := matrix.FromCell(name, c)
			e.Dir, e.Seconds = filepath.Base(out.Dir), took/float64(max(1, cells))
			entries = append(entries, e)
		}
	}
	if row := p.file.Base().Fault; err != nil && len(entries) < cells {
		entries = append(entries, matrix.Entry{
			Row: row.Row, Title: row.Title, Scenario: name, Error: strings.ReplaceAll(err.Error(), "\n", "; "), Seconds: took, Dir: filepath.Base(out.Dir),
		})
	}
	return entries
}

func writeMatrix(dir string, m *matrix.Matrix) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "matrix.json"), append(data, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "matrix.md"), []byte(m.Markdown()), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	return nil
}

// matrixVerdict is the command's outcome.
func matrixVerdict(m *matrix.Matrix) error {
	var failed, invalid []string
	for i := range m.Entries {
		e := &m.Entries[i]
		cols, why := e.Verdict()
		for _, c := range cols {
			failed = append(failed, strings.TrimSpace(e.Scenario+" "+c))
		}
		if why != "" {
			invalid = append(invalid, e.Scenario+" "+e.Cell)
		}
	}
	return firstVerdict(failed, invalid)
}
