package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

Any two runs can be compared. Runs of different scenarios, machines or days are compared in
what they share, and the second sentence says how they differ.

The exit code does not depend on the verdicts.`,
		Example: `  watchbench compare out/before out/after
  watchbench compare out/before out/after --metrics 'freshness.*,watcher.cpu*'
  watchbench compare out/before out/after --out out/compared`,
		Args: needArgs(2, 2, "two runs: their folders or results.json; compare more of them one by one"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.compare(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.metrics, "metrics", nil,
		"comma-separated `names`, with * for any part of one (default: those that can be better or worse)")
	formats := []string{tableFormat}
	for _, format := range render.ComparisonFormats() {
		formats = append(formats, format.Name)
	}
	fl.StringVar(&f.format, "format", tableFormat, "what to print: "+strings.Join(formats, ", "))
	fl.StringVar(&f.out, "out", "", "`folder` for all formats")
	fl.BoolVar(&f.all, "all", false, "print all figures, and what the runs do not share")
	return cmd
}

func (f *compareFlags) compare(cmd *cobra.Command, args []string) error {
	formats, known := render.ComparisonFormats(), f.format == tableFormat
	for _, format := range formats {
		known = known || format.Name == f.format
	}
	if !known {
		return badinput.New("use one of table, html, md, json, and --out DIR for all of them", "--format %s is not known",
			f.format)
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
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return &badinput.Error{What: "--out " + f.out, Err: err, Remedy: "name a folder that can be written"}
		}
	}
	for _, format := range formats {
		if f.out != "" {
			path := filepath.Join(f.out, format.File)
			if err := result.Replace(path, func(w io.Writer) error { return format.Write(w, c) }); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), path)
		}
		if format.Name == f.format {
			err = errors.Join(err, format.Write(cmd.OutOrStdout(), c))
		}
	}
	if f.format != tableFormat || err != nil {
		return err
	}
	o := terminalOptions(cmd.OutOrStdout())
	o.Explain = f.all
	return render.CompareTerminal(cmd.OutOrStdout(), c, o)
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
