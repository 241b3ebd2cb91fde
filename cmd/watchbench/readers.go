package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/readers"
)

// partyCommand is a process for package scenarios/party, which starts it with a configuration of its own making.
func partyCommand[T any](use, short string, run func(context.Context, T, streams) error) func(streams) *cobra.Command {
	return func(s streams) *cobra.Command {
		return &cobra.Command{
			Use: use + " FILE", Short: short, Args: needArgs(1, 1, "a configuration, as JSON"),
			RunE: func(cmd *cobra.Command, args []string) error {
				f, err := os.Open(args[0])
				if err != nil {
					return badinput.Wrap(err)
				}
				defer func() { _ = f.Close() }() // only read from
				var cfg T
				if err := kubeapi.DecodeStrict(f, &cfg); err != nil {
					return badinput.New("", "%s: %v", args[0], err)
				}
				return run(cmd.Context(), cfg, s)
			},
		}
	}
}

var readersCommand = partyCommand("readers", "Read from a Kubernetes-style endpoint as many programs would",
	func(ctx context.Context, c readers.Config, s streams) error { return readers.Run(ctx, c, s.in, s.out) })
