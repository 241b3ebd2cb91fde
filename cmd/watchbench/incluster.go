package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// podFlags hold the flags of a run in a cluster.
type podFlags struct {
	on, rbac bool
	runner.InCluster
}

const podGroup = "Flags of a run in a cluster"

func (p *podFlags) flags(cmd *cobra.Command) {
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	fl.BoolVar(&p.on, "in-cluster", false, "run watcher, storage and generator as Pods, with --cluster kind or --context")
	fl.StringVar(&p.Registry, "image-registry", "", "where the images of make image were pushed, such as "+
		"registry.example/team (kind: not needed, they are loaded)")
	fl.StringVar(&p.Tag, "image-tag", "dev", "tag of the images")
	fl.StringVar(&p.Namespace, "namespace", "watchbench", "namespace of the Pods")
	fl.StringToStringVar(&p.Limits, "limits", nil, "limits and requests of each Pod, such as "+
		"cpu=1,memory=512Mi (default: none)")
	fl.BoolVar(&p.rbac, "rbac", false, "print the namespace, accounts and rights that the run needs, and exit")
	terminal.Group(fl, podGroup)
	cmd.Flags().AddFlagSet(fl)
}

// options returns nil without --in-cluster.
func (p *podFlags) options(fl *pflag.FlagSet) (*runner.InCluster, error) {
	if !p.on {
		for _, name := range []string{"image-registry", "image-tag", "namespace", "limits", "rbac"} {
			if fl.Changed(name) {
				return nil, badinput.New("add --in-cluster, or leave it out", "--%s is for a run in a cluster", name)
			}
		}
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.Limits)) {
		if name != "cpu" && name != "memory" {
			return nil, badinput.New("use cpu and memory", "--limits %s is not known", name)
		}
		if q, err := resource.ParseQuantity(p.Limits[name]); err != nil || q.Sign() <= 0 {
			return nil, badinput.New("write one such as cpu=500m or memory=256Mi", "--limits %s=%s", name, p.Limits[name])
		}
	}
	p.Registry = strings.TrimSuffix(p.Registry, "/")
	for _, f := range []struct{ flag, value, form, example string }{
		{"image-registry", p.Registry, `([a-zA-Z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*)?`, "registry.example/team"},
		{"image-tag", p.Tag, `\w[\w.-]{0,127}`, "dev"},
		{"namespace", p.Namespace, `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`, "watchbench"},
	} {
		if !regexp.MustCompile(`^` + f.form + `$`).MatchString(f.value) {
			return nil, badinput.New("write one such as "+f.example, "--%s %q", f.flag, f.value)
		}
	}
	return &p.InCluster, nil
}

// inCluster refuses scenarios that cannot be run as Pods, and has a kind cluster loaded with the images.
func (f *runFlags) inCluster(fl *pflag.FlagSet, todo []runner.Scenario) (err error) {
	if f.pods, err = f.podFlags.options(fl); err != nil || f.pods == nil {
		return err
	}
	for _, s := range todo {
		if err := runner.Podable(s.File); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if on := s.File.Base().Cluster.Provider; on == cluster.Kubeconfig && f.pods.Registry == "" && !f.podFlags.rbac {
			return badinput.New("push the images of make image to a registry that the cluster pulls from, and name it with "+
				"--image-registry", "--in-cluster: the cluster has no images")
		}
	}
	if f.pods.Registry == "" {
		f.cluster.Kind.Images = f.pods.Images()
	}
	return nil
}

func (f *runFlags) printRBAC(cmd *cobra.Command, todo []runner.Scenario) error {
	var files []*spec.File
	for _, s := range todo {
		files = append(files, s.File)
	}
	rights, err := f.pods.RBAC(files...)
	if err != nil {
		return err
	}
	return rights.Print(cmd.OutOrStdout())
}
