package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
)

func reportCommand() *cobra.Command {
	var formats string
	var explain bool
	cmd := &cobra.Command{
		Use:   "report DIR|FILE",
		Short: "Print or render the results of a run or of a fault matrix",
		Long: `Render the results of a run. The formats table and json are printed; the others
are written beside results.json. A fault matrix has the formats table, json and md.

The exit code does not depend on the verdicts; that of watchbench check does.`,
		Example: "  watchbench report out/smoke-20260102-150405 --format table,html",
		Args:    needArgs(1, 1, "the folder of a run or of a matrix, or a results.json"), ValidArgsFunction: runs,
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
			res, err := result.LoadFile(args[0])
			if err != nil {
				if _, tuned := os.Stat(filepath.Join(args[0], result.TuningFile)); tuned == nil {
					return badinput.New("open its index.html, or read report.md", "%s is the folder of watchbench tune, whose report is written already", args[0])
				}
				return &badinput.Error{What: err.Error(), Remedy: "name the folder of a run or of a matrix, or a run's results.json; watchbench check DIR writes that anew"}
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
		if f.Name != "md" {
			return badinput.New("use table or md, or name the folder of one of its runs", "%s is the folder of a matrix, which has no format %s", dir, f.Name)
		}
		if err := render.WriteMatrix(dir, m); err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), filepath.Join(dir, "matrix.md"))
	}
	if asJSON {
		return result.EncodeMatrix(cmd.OutOrStdout(), m)
	}
	if terminal {
		return render.MatrixTerminal(cmd.OutOrStdout(), m, terminalOptions(cmd.OutOrStdout()))
	}
	return nil
}
