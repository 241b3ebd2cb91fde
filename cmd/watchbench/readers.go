package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/readers"
)

// readersCommand is for package scenarios/party, which starts it.
func readersCommand(streams) *cobra.Command {
	return &cobra.Command{
		Use: "readers FILE", Short: "Read from a Kubernetes-style endpoint as many programs would",
		Args: needArgs(1, 1, "a configuration, as JSON"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return &badinput.Error{What: args[0], Remedy: "name a configuration that can be read", Err: err}
			}
			var cfg readers.Config
			d := json.NewDecoder(bytes.NewReader(data))
			d.DisallowUnknownFields()
			if err := d.Decode(&cfg); err != nil {
				return fmt.Errorf("read %s: %w", args[0], err)
			}
			return readers.Run(cmd.Context(), cfg, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
