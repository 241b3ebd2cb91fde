package spec

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/reports/result"
)

var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// validate reports the first value that cannot be run, given the kinds of events and the fields that are written.
func (s *Scenario) validate(kinds []EventKind, written func(path string) bool) error {
	for _, check := range []func() error{
		func() error { return s.checkRanges(written) }, s.validateHead, s.validateReplay, s.checkDecide, s.validateStorage,
		s.validateLoad, s.validateWatcher, s.Expect.validate, s.validateReaders, s.validateFault,
		func() error { return s.validateEvents(kinds) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) validateHead() error {
	const ours = "use the provider embedded, or leave it out"
	switch c := s.Cluster; {
	case !nameForm.MatchString(s.Metadata.Name):
		return bad("metadata.name", "use at most 63 lower-case letters, digits and dashes", "%q is not a name",
			s.Metadata.Name)
	case c.FSync && c.Provider != "embedded":
		return bad("cluster.fsync", ours, "it can be chosen for the embedded control plane only, not for %s", c.Provider)
	case c.Controllers && c.Provider != "embedded":
		return bad("cluster.controllers", ours, "only the embedded control plane is given controllers, not that of %s",
			c.Provider)
	case len(c.Gates) > 0 && c.Provider != "embedded":
		return bad("cluster.gates", ours, "only the embedded control plane is given feature gates, not that of %s",
			c.Provider)
	}
	for _, g := range s.Cluster.Gates {
		if !gateForm.MatchString(g) {
			return bad("cluster.gates", "name it as Kubernetes does, such as ShardedListAndWatch", "%q is not a feature gate", g)
		}
	}
	return nil
}

var gateForm = regexp.MustCompile(`^[A-Za-z]+$`)

func (s *Scenario) validateStorage() error {
	return cmp.Or(validLatency(s.Storage.Latency), validFaults(s.Storage.Faults), validCapacity(s.Storage.Capacity))
}

func (s *Scenario) validateLoad() error {
	if s.Traced() {
		return nil // see validateReplay
	}
	if s.Load.Driver == DriverK6 && s.Simulated() {
		return bad("load.driver", "use the engine, or another provider",
			"k6 needs an apiserver that takes writes, which cluster.provider %s is not", ProviderSimulated)
	}
	if l := s.Load; l.Model == result.ModelClosed && l.Threads > 0 && l.Shards > l.Threads {
		return bad("load.shards", "use at most as many as threads", "%d generators for %d threads", l.Shards, l.Threads)
	}
	err := s.Load.Validate()
	if fe, ok := errors.AsType[*strictyaml.FieldError](err); ok {
		return bad("load."+fe.Path, fe.Remedy, "%s", fe.Problem)
	}
	return err
}

func (s *Scenario) validateWatcher() error {
	w := s.Watcher
	if w.Command != "" && w.Command != OpenCommand && !strings.Contains(w.Command, "{config}") {
		return bad(commandPath, "write {config} where the path of the config file belongs",
			"the command never names its config")
	}
	if n := []rune(w.Name); len(n) > maxName || slices.ContainsFunc(n, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return bad("watcher.name", fmt.Sprintf("use at most %d letters, digits and signs", maxName), "%q is not a name",
			w.Name)
	}
	if err := s.validateKinds(); err != nil {
		return err
	}
	if len(w.Resources) > 0 {
		need := []string{"Pod"}
		if s.Load.Bystander != nil {
			need = append(need, s.Load.Bystander.Kind)
		}
		for _, k := range need {
			if !slices.Contains(w.Resources, k) {
				return bad("watcher.resources", "add "+k, "the load writes the kind %s, which is not watched", k)
			}
		}
	}
	return s.validateReplicas()
}

func (s *Scenario) validateReplicas() error {
	w := s.Watcher
	switch {
	case s.Load.LabelShards > 0 && w.LeaderElection && !w.Divided():
		return bad("load.labelShards", "leave one of the two out", "labelShards beside watcher.leaderElection")
	case w.Divided() && !w.LeaderElection:
		return bad("watcher.leaderElection", "set it to true, or leave watcher.shards out", "shards without it")
	case w.Divided() && (w.Command != "" || w.Profile == "legacy"):
		return bad("watcher.shards", "leave it out", "only k8s-watch has shards")
	case w.ShardBy != "" && !w.Divided():
		return bad("watcher.shardBy", "set watcher.shards, or leave it out", "there are no shards")
	case w.ShardBy == "uid" && s.Storage.Mode != "conditional":
		return bad("watcher.shardBy", "use name or namespace, or storage.mode: conditional",
			"two shards may write the row of an object that is made again, and storage has no preconditions")
	case w.LeaderElection && w.Replicas < 2 && !w.Divided():
		return bad("watcher.replicas", "use 2 or more with leaderElection", "%d replica elects only itself", w.Replicas)
	case w.Replicas > s.Load.LabelShards && s.Load.LabelShards > 0 && !w.LeaderElection:
		return bad("load.labelShards", fmt.Sprintf("use %d or more, so that each has one", w.Replicas),
			"%d labels for %d replicas", s.Load.LabelShards, w.Replicas)
	case w.Replicas > max(1, s.Load.LabelShards) && !w.LeaderElection:
		return bad("watcher.leaderElection", "set it to true, or use load.labelShards or the event join for watchers "+
			"that do not know of one another", "several replicas without it")
	case w.LeaderElection && s.Storage.Instances < w.Replicas:
		return bad("storage.instances", fmt.Sprintf("use %d: each replica writes to one of its own, so that the ledger "+
			"tells them apart", w.Replicas), "%d for %d replicas", s.Storage.Instances, w.Replicas)
	}
	return nil
}

// Error is one problem of a scenario.
type Error = strictyaml.Error

// bad is a problem found in typed values, before its place is known.
func bad(path, remedy, format string, args ...any) error {
	return strictyaml.Bad(path, remedy, format, args...)
}

// oneOf renders a list of words for a remedy.
func oneOf(words []string) string {
	return "use one of " + strings.Join(words, ", ")
}
