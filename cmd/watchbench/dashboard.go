package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/dashboards/live"
	"github.com/watchbench/watchbench/internal/badinput"
)

type dashboardFlags struct {
	target, listen string
	interval       time.Duration
}

func dashboardCommand() *cobra.Command {
	var f dashboardFlags
	cmd := &cobra.Command{
		Use:   "dashboard --target URL",
		Short: "Serve a live page of a running watcher",
		Long: `Serve a page that shows a running k8s-watch, or bcs-k8s-watch, by its metrics: rates,
queues, latency of storage, freshness, CPU, memory and where the bottleneck is
(docs/dashboard.md). It runs until interrupted, and retries a watcher that cannot be
reached at each interval.

watchbench run --live ADDR shows the same page of a run.`,
		Example: `  watchbench dashboard --target http://127.0.0.1:10252
  watchbench dashboard --target http://127.0.0.1:10252/metrics --listen :8080`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.target, "target", "", "URL of the watcher's metrics (required; path /metrics by default)")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:0", "address of the page; without a host, loopback")
	fl.DurationVar(&f.interval, "interval", time.Second, "scrape interval, 100ms to 1m")
	return cmd
}

func (f *dashboardFlags) run(cmd *cobra.Command) error {
	if f.target == "" {
		return badinput.New("name the URL of the watcher's metrics, for example http://127.0.0.1:10252/metrics",
			"--target is missing")
	}
	target, err := live.NewTarget(f.target, f.interval)
	if err != nil {
		return err
	}
	l, err := listenLive(cmd, cmd.OutOrStdout(), "--listen", f.listen)
	if err != nil {
		return err
	}
	return live.New("Watcher at "+target.Host()).Run(cmd.Context(), l, target)
}
