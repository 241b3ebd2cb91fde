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
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/result"
)

type clusterFlags struct {
	cache       string
	fsync       bool
	controllers bool
	format      string // of status
}

func (f *clusterFlags) options() cluster.EmbeddedOptions {
	return cluster.EmbeddedOptions{Cache: f.cache, Detach: true, Controllers: f.controllers}
}

const buildHelp = `Find etcd and kube-apiserver, or put them into the cache once, and print their folder.

They are taken from the folder that KUBEBUILDER_ASSETS names; else from the cache; else
downloaded from envtest's releases, whose index has hashes: the newest patch of our
Kubernetes minor version. ENVTEST_INDEX_URL names another index, such as a mirror, or is
"off" for no download. Where an index does not answer within five seconds, or anything is
wrong with its archive, one line says so, and they are built from pinned Go modules; how
long that takes on this machine is said after 15 seconds.`

func clusterCommand() *cobra.Command {
	cmd := parent("cluster", "Build the embedded control plane; keep a cluster up between runs")
	add := func(use, short string, run func(*cobra.Command, *clusterFlags) error) *cobra.Command {
		var f clusterFlags
		sub := &cobra.Command{
			Use: use, Short: short, Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, &f) },
		}
		sub.Flags().StringVar(&f.cache, "cache", "", "cache folder (default: WATCHBENCH_CACHE, else the user's)")
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
		return sub
	}
	add("build", "Download or build etcd and kube-apiserver once", clusterBuild).Long = buildHelp
	add("up", "Start an embedded cluster that stays; print its kubeconfig", clusterUp)
	add("status", "Show cluster status; exit code 1 if none is up", clusterStatus)
	add("down", "Stop the cluster that cluster up started", clusterDown)
	return cmd
}

const clusterGroup = "Cluster flags"

func (f *runFlags) onCluster(cmd *cobra.Command) {
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	fl.StringVar(&f.provider, "cluster", "", "embedded: our own etcd and kube-apiserver; simulated: an API server in "+
		"memory, nothing to build; kind; kubeconfig; running: as started by watchbench cluster up (default: what other "+
		"flags imply, the scenario's, or embedded)")
	fl.StringVar(&f.cluster.Kubeconfig.Path, "kubeconfig", "", "kubeconfig file (implies --cluster kubeconfig)")
	fl.StringVar(&f.cluster.Kubeconfig.Context, "context", "",
		"kubeconfig: context to use (required; implies --cluster kubeconfig)")
	fl.StringVar(&f.cluster.Kind.Name, "kind-name", "", "kind: cluster name (default: watchbench)")
	fl.StringVar(&f.cluster.Kind.Image, "kind-image", "",
		"kind: node image (default: kindest/node of our client's Kubernetes version)")
	fsyncFlag(fl, &f.cluster.FSync)
	terminal.Group(fl, clusterGroup)
	cmd.Flags().AddFlagSet(fl)
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
	p, err := cluster.New(cluster.Embedded, cluster.Options{FSync: f.fsync, Embedded: f.options()})
	if err != nil {
		return err
	}
	c, err := cluster.Existing(f.options())
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
	c, err := cluster.Borrow(cmd.Context(), f.options())
	if errors.Is(err, cluster.ErrNotUp) {
		err = fmt.Errorf("%w; start one with watchbench cluster up", err)
	}
	if f.format == jsonFormat {
		s := clusterState{Schema: "watchbench/cluster/v1", Provider: cluster.Embedded}
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
	fmt.Fprintf(cmd.OutOrStdout(), "%s, %s, kubeconfig %s\n", c, c.Version, c.Kubeconfig)
	return nil
}

func clusterDown(cmd *cobra.Command, f *clusterFlags) error {
	c, err := cluster.Existing(f.options())
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
	fmt.Fprintf(cmd.OutOrStdout(), "stopped the %s\n", c)
	return nil
}

const clusterDownLimit = 3 * time.Minute

func takeDown(ctx context.Context, c *cluster.Cluster) error {
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), clusterDownLimit)
	defer cancel()
	if err := c.Down(down); err != nil {
		return fmt.Errorf("end the cluster: %w", err)
	}
	return nil
}
