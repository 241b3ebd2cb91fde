package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/capacity"
)

func modelCommand() *cobra.Command {
	format := "table"
	cmd := &cobra.Command{
		Use:   "model RUN",
		Short: "Compare a saved run with the capacity model",
		Long: `Set the capacity model beside what a saved run measured: Little's law, the hash skew of
the keys that were written, the mean queue, the backlog of a burst and, of a run that
sweeps watcher.podQueueNum, storage's knee and the universal scalability law. What the run has no data for is
refused, with the reason.

The report goes to standard output; nothing is written.`,
		Example: `  watchbench run ./mine.yaml --set matrix.watcher.podQueueNum=1,5,20,40,80
  watchbench model out/mine-20260102-150405
  watchbench model out/mine-20260102-150405 --format html > model.html`,
		Args: needArgs(1, 1, "the folder of a run"), ValidArgsFunction: runs,
		RunE: func(cmd *cobra.Command, args []string) error { return modelOf(cmd, args[0], format) },
	}
	cmd.Flags().StringVar(&format, "format", format, "what to print: table, md, html or json")
	offer(cmd, "format", "table", "md", "html", "json")
	return cmd
}

func modelOf(cmd *cobra.Command, dir, format string) error {
	out := cmd.OutOrStdout()
	var show func(*capacity.Report) error
	switch format {
	case "table":
		show = func(r *capacity.Report) error {
			return render.DocumentTerminal(out, r.Document(), terminalOptions(out))
		}
	case "md":
		show = func(r *capacity.Report) error { return render.DocumentMarkdown(out, r.Document()) }
	case "html":
		show = func(r *capacity.Report) error { return render.DocumentHTML(out, r.Document()) }
	case "json":
		show = func(r *capacity.Report) error { return result.EncodeJSON(out, r) }
	default:
		return badinput.New("use table, md, html or json", "--format %s is not known", format)
	}
	if matrixOf(dir) != "" {
		return badinput.New("name one of its runs", "%s is the folder of a fault matrix", dir)
	}
	res, err := result.LoadFile(dir)
	if err != nil {
		return &badinput.Error{What: err.Error(), Remedy: "name the folder of a run"}
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	r, err := capacity.Of(dir, res)
	if err != nil {
		return err
	}
	return show(r)
}
