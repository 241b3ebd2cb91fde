package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
)

type compareFlags struct {
	metrics     []string
	format, out string
	all         bool
}

func compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare BASE NEW",
		Short: "Compare two saved runs: what changed, and how sure that is",
		Long: `Compare a saved run with another, point by point: the median of each metric with
its interval, the ratio with its interval, and whether that is better, worse, no
difference shown, or not comparable and why. What was lost or reordered comes first; a
point that fails a core check has no speed to compare.

Any two runs can be compared. Runs of different scenarios, machines or days are compared on
what they share, and the second sentence says how they differ.

The exit code does not depend on the verdicts.`,
		Example: `  watchbench compare out/before out/after
  watchbench compare out/before out/after --metrics 'freshness.*,watcher.cpu*'
  watchbench compare out/before out/after --out out/compared`,
		Args: needArgs(2, 2, "two runs: their folders or results.json; compare more in pairs"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.compare(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.metrics, "metrics", nil,
		"comma-separated `names`; * matches any part (default: those that can be better or worse)")
	fl.StringVar(&f.format, "format", tableFormat, "what to print: "+names(render.ComparisonFormats()))
	fl.StringVar(&f.out, "out", "", "`folder` for all formats")
	fl.BoolVar(&f.all, "all", false, "print all figures, and what the runs do not share")
	return cmd
}

func (f *compareFlags) compare(cmd *cobra.Command, args []string) error {
	write, err := printer(render.ComparisonFormats(), f.format, func(w io.Writer, c *gate.Comparison) error {
		o := terminalOptions(w)
		o.Explain = f.all
		return render.DocumentTerminal(w, render.Comparison(c), o)
	})
	if err != nil {
		return err
	}
	metrics, err := gate.Metrics(f.metrics...)
	if err != nil {
		return err
	}
	var runs [2]gate.Run
	for i, label := range labels(args) {
		runs[i].Label = label
		if runs[i].Results, err = gate.Load(args[i]); err != nil {
			return err
		}
	}
	c, err := gate.Compare(metrics, runs[0], runs[1])
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := writeAll(cmd.ErrOrStderr(), f.out, render.ComparisonFormats(), c); err != nil {
			return err
		}
	}
	return write(cmd.OutOrStdout(), c)
}

// names lists formats for a flag's help.
func names[T any](formats []render.Format[T]) string {
	all := tableFormat
	for _, f := range formats {
		all += ", " + f.Name
	}
	return all
}

// printer returns the writer of a format; table writes the one that no file has.
func printer[T any](formats []render.Format[T], name string, table func(io.Writer, T) error) (
	write func(io.Writer, T) error, err error,
) {
	if name == tableFormat {
		return table, nil
	}
	f, err := render.Named(formats, name)
	if err != nil {
		return nil, badinput.New("use one of "+names(formats), "--format %s is not known", name)
	}
	return f.Write, nil
}

// writeAll writes all formats into a folder, and prints the paths.
func writeAll[T any](said io.Writer, dir string, formats []render.Format[T], v T) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &badinput.Error{What: "--out " + dir, Err: err, Remedy: "name a folder that can be written"}
	}
	for _, f := range formats {
		path := filepath.Join(dir, f.File)
		if err := result.Replace(path, func(w io.Writer) error { return f.Write(w, v) }); err != nil {
			return err
		}
		fmt.Fprintln(said, path)
	}
	return nil
}

// labels are the runs' folders by their last names, or by their paths where two have the same one.
func labels(paths []string) []string {
	short, long := make([]string, len(paths)), make([]string, len(paths))
	for i, p := range paths {
		if filepath.Base(p) == result.FileName {
			p = filepath.Dir(p)
		}
		short[i], long[i] = filepath.Base(p), filepath.Clean(p)
		if abs, err := filepath.Abs(p); err == nil {
			short[i] = filepath.Base(abs)
		}
	}
	if seen := slices.Compact(slices.Sorted(slices.Values(short))); len(seen) < len(short) {
		return long
	}
	return short
}
