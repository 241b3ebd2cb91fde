package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

func reportCommand() *cobra.Command {
	var formats string
	var explain bool
	known := []string{tableFormat, jsonFormat}
	for _, f := range render.Formats() {
		known = append(known, f.Name)
	}
	cmd := &cobra.Command{
		Use:   "report DIR|FILE",
		Short: "Print or render the results of a run, a fault matrix or many runs",
		Long: `Render the results of a run. The formats table and json are printed; the others
are written beside results.json. A fault matrix has the formats table, json, md and html.

For a folder of runs, such as out, print the list: all runs, matrices and searches, newest
first.

The exit code does not depend on the verdicts; for that use watchbench check.`,
		Example: "  watchbench report out/smoke-20260102-150405 --format table,html\n  watchbench report out",
		Args:    needArgs(1, 1, "the folder of a run, of a matrix or of several runs, or a results.json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := reporting{cmd: cmd, path: args[0], options: terminalOptions(cmd.OutOrStdout())}
			r.options.Explain = explain
			if err := r.read(formats); err != nil {
				return err
			}
			return r.report()
		},
	}
	cmd.Flags().BoolVar(&explain, "explain", false, explainUsage)
	cmd.Flags().StringVar(&formats, "format", tableFormat, "comma-separated: "+strings.Join(known, ", "))
	return cmd
}

type reporting struct {
	cmd              *cobra.Command
	path             string
	options          render.TerminalOptions
	files            []render.Format[*result.Results]
	terminal, asJSON bool
}

func (r *reporting) read(formats string) error {
	for name := range strings.SplitSeq(formats, ",") {
		switch name = strings.TrimSpace(name); name {
		case tableFormat:
			r.terminal = true
		case jsonFormat:
			r.asJSON = true
		default:
			f, err := render.Named(render.Formats(), name, tableFormat, jsonFormat)
			if err != nil {
				return &badinput.Error{What: err.Error()}
			}
			r.files = append(r.files, f)
		}
	}
	if r.asJSON && r.terminal {
		return badinput.New("leave table out", "--format %s: only one of table and json can be printed", formats)
	}
	return nil
}

func (r *reporting) wrote(path string, err error) error {
	if err == nil {
		_, err = fmt.Fprintln(r.cmd.ErrOrStderr(), path)
	}
	return err
}

func (r *reporting) report() error {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(r.path, name))
		return err == nil
	}
	switch {
	case filepath.Base(r.path) == result.MatrixFile:
		return r.matrix(filepath.Dir(r.path))
	case has(result.MatrixFile):
		return r.matrix(r.path)
	case !has(result.FileName) && (has(result.TuningFile)):
		return badinput.New("open its index.html, or read report.md",
			"%s is the folder of watchbench tune, whose report is written already", r.path)
	case !has(result.FileName) && !has(history.FileRun) && !has(history.FileCampaign):
		if d, err := render.History(r.path); err == nil && d != nil {
			return r.list(d)
		}
	}
	return r.run()
}

func (r *reporting) run() error {
	res, err := result.LoadFile(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return badinput.New("name the folder of a run or of a matrix, one of several runs, or a run's results.json; "+
			"watchbench check DIR writes that anew", "%s has no results", r.path)
	}
	if err != nil {
		return &badinput.Error{What: err.Error(),
			Remedy: "name the folder of a run or of a matrix, or a run's results.json; watchbench check DIR writes that anew"}
	}
	dir := r.path
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	for _, f := range r.files {
		if err := r.wrote(filepath.Join(dir, f.File), render.WriteFile(dir, f, res)); err != nil {
			return err
		}
	}
	switch out := r.cmd.OutOrStdout(); {
	case r.asJSON:
		return result.Encode(out, res)
	case r.terminal:
		return render.Terminal(out, res, r.options)
	}
	return nil
}

func (r *reporting) matrix(dir string) error {
	m, err := result.LoadMatrix(dir)
	if err != nil {
		return &badinput.Error{What: err.Error(), Remedy: "remove it and let watchbench check " + dir + " write it anew"}
	}
	for _, f := range r.files {
		if f.Name != "md" && f.Name != "html" {
			return badinput.New("use table, json, md or html, or name the folder of one of its runs",
				"%s is the folder of a matrix, which has no format %s", r.path, f.Name)
		}
	}
	for _, f := range r.files {
		name, write := "matrix.md", render.WriteMatrix
		if f.Name == "html" {
			name, write = f.File, render.WriteMatrixPage
		}
		if err := r.wrote(filepath.Join(dir, name), write(dir, m)); err != nil {
			return err
		}
	}
	switch out := r.cmd.OutOrStdout(); {
	case r.asJSON:
		return result.EncodeJSON(out, m)
	case r.terminal:
		return render.DocumentTerminal(out, render.Matrix(m, ""), r.options)
	}
	return nil
}

func (r *reporting) list(d *render.Document) error {
	if r.asJSON || len(r.files) > 0 {
		return badinput.New("leave --format out, or name one of its runs", "%s is a folder of runs, which are only listed",
			r.path)
	}
	return render.DocumentTerminal(r.cmd.OutOrStdout(), d, r.options)
}
