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
)

var (
	nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	kindForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
)

// Validate reports the first value of each section that cannot be run, given the kinds of
// events that can be carried out. Faults and events refer to other sections and are looked
// at where those are right.
func (s *Scenario) Validate(kinds []EventKind) error {
	err := errors.Join(s.validateHead(), s.validateStorage(), s.validateLoad(), s.validateWatcher(), s.validateLimits(),
		s.Expect.validate())
	if err == nil {
		err = firstError(s.validateReaders(), s.validateFault(), s.validateEvents(kinds))
	}
	return err
}

func (s *Scenario) validateHead() error {
	return errors.Join(
		s.validateNames(),
		word("cluster.provider", s.Cluster.Provider, "embedded", "kind", "kubeconfig", ProviderReplay),
		s.validateReplay(),
		within("repeat", s.Repeat, 1, 100),
		s.checkDecide(),
		atLeast("drainTimeout", s.DrainTimeout, Duration(1e9)),
	)
}

func (s *Scenario) validateNames() error {
	switch {
	case s.APIVersion == "":
		return bad("apiVersion", "write apiVersion: "+APIVersion, "missing")
	case s.APIVersion != APIVersion:
		return bad("apiVersion", "this program reads "+APIVersion, "%q is not known", s.APIVersion)
	case s.Kind != Kind:
		return bad("kind", "write kind: "+Kind, "%q is not known", s.Kind)
	case s.Metadata.Name == "":
		return bad("metadata.name", "name the scenario in lower-case letters, digits and dashes", "missing")
	case !nameForm.MatchString(s.Metadata.Name):
		return bad("metadata.name", "use at most 63 lower-case letters, digits and dashes", "%q is not a name",
			s.Metadata.Name)
	}
	const ours = "use the provider embedded, or leave it out"
	others := []string{"kind", "kubeconfig", ProviderReplay}
	switch c := s.Cluster; {
	case c.FSync && slices.Contains(others, c.Provider):
		return bad("cluster.fsync", ours, "it can be chosen for the embedded control plane only, not for %s", c.Provider)
	case c.Controllers && slices.Contains(others, c.Provider):
		return bad("cluster.controllers", ours, "only the embedded control plane is given controllers, not that of %s",
			c.Provider)
	case c.Pin && slices.Contains(others, c.Provider):
		return bad("cluster.pin", ours, "only the embedded control plane can be pinned, not that of %s", c.Provider)
	}
	return nil
}

func (s *Scenario) validateStorage() error {
	return errors.Join(
		validLatency(s.Storage.Latency), validFaults(s.Storage.Faults),
		word("storage.mode", s.Storage.Mode, "faithful", "conditional"),
		within("storage.capacity.inflight", s.Storage.Capacity.Inflight, 0, 1<<20),
		within("storage.instances", s.Storage.Instances, 1, 16),
		within("storage.capacity.rate", s.Storage.Capacity.Rate, 0, 1<<20),
		validCapacity(s.Storage.Capacity),
		word("storage.tls", cmp.Or(s.Storage.TLS, "valid"), "valid", "wrong-ca", "expired", "wrong-host", "tls-1.1"),
	)
}

func (s *Scenario) validateLoad() error {
	if s.Traced() {
		return nil // see validateReplay
	}
	if err := word("load.driver", s.Load.Driver, DriverEngine, DriverK6); err != nil {
		return err
	}
	if s.Load.Driver == DriverK6 && s.Simulated() {
		return bad("load.driver", "use the engine, or another provider",
			"k6 needs an apiserver that takes writes, which cluster.provider %s is not", ProviderReplay)
	}
	var all []error
	for _, err := range s.Load.Problems() {
		var fe *strictyaml.FieldError
		if errors.As(err, &fe) {
			err = bad("load."+fe.Path, cmp.Or(fe.Remedy, "take it away"), "%s", fe.Problem)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
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
	if p := w.Synchronizer.Period; p != 0 && p < Duration(1e9) {
		return bad("watcher.synchronizer.period", "use at least 1s, or disabled: true", "%s is too short", p)
	}
	for name, d := range map[string]Duration{"period": w.CacheCheck.Period, "grace": w.CacheCheck.Grace} {
		if d != 0 && d < Duration(1e9) {
			return bad("watcher.cacheCheck."+name, "use at least 1s, or leave it out", "%s is too short", d)
		}
	}
	for i, k := range w.Resources {
		if !kindForm.MatchString(k) {
			return bad(fmt.Sprintf("watcher.resources[%d]", i), "use kinds as Kubernetes spells them, for example Pod",
				"%q is not a kind", k)
		}
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
	return firstError(
		word("watcher.profile", w.Profile, "default", "legacy"),
		word("watcher.strategy", w.Strategy, Strategies...),
		within("watcher.podQueueNum", w.PodQueueNum, 1, 4096),
		within("watcher.writerQueueLen", w.WriterQueueLen, 1, 1<<24),
		within("watcher.handlerQueueLen", w.HandlerQueueLen, 1, 1<<24),
		word("watcher.queueFull", w.QueueFull, "coalesce", "block", "drop"),
		within("watcher.replicas", w.Replicas, 1, 5),
		atLeast("watcher.storageTimeout", w.StorageTimeout, Duration(1e6)),
		s.validateReplicas(),
	)
}

func (s *Scenario) validateReplicas() error {
	w := s.Watcher
	switch {
	case s.Load.Shards > 0 && w.LeaderElection:
		return bad("load.shards", "leave one of the two out", "shards beside watcher.leaderElection")
	case w.LeaderElection && w.Replicas < 2:
		return bad("watcher.replicas", "use 2 or more with leaderElection", "%d replica elects only itself", w.Replicas)
	case w.Replicas > 1 && !w.LeaderElection:
		return bad("watcher.leaderElection",
			"set it to true, or use the event join for watchers that do not know of one another", "several replicas without it")
	case w.Replicas > 1 && s.Storage.Instances < w.Replicas:
		return bad("storage.instances", fmt.Sprintf("use %d: each replica writes to one of its own, so that the ledger "+
			"tells them apart", w.Replicas), "%d for %d replicas", s.Storage.Instances, w.Replicas)
	}
	return nil
}

func (s *Scenario) validateLimits() error {
	const most = 1 << 30
	return errors.Join(
		atLeast("limits.lag", s.Limits.Lag, Duration(1e6)),
		within("limits.minPower", s.Limits.MinPower, 0, 1_000_000),
		within("ceilings.goroutines", s.Ceilings.Goroutines, 0, most),
		within("ceilings.sockets", s.Ceilings.Sockets, 0, most),
		within("ceilings.goroutinesReturn", s.Ceilings.GoroutinesReturn, 0, most),
		within("extra.namespaces", s.Extra.Namespaces, 0, 100),
		within("extra.pods", s.Extra.Pods, 0, 10_000),
	)
}

func word(path, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return bad(path, oneOf(known), "%q is not known", value)
}

func within(path string, value, low, high int) error {
	if value < low || value > high {
		return bad(path, fmt.Sprintf("use %d to %d", low, high), "%d is out of range", value)
	}
	return nil
}

func atLeast(path string, value, low Duration) error {
	if value < low {
		return bad(path, "use at least "+low.String(), "%s is too short", value)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
