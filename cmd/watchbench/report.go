package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/archive"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

func reportCommand() *cobra.Command {
	var formats string
	var explain bool
	cmd := &cobra.Command{
		Use:   "report DIR|FILE",
		Short: "Print or render the results of a run, a fault matrix or many runs",
		Long: `Render the results of a run. The formats table and json are printed; the others
are written beside results.json. A fault matrix has the formats table, json, md and html.

Of a folder of runs, such as out, the list is printed, and index.html is written there:
all runs, matrices, searches, comparisons and gates, newest first. --format table or html
does only one of both.

The exit code does not depend on the verdicts; that of watchbench check does.`,
		Example:           "  watchbench report out/smoke-20260102-150405 --format table,html\n  watchbench report out",
		Args:              needArgs(1, 1, "the folder of a run, of a matrix or of several runs, or a results.json"),
		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			var files []render.Format
			terminal, asJSON := false, false
			for _, name := range strings.Split(formats, ",") {
				if name = strings.TrimSpace(name); name == tableFormat {
					terminal = true
					continue
				}
				if name == jsonFormat {
					asJSON = true
					continue
				}
				f, err := render.FormatByName(name)
				if err != nil {
					return &badinput.Error{What: err.Error()}
				}
				files = append(files, f)
			}
			if asJSON && terminal {
				return badinput.New("leave table out", "--format %s: only one of table and json can be printed", formats)
			}
			if path := matrixOf(args[0]); path != "" {
				return reportMatrix(cmd, path, files, terminal, asJSON)
			}
			if all := archiveOf(args[0]); all != nil {
				if !cmd.Flags().Changed("format") {
					files = render.Formats()[:1]
				}
				if asJSON {
					return noFormat(args[0], all, jsonFormat)
				}
				return reportArchive(cmd, args[0], all, files, terminal)
			}
			res, err := result.LoadFile(args[0])
			if err != nil {
				if _, serr := os.Stat(filepath.Join(args[0], result.TuningFile)); serr == nil {
					return badinput.New("open its index.html, or read report.md",
						"%s is the folder of watchbench tune, whose report is written already", args[0])
				}
				return &badinput.Error{What: err.Error(),
					Remedy: "name the folder of a run or of a matrix, or a run's results.json; watchbench check DIR writes that anew"}
			}
			dir := args[0]
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				dir = filepath.Dir(dir)
			}
			for _, f := range files {
				if err := render.WriteFile(dir, f, res); err != nil {
					return err
				}
				fmt.Fprintln(cmd.ErrOrStderr(), filepath.Join(dir, f.File))
			}
			if asJSON {
				return result.Encode(cmd.OutOrStdout(), res)
			}
			if terminal {
				o := terminalOptions(cmd.OutOrStdout())
				o.Explain = explain
				return render.Terminal(cmd.OutOrStdout(), res, o)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&explain, "explain", false, explainUsage)
	known := []string{tableFormat, jsonFormat}
	for _, f := range render.Formats() {
		known = append(known, f.Name)
	}
	cmd.Flags().StringVar(&formats, "format", tableFormat, "comma-separated: "+strings.Join(known, ", "))
	offerList(cmd, "format", known...)
	return cmd
}

// matrixOf is the folder of a matrix, if the path is that of one or of its matrix.json.
func matrixOf(path string) string {
	if filepath.Base(path) == result.MatrixFile {
		return filepath.Dir(path)
	}
	if _, err := os.Stat(filepath.Join(path, result.MatrixFile)); err != nil {
		return ""
	}
	return path
}

func reportMatrix(cmd *cobra.Command, dir string, files []render.Format, terminal, asJSON bool) error {
	m, err := result.LoadMatrix(dir)
	if err != nil {
		return &badinput.Error{What: err.Error(), Remedy: "remove it and let watchbench check " + dir + " write it anew"}
	}
	for _, f := range files {
		if f.Name != "md" && f.Name != "html" {
			return badinput.New("use table, json, md or html, or name the folder of one of its runs",
				"%s is the folder of a matrix, which has no format %s", dir, f.Name)
		}
	}
	for _, f := range files {
		name, write := "matrix.md", render.WriteMatrix
		if f.Name == "html" {
			name, write = f.File, render.WriteMatrixPage
		}
		if err := write(dir, m); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), filepath.Join(dir, name))
	}
	if asJSON {
		return result.EncodeMatrix(cmd.OutOrStdout(), m)
	}
	if terminal {
		return render.MatrixTerminal(cmd.OutOrStdout(), m, terminalOptions(cmd.OutOrStdout()))
	}
	return nil
}

// noFormat refuses a format that a folder of runs does not have.
func noFormat(dir string, all []archive.Entry, format string) error {
	return badinput.New("use table or html, or name one of its runs, such as "+filepath.Join(dir, all[0].Name),
		"%s is a folder of runs, which has no format %s", dir, format)
}

// archiveOf are the entries of a folder that is no run's, matrix's or search's own, if it holds
// any of these.
func archiveOf(path string) []archive.Entry {
	for _, own := range []string{result.FileName, result.TuningFile, history.FileRun,
		history.FileCampaign} {
		if _, err := os.Lstat(filepath.Join(path, own)); err == nil {
			return nil
		}
	}
	all, err := archive.Read(path)
	if err != nil || !archive.Known(all) {
		return nil
	}
	return all
}

func reportArchive(cmd *cobra.Command, dir string, all []archive.Entry, files []render.Format, terminal bool) error {
	for _, f := range files {
		if f.Name != "html" {
			return noFormat(dir, all, f.Name)
		}
	}
	if terminal {
		if err := render.HistoryTerminal(cmd.OutOrStdout(), all, terminalOptions(cmd.OutOrStdout())); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	path, err := render.WriteHistory(dir, all)
	if errors.Is(err, render.ErrForeign) {
		return &badinput.Error{What: err.Error(), Remedy: "move it away, or use --format table"}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.ErrOrStderr(), path)
	return err
}
