package spec

import (
	"strings"
	"testing"
)

const shippedTrace = "../../loadgen/trace/testdata/churn.trace.zst"

// TestTraceIsTheLoad: a scenario with a trace has no other load.
func TestTraceIsTheLoad(t *testing.T) {
	const head = "apiVersion: watchbench/v1\nkind: Scenario\nmetadata: {name: x}\ncluster: {provider: replay, replay: {speed: 10x, trace: " + shippedTrace + "}}\n"
	f, err := Format{}.Parse("x.yaml", []byte(head))
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Cells()[0].Scenario; !s.Traced() || s.Load.Model != "" {
		t.Errorf("%+v", s)
	}
	for _, load := range []string{"load: {model: open, rate: 1, duration: 1s}\n", "load: {prefill: 3}\n", "matrix: {load.nodes: [1, 2]}\n"} {
		if _, err := (Format{}).Parse("x.yaml", []byte(head+load)); err == nil || !strings.Contains(err.Error(), "is the load") {
			t.Errorf("%s: %v", load, err)
		}
	}
}

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
		"load: the trace none.zst is the load":                                                              func(s *Scenario) { s.Cluster.Replay.Trace = "none.zst" },
		"cluster.replay.trace: open none.zst: no such file":                                                 func(s *Scenario) { s.Load, s.Cluster.Replay.Trace = Default().Load, "none.zst" },
		"cluster.replay.trace: replay.go: byte 0: this is not a trace of":                                   func(s *Scenario) { s.Load, s.Cluster.Replay.Trace = Default().Load, "replay.go" },
		"cluster.replay: it means nothing for the provider embedded; use pro":                               func(s *Scenario) { s.Cluster.Provider, s.Cluster.Replay.Trace = "embedded", shippedTrace },
		"load.speed: it means nothing for the provider embedded":                                            func(s *Scenario) { s.Cluster.Provider, s.Load.Speed = "embedded", 10 },
		"ladder: only a simulated apiserver":                                                                func(s *Scenario) { s.Cluster.Provider, s.Ladder = "embedded", true },
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
