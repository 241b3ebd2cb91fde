package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/result"
)

// clusterFlags choose a cluster that outlives the command.
type clusterFlags struct {
	provider, cache string
	kind            cluster.KindOptions
	fsync           bool
	controllers     bool
	format          string // of status
}

func (f *clusterFlags) options() cluster.Options {
	o := cluster.Options{FSync: f.fsync, Embedded: cluster.EmbeddedOptions{Cache: f.cache, Detach: true,
		Controllers: f.controllers}, Kind: f.kind}
	o.Kind.Cache, o.Kind.Keep = f.cache, true
	return o
}

func clusterCommand() *cobra.Command {
	cmd := parent("cluster", "Build the embedded control plane; keep a cluster up between runs")
	add := func(use, short string, run func(*cobra.Command, *clusterFlags) error) {
		var f clusterFlags
		sub := &cobra.Command{
			Use: use, Short: short, Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, &f) },
		}
		sub.Flags().StringVar(&f.cache, "cache", "", "cache folder (default: WATCHBENCH_CACHE, else the user's)")
		if use != "build" {
			sub.Flags().StringVar(&f.provider, "provider", cluster.Embedded, "embedded or kind")
			kindFlags(sub.Flags(), &f.kind)
		}
		switch use {
		case "status":
			formatFlag(sub, &f.format)
		case "up":
			fsyncFlag(sub.Flags(), &f.fsync)
			fallthrough
		case "build":
			sub.Flags().BoolVar(&f.controllers, "controllers", false,
				"embedded: also kube-controller-manager, kube-scheduler and kwok (two minutes more to build)")
		}
		cmd.AddCommand(sub)
	}
	add("build", "Find etcd and kube-apiserver, or build them once into the cache", clusterBuild)
	add("up", "Start a cluster that stays; print its kubeconfig", clusterUp)
	add("status", "Show cluster status; exit code 1 if none is up", clusterStatus)
	add("down", "Stop the cluster that cluster up started", clusterDown)
	return cmd
}

func kindFlags(fl *pflag.FlagSet, o *cluster.KindOptions) {
	fl.StringVar(&o.Name, "kind-name", "", "kind: cluster name (default: watchbench)")
	fl.StringVar(&o.Image, "kind-image", "", "kind: node image (default: kindest/node of our client's Kubernetes version)")
}

func fsyncFlag(fl *pflag.FlagSet, on *bool) {
	fl.BoolVar(on, "fsync", false, "embedded: let etcd wait for the disk, as in production")
}

func clusterBuild(cmd *cobra.Command, f *clusterFlags) error {
	say, stop := steps(cmd)
	dir, err := cluster.Prepare(cmd.Context(), cluster.EmbeddedOptions{Cache: f.cache, Controllers: f.controllers}, say)
	stop()
	if err == nil {
		fmt.Fprintln(cmd.OutOrStdout(), dir)
	}
	return err
}

func clusterUp(cmd *cobra.Command, f *clusterFlags) error {
	if f.controllers && f.provider != cluster.Embedded {
		return badinput.New("leave --controllers out", "a kind cluster has controllers already")
	}
	p, err := cluster.New(f.provider, f.options())
	if err != nil {
		return err
	}
	c, err := cluster.Existing(cmd.Context(), f.provider, f.options())
	switch {
	case err == nil && c.Check(cmd.Context()) == nil:
		if f.fsync && !c.FSyncs() {
			return badinput.New("stop it first with watchbench cluster down", "an embedded cluster without fsync is up already")
		}
		if f.controllers && !c.Controllers {
			return badinput.New("stop it first with watchbench cluster down",
				"an embedded cluster without controllers is up already")
		}
		screen(cmd).Line("already up")
	case err != nil && !errors.Is(err, cluster.ErrNotUp):
		return err
	default:
		say, stop := steps(cmd)
		c, err = p.Up(cmd.Context(), say)
		if stop(); err != nil {
			return err
		}
	}
	fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig)
	return nil
}

func clusterStatus(cmd *cobra.Command, f *clusterFlags) error {
	if err := knownFormat(f.format); err != nil {
		return err
	}
	c, err := existing(cmd.Context(), f)
	if f.format == jsonFormat {
		s := clusterState{Schema: "watchbench/cluster/v1", Provider: f.provider}
		if err != nil {
			s.Error = err.Error()
		} else {
			s.Up, s.Version, s.Kubeconfig = true, c.Version, c.Kubeconfig
		}
		return errors.Join(err, result.EncodeJSON(cmd.OutOrStdout(), s))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s up, kubeconfig %s\n", c.Provider, c.Version, c.Kubeconfig)
	return nil
}

// existing is the cluster that is up and responds.
func existing(ctx context.Context, f *clusterFlags) (*cluster.Cluster, error) {
	c, err := cluster.Existing(ctx, f.provider, f.options())
	if errors.Is(err, cluster.ErrNotUp) {
		return nil, fmt.Errorf("%w; start one with watchbench cluster up", err)
	}
	if err != nil {
		return nil, err
	}
	if err := c.Check(ctx); err != nil {
		return nil, fmt.Errorf("the cluster does not respond, stop it with watchbench cluster down: %w", err)
	}
	return c, nil
}

func clusterDown(cmd *cobra.Command, f *clusterFlags) error {
	c, err := cluster.Existing(cmd.Context(), f.provider, f.options())
	if errors.Is(err, cluster.ErrNotUp) {
		fmt.Fprintf(cmd.OutOrStdout(), "%v, so there is nothing to stop\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := takeDown(cmd.Context(), c); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "stopped the %s cluster\n", c.Provider)
	return nil
}

// clusterDownLimit bounds the end of a cluster, after an interruption too.
const clusterDownLimit = 3 * time.Minute

func takeDown(ctx context.Context, c *cluster.Cluster) error {
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), clusterDownLimit)
	defer cancel()
	if err := c.Down(down); err != nil {
		return fmt.Errorf("end the cluster: %w", err)
	}
	return nil
}
