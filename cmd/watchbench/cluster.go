package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

func clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cluster", Short: "Manage the embedded control plane", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var cache string
	build := &cobra.Command{
		Use: "build", Short: "Build etcd and kube-apiserver into the cache, once", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := controlplane.Ensure(cmd.Context(), controlplane.Options{
				Cache:    cache,
				Progress: func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) },
			}, controlplane.Etcd, controlplane.APIServer)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
	build.Flags().StringVar(&cache, "cache", "", "cache folder (default: WATCHBENCH_CACHE, else the user's)")
	cmd.AddCommand(build)
	return cmd
}
