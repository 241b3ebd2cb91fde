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
		Short: "Render the results of a run",
		Long: `Render the results of a run. The format terminal is printed; the others are written
beside results.json.`,
		Example: "  watchbench report out/smoke-20260102-150405 --format terminal,html",
		Args:    needArgs(1, 1, "the folder of a run or its results.json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var files []render.Format
			terminal := false
			for _, name := range strings.Split(formats, ",") {
				if name = strings.TrimSpace(name); name == "terminal" {
					terminal = true
					continue
				}
				f, err := render.FormatByName(name)
				if err != nil {
					return &badinput.Error{What: err.Error()}
				}
				files = append(files, f)
			}
			res, err := result.LoadFile(args[0])
			if err != nil {
				return &badinput.Error{What: err.Error(), Remedy: "name the folder of a run, or its results.json"}
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
			if terminal {
				o := terminalOptions(cmd.OutOrStdout())
				o.Explain = explain
				return render.Terminal(cmd.OutOrStdout(), res, o)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&formats, "format", "terminal", "comma-separated: terminal, md, csv, summary, html, bench, junit")
	cmd.Flags().BoolVar(&explain, "explain", false, explainUsage)
	return cmd
}
