package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/versus"
)

type compareFlags struct {
	metrics []string
	formats []string
	out     string
	all     bool
}

func compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare BASE NEW [MORE...]",
		Short: "Compare saved runs: what changed, and how sure that is",
		Long: `Compare saved runs with the first of them, point by point: the median of each metric with
its interval, the ratio with its interval, and whether that is better, worse, no
difference shown, or not comparable and why. What was lost or reordered comes first; a
point that fails a core check has no speed to compare.

Any two runs will do. Those of other scenarios, machines or days are compared in what
they have in common, and the second sentence says what sets them apart.

The exit code does not depend on the verdicts.`,
		Example: `  watchbench compare out/before out/after
  watchbench compare out/before out/after --metrics 'freshness.*,watcher.cpu*'
  watchbench compare out/a out/b out/c --format table,html --out out/compared`,
		Args: needArgs(2, -1, "at least two runs: their folders or results.json"), ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error { return f.compare(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.metrics, "metrics", nil,
		"comma-separated `names`, with * for any part of one (default: those that can be better or worse)")
	formats := comparisonFormats()
	fl.StringSliceVar(&f.formats, "format", formats[:1], "comma-separated: "+strings.Join(formats, ", "))
	fl.StringVar(&f.out, "out", "", "`folder` for the files of the formats; without it, one format is printed")
	fl.BoolVar(&f.all, "all", false, "print all figures and reasons, and what the runs do not share")
	var names []string
	for _, m := range result.Metrics() {
		names = append(names, m.Name)
	}
	offerList(cmd, "metrics", names...)
	offerList(cmd, "format", formats...)
	offerBy(cmd, "out", folders)
	return cmd
}

func comparisonFormats() []string {
	names := []string{tableFormat}
	for _, f := range render.ComparisonFormats() {
		names = append(names, f.Name)
	}
	return names
}

func (f *compareFlags) compare(cmd *cobra.Command, args []string) error {
	files, err := f.files()
	if err != nil {
		return err
	}
	metrics, err := versus.Metrics(f.metrics...)
	if err != nil {
		return err
	}
	var runs []versus.Run
	for i, label := range labels(args) {
		res, err := versus.Load(args[i])
		if err != nil {
			return err
		}
		runs = append(runs, versus.Run{Label: label, Results: res})
	}
	c, err := versus.Compare(metrics, runs...)
	if err != nil {
		return err
	}
	if f.out != "" && len(files) > 0 {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return &badinput.Error{What: "--out " + f.out, Err: err, Remedy: "name a folder that can be written"}
		}
	}
	for _, file := range files {
		if f.out == "" {
			if err := file.Write(cmd.OutOrStdout(), c); err != nil {
				return err
			}
			continue
		}
		path := filepath.Join(f.out, file.File)
		if err := result.Replace(path, func(w io.Writer) error { return file.Write(w, c) }); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), path)
	}
	if slices.Contains(f.formats, tableFormat) {
		o := terminalOptions(cmd.OutOrStdout())
		o.Explain = f.all
		return render.CompareTerminal(cmd.OutOrStdout(), c, o)
	}
	return nil
}

func (f *compareFlags) files() (files []render.ComparisonFormat, err error) {
	known := render.ComparisonFormats()
	for i, name := range f.formats {
		f.formats[i] = strings.TrimSpace(name)
		if f.formats[i] == tableFormat {
			continue
		}
		j := slices.IndexFunc(known, func(k render.ComparisonFormat) bool { return k.Name == f.formats[i] })
		if j < 0 {
			return nil, badinput.New("use one of "+strings.Join(comparisonFormats(), ", "), "--format %s is not known", name)
		}
		files = append(files, known[j])
	}
	switch {
	case f.out != "" || len(files) == 0:
	case len(f.formats) > 1:
		return nil, badinput.New("add --out DIR", "--format %s: only one format can be printed", strings.Join(f.formats, ","))
	case files[0].Name == "html":
		return nil, badinput.New("add --out DIR", "--format html is a page for a browser")
	}
	return files, nil
}

// labels are the runs' folders by their last names, or by their paths where two have the
// same one.
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
