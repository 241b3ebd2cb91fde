package spec

import (
	"strings"
	"testing"
)

func TestReplayNeedsNoWrites(t *testing.T) {
	good := func() *Scenario {
		s := Default()
		s.Cluster.Provider = ProviderReplay
		s.Load.Model, s.Load.Rate, s.Load.Duration = "open", 100, Duration(1e9)
		return &s
	}
	if err := good().validateReplay(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Scenario){
		"cluster.replay: it means nothing for the provider embedded; use provider: replay, or leave it out": func(s *Scenario) { s.Cluster.Provider, s.Cluster.Replay.Speed = "embedded", 10 },
		"load.model: \"closed\" cannot be replayed":                                                         func(s *Scenario) { s.Load.Model = "closed" },
		"load.speed: it means nothing for the provider embedded":                                            func(s *Scenario) { s.Cluster.Provider, s.Load.Speed = "embedded", 10 },
		"ladder: only a simulated apiserver":                                                                func(s *Scenario) { s.Cluster.Provider, s.Ladder = "embedded", true },
		"load.profile: ":                                                                                    func(s *Scenario) { s.Load.Profile = "service-churn" },
		"watcher.leaderElection: ":                                                                          func(s *Scenario) { s.Watcher.LeaderElection = true },
		"events: ":                                                                                          func(s *Scenario) { s.Events = make([]Event, 1) },
		"extra: ":                                                                                           func(s *Scenario) { s.Extra.Pods = 1 },
		"fault: ":                                                                                           func(s *Scenario) { s.Fault = &Fault{} },
	} {
		s := good()
		change(s)
		if err := s.validateReplay(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, field := range []func(*Scenario){func(s *Scenario) { s.Cluster.FSync = true }, func(s *Scenario) { s.Cluster.Pin = true }} {
		s := good()
		field(s)
		s.APIVersion, s.Kind, s.Metadata.Name = APIVersion, Kind, "x"
		if err := s.validateNames(); err == nil {
			t.Error("a simulated cluster was pinned or synchronised")
		}
	}
}
