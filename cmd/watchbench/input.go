package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/runner"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// owner is the only provider to which a flag means something. Those of kind and kubeconfig choose their provider.
var owner = map[string]string{
	"fsync":     cluster.Embedded,
	"kind-name": cluster.Kind, "kind-image": cluster.Kind,
	"kubeconfig": cluster.Kubeconfig, "context": cluster.Kubeconfig,
}

// running is the cluster that watchbench cluster up left.
const running = "running"

var providers = append(cluster.Names(), running)

// source is a scenario that is yet to be parsed.
type source struct {
	name  string
	parse func(sets ...string) (*spec.File, error)
}

// sourceOf is a scenario by name or path, with overrides below those of the flags.
func sourceOf(ref string, below ...string) source {
	return source{ref, func(sets ...string) (*spec.File, error) {
		_, file, err := parse(ref, slices.Concat(below, sets)...)
		return file, err
	}}
}

func (f *runFlags) read(cmd *cobra.Command, refs []string) ([]runner.Scenario, error) {
	var all []source
	for _, ref := range refs {
		all = append(all, sourceOf(ref))
	}
	return f.parseAll(cmd, all)
}

// readResumed parses the scenario of the run to be resumed, or the one that is said to be
// the same, with the overrides of the run and of the flags.
func (f *runFlags) readResumed(cmd *cobra.Command, refs []string) ([]runner.Scenario, error) {
	if cmd.Flags().Changed("out") {
		return nil, badinput.New("drop --out", "--resume writes to the run's own folder")
	}
	name, data, saved, err := runner.LoadSource(f.resume)
	if err == nil && len(refs) > 0 {
		name, data, err = scenarios.Read(refs[0])
	}
	if err != nil {
		return nil, err
	}
	return f.parseAll(cmd, []source{{name, func(sets ...string) (*spec.File, error) {
		return faults.Format.Parse(name, data, slices.Concat(saved, sets)...)
	}}})
}

// parseAll refuses flags that mean nothing for the cluster that comes of the scenario and the flags.
func (f *runFlags) parseAll(cmd *cobra.Command, all []source) (todo []runner.Scenario, err error) {
	provider, owned, err := f.chosen(cmd.Flags())
	if err != nil {
		return nil, err
	}
	if provider == running {
		if f.borrowed, err = f.borrow(cmd.Context()); err != nil {
			return nil, err
		}
		provider = f.borrowed.Provider
	}
	for _, s := range all {
		file, err := f.parse(cmd, s, provider)
		if err == nil {
			err = f.fits(file.Base().Cluster)
		}
		if err != nil {
			return nil, err
		}
		for name := range owned {
			if on := file.Base().Cluster.Provider; owner[name] != on {
				return nil, badinput.New("add --cluster "+owner[name]+", or leave the flag out",
					"--%s means nothing for the cluster provider %s, which %s names", name, on, s.name)
			}
		}
		todo = append(todo, runner.Scenario{Name: s.name, File: file})
	}
	return todo, nil
}

// chosen is the provider that --cluster names, else the one that the given flags are for, else "": the scenario's.
// owned are the given flags of one provider only.
func (f *runFlags) chosen(fl *pflag.FlagSet) (provider string, owned map[string]bool, err error) {
	if f.provider == "replay" {
		return "", nil, badinput.New("use --cluster simulated, its name now", "--cluster replay is not known")
	}
	if f.provider != "" && !slices.Contains(providers, f.provider) {
		return "", nil, badinput.New("use one of "+strings.Join(providers, ", "), "--cluster %s is not known", f.provider)
	}
	provider, owned = f.provider, map[string]bool{}
	fl.Visit(func(g *pflag.Flag) {
		own := owner[g.Name]
		switch {
		case err != nil || g.Value.String() == "false":
		case g.Value.Type() == "string" && strings.TrimSpace(g.Value.String()) == "":
			err = badinput.New("give it a value, or leave it out", "--%s is empty", g.Name)
		case own == "":
		case provider == "" && own != cluster.Embedded:
			provider, owned[g.Name] = own, true
		case provider == "" || provider == own:
			owned[g.Name] = true
		default:
			err = badinput.New("use --cluster "+own+", or leave it out", "--%s means nothing for the cluster provider %s",
				g.Name, provider)
		}
	})
	return provider, owned, err
}

// borrow finds the cluster that is up.
func (f *runFlags) borrow(ctx context.Context) (*cluster.Cluster, error) {
	c, err := cluster.Borrow(ctx, f.cluster.Embedded)
	if errors.Is(err, cluster.ErrNotUp) {
		return nil, badinput.New("start one with watchbench cluster up", "--cluster running: no cluster is up")
	}
	if err != nil {
		return nil, badinput.Wrap(err)
	}
	return c, nil
}

// fits refuses what a cluster that is up no longer can be asked for.
func (f *runFlags) fits(on spec.Cluster) error {
	switch {
	case f.borrowed == nil:
	case on.FSync && !f.borrowed.FSyncs():
		return badinput.New("start it with watchbench cluster up --fsync",
			"cluster.fsync: the cluster that is up runs without")
	case on.Controllers && !f.borrowed.Controllers:
		return badinput.New("start it with watchbench cluster up --controllers",
			"cluster.controllers: the cluster that is up runs without")
	case len(on.Gates) > 0:
		return badinput.New("leave out --cluster running, so that the run starts its own",
			"cluster.gates: the cluster that is up was started without")
	}
	return nil
}

const providerField = "cluster.provider"

// parse reads a scenario with the overrides of the flags; an empty provider leaves it to
// the scenario. Errors name the flag, not its override.
func (f *runFlags) parse(cmd *cobra.Command, s source, provider string) (*spec.File, error) {
	sets, said := slices.Clone(f.sets), map[string]string{}
	add := func(flag, path, value, shown string) {
		if cmd.Flags().Changed(flag) && !slices.Contains(f.apart, flag) {
			set := path + "=" + value
			sets, said["--set "+set] = append(sets, set), "--"+flag+" "+shown
		}
	}
	if provider != "" {
		sets = append(sets, providerField+"="+provider)
	}
	add("repeat", "repeat", fmt.Sprint(f.repeat), fmt.Sprint(f.repeat))
	add("budget", "decide.budget", f.budget.String(), f.budget.String())
	add("seed", "seed", fmt.Sprint(f.seed), fmt.Sprint(f.seed))
	add("name", "watcher.name", quote(f.name), quote(f.name))
	add("watcher-command", "watcher.command", quote(f.watcherCommand), quote(f.watcherCommand))
	add("fsync", "cluster.fsync", fmt.Sprint(f.cluster.FSync), "")
	file, err := s.parse(sets...)
	if e, ok := errors.AsType[*spec.Error](err); ok && said[e.Place] != "" {
		e.Place, e.Field = strings.TrimSpace(said[e.Place]), ""
	}
	return file, err
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// binaries finds the programs that scenarios need, before anything is started.
func binaries(todo []runner.Scenario) (party.Binaries, error) {
	bins, err := party.FindBinaries()
	if err != nil {
		return bins, err
	}
	return bins, programs(todo, bins)
}

// programs looks for the watchers of other people before anything is started.
func programs(todo []runner.Scenario, bins party.Binaries) error {
	for _, s := range todo {
		for _, c := range s.File.Cells() {
			if c.Scenario.Load.Driver == spec.DriverK6 {
				if err := bins.CheckK6(); err != nil {
					return err
				}
			}
			if w := c.Scenario.Watcher; w.Command != "" {
				if _, err := bins.Command(w, ""); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
