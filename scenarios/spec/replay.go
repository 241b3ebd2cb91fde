package spec

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/record"
	"github.com/watchbench/watchbench/reports/result"
)

// ProviderSimulated is the provider of a cluster that is simulated: each cell has one of its
// own, with the load in the same process.
const ProviderSimulated = "simulated"

// formerSimulated is its name in the records of former versions.
const (
	formerSimulated = "replay"
	providerField   = "cluster.provider"
)

// Simulated reports whether the cluster is simulated.
func (s *Scenario) Simulated() bool {
	return s.Cluster.Provider == ProviderSimulated || s.Cluster.Provider == formerSimulated
}

// Traced reports whether the load is a recorded trace. The section load is then the default.
func (s *Scenario) Traced() bool { return s.Cluster.Replay.Trace != "" }

// validateTrace refuses a load beside a trace, and a trace that was cut: its end is not the recorded state.
func (s *Scenario) validateTrace() error {
	if !reflect.DeepEqual(s.Load, Default().Load) {
		return bad("load", "leave it out, or cluster.replay.trace", "the trace %s is the load", s.Cluster.Replay.Trace)
	}
	switch err := record.Whole(s.Cluster.Replay.Trace); {
	case errors.Is(err, record.ErrTruncated):
		return bad("cluster.replay.trace", "name a trace whose recording ended by itself or by one interrupt", "%v", err)
	case err != nil:
		return bad("cluster.replay.trace", "name a file of watchbench record", "%v", err)
	}
	return nil
}

// validateKinds refuses kinds that neither every cluster nor the generator has.
func (s *Scenario) validateKinds() error {
	known := []string{"Widget"}
	for _, r := range apisim.BuiltIn() {
		if r.Group != "apiextensions.k8s.io" {
			known = append(known, r.Kind)
		}
	}
	for i, kind := range s.Watcher.Resources {
		if !slices.Contains(known, kind) {
			return bad(fmt.Sprintf("watcher.resources[%d]", i), badinput.Ask(badinput.Nearest(kind, known),
				"use a built-in kind such as Pod, Node or Deployment"), "%q is not a kind that can be watched", kind)
		}
	}
	return nil
}

// Speed is how fast the load is played into a simulated apiserver.
func (s *Scenario) Speed() units.Speed { return cmp.Or(s.Load.Speed, s.Cluster.Replay.Speed) }

// validateReplay refuses what a simulated apiserver cannot do: it takes no writes but of Leases.
func (s *Scenario) validateReplay() error {
	const remedy = "use another cluster.provider, or leave it out"
	switch {
	case !s.Simulated() && s.Cluster.Replay != Replay{}:
		return bad("cluster.replay", "use provider: simulated, or leave it out", "it means nothing for the provider %s",
			s.Cluster.Provider)
	case !s.Simulated() && s.Load.Speed != 0:
		return bad("load.speed", "use provider: simulated, or leave it out", "it means nothing for the provider %s",
			s.Cluster.Provider)
	case !s.Simulated() && s.Ladder:
		return bad("ladder", "use provider: simulated, or leave it out",
			"only a simulated apiserver is filled quickly enough, not that of %s", s.Cluster.Provider)
	case !s.Simulated():
		return nil
	case s.Load.Shards > 1:
		return bad("load.shards", "leave it out, or use another cluster.provider",
			"%d generators: a simulated apiserver is in one process with its load", s.Load.Shards)
	case !s.Traced() && s.Load.Model != result.ModelOpen:
		return bad("load.model", "use open, with rate and duration",
			"%q cannot be replayed: a simulated apiserver answers at once", s.Load.Model)
	case s.Ladder && (s.Traced() || s.Load.Profile != ""):
		return bad("ladder", "leave it out, or use plain pods",
			"the rate of a profile or a trace cannot be compared with that of an unlimited rung")
	case s.Extra != Extra{}:
		return bad("extra", remedy, "a simulated apiserver takes no objects besides those of the load")
	case s.Traced():
		return s.validateTrace()
	}
	return nil
}
