package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/cluster"
)

// clusterFlags choose a cluster that outlives the command.
type clusterFlags struct {
	provider, cache string
	kind            cluster.KindOptions
}

func (f *clusterFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.provider, "provider", cluster.Embedded, "embedded or kind")
	fs.StringVar(&f.cache, "cache", "", "cache folder (default: WATCHBENCH_CACHE, else the user's)")
	fs.StringVar(&f.kind.Name, "kind-name", "", "name of the kind cluster (default: watchbench)")
	fs.StringVar(&f.kind.Image, "kind-image", "", "node image of the kind cluster (default: the one of our Kubernetes version)")
}

func (f *clusterFlags) options() cluster.Options {
	o := cluster.Options{Embedded: cluster.EmbeddedOptions{Cache: f.cache, Detach: true}, Kind: f.kind}
	o.Kind.Cache, o.Kind.Keep = f.cache, true
	return o
}

func clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cluster", Short: "Build the embedded control plane; keep a cluster up between runs", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(clusterBuild(), clusterUp(), clusterStatus(), clusterDown())
	return cmd
}

func clusterBuild() *cobra.Command {
	var cache string
	cmd := &cobra.Command{
		Use: "build", Short: "Find etcd and kube-apiserver, or build them into the cache, once", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := cluster.Prepare(cmd.Context(), cluster.EmbeddedOptions{Cache: cache}, progressTo(cmd))
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), dir)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&cache, "cache", "", "cache folder (default: WATCHBENCH_CACHE, else the user's)")
	return cmd
}

func clusterUp() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use: "up", Short: "Start a cluster that stays until cluster down; prints its kubeconfig", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := cluster.New(f.provider, f.options())
			if err != nil {
				return err
			}
			c, err := p.Up(cmd.Context(), progressTo(cmd))
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig)
			}
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func clusterStatus() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use: "status", Short: "Say whether the cluster is up and works", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := cluster.Existing(cmd.Context(), f.provider, f.options())
			if errors.Is(err, cluster.ErrNotUp) {
				fmt.Fprintln(cmd.OutOrStdout(), "not up; start one with watchbench cluster up")
				return nil
			}
			if err != nil {
				return err
			}
			if err := c.Check(cmd.Context()); err != nil {
				return fmt.Errorf("the cluster does not work, end it with watchbench cluster down: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s up, kubeconfig %s\n", c.Provider, c.Version, c.Kubeconfig)
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

// downWait bounds the end of a cluster; kind takes a few seconds.
const downWait = 2 * time.Minute

func clusterDown() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use: "down", Short: "End the cluster that cluster up started", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := cluster.Existing(cmd.Context(), f.provider, f.options())
			if errors.Is(err, cluster.ErrNotUp) {
				return nil
			}
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), downWait)
			defer cancel()
			return c.Down(ctx)
		},
	}
	f.add(cmd)
	return cmd
}

func progressTo(cmd *cobra.Command) func(string) {
	return func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
}
