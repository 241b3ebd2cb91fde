package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/version"
)

// environment is the same table for users.
const environment = `Environment:
  WATCHBENCH_CACHE    folder of the control plane's binaries
  KUBEBUILDER_ASSETS  folder with etcd and kube-apiserver to use instead
  ENVTEST_INDEX_URL   index of ready-made binaries to download, or off
  KUBECONFIG          kubeconfig of commands that take one
  NO_COLOR            no colors
  CI                  progress as lines`

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the man pages into a folder", Hidden: true, Args: needArgs(1, 1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return &badinput.Error{What: "man " + args[0], Remedy: "name a folder that can be written", Err: err}
			}
			cmd.Root().DisableAutoGenTag = true
			header := doc.GenManHeader{Section: "1", Source: "watchbench " + version.Version, Manual: "watchbench"}
			if err := doc.GenManTree(cmd.Root(), &header, args[0]); err != nil {
				return fmt.Errorf("write the man pages: %w", err)
			}
			return nil
		},
	}
}
