package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shippedTrace = "../../loadgen/record/testdata/churn.trace.zst"

// TestTraceIsTheLoad: a scenario with a trace has no other load.
func TestTraceIsTheLoad(t *testing.T) {
	const head = "apiVersion: watchbench/v1\nkind: Scenario\nmetadata: {name: x}\ncluster: {provider: simulated, replay: {speed: 10x, trace: " + shippedTrace + "}}\n"
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

// TestTraceMustBeWhole: one that was cut is refused before anything starts, and a trace that
// cannot be read is one mistake, not also a missing load.
func TestTraceMustBeWhole(t *testing.T) {
	whole, err := os.ReadFile(shippedTrace)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"without its end", whole[:len(whole)-1], "name a trace whose"},
		{"half of it", whole[:len(whole)/2], "the trace is cut short"},
		{"empty", nil, "the trace is cut short within its header"},
		{"none", nil, "no such file or directory; name a file of"},
	} {
		path := filepath.Join(t.TempDir(), "t")
		if tc.name != "none" {
			if err := os.WriteFile(path, tc.data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		text := "apiVersion: watchbench/v1\nkind: Scenario\nmetadata: {name: x}\ncluster: {provider: simulated, replay: {trace: " + path + "}}\nwatcher: {resources: [Pod]}\n"
		_, err := Format{}.Parse("x.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:4: cluster.replay.trace: ") || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestKindsThatAreNotThere: a misspelt kind is asked about, and one that no watcher is configured for is refused.
func TestKindsThatAreNotThere(t *testing.T) {
	for kind, want := range map[string]string{
		"Podd":       `x.yaml:4: watcher.resources[1]: "Podd" is not a kind that can be watched; did you mean Pod?`,
		"Replicaset": `did you mean ReplicaSet?`, "Volcano": "use a built-in kind such as Pod", "Widget": "", "Secret": "",
	} {
		text := "apiVersion: watchbench/v1\nkind: Scenario\nmetadata: {name: x}\nwatcher: {resources: [Pod, " + kind + "]}\nload: {model: open, rate: 1, duration: 1s}\n"
		_, err := Format{}.Parse("x.yaml", []byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
}

func TestReplayNeedsNoWrites(t *testing.T) {
	good := func() *Scenario {
		s := Default()
		s.Cluster.Provider = ProviderSimulated
		s.Load.Model, s.Load.Rate, s.Load.Duration = "open", 100, Duration(1e9)
		return &s
	}
	if err := good().validateReplay(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Scenario){
		"cluster.replay: it means nothing for the provider embedded; use provider: simulated, or leave it out": func(s *Scenario) { s.Cluster.Provider, s.Cluster.Replay.Speed = "embedded", 10 },
		"load.model: \"closed\" cannot be replayed":                                                            func(s *Scenario) { s.Load.Model = "closed" },
		"load: the trace none.zst is the load":                                                                 func(s *Scenario) { s.Cluster.Replay.Trace = "none.zst" },
		"cluster.replay.trace: open none.zst: no such file":                                                    func(s *Scenario) { s.Load, s.Cluster.Replay.Trace = Default().Load, "none.zst" },
		"cluster.replay.trace: replay.go: line 1: this is not a trace of":                                      func(s *Scenario) { s.Load, s.Cluster.Replay.Trace = Default().Load, "replay.go" },
		"cluster.replay: it means nothing for the provider embedded; use pro":                                  func(s *Scenario) { s.Cluster.Provider, s.Cluster.Replay.Trace = "embedded", shippedTrace },
		"load.speed: it means nothing for the provider embedded":                                               func(s *Scenario) { s.Cluster.Provider, s.Load.Speed = "embedded", 10 },
		"ladder: only a simulated apiserver":                                                                   func(s *Scenario) { s.Cluster.Provider, s.Ladder = "embedded", true },
		"ladder: the rate of a profile or a trace cannot be compared":                                          func(s *Scenario) { s.Ladder, s.Load.Profile = true, "service-churn" },
		"ladder: the rate of a profile or a trace cannot":                                                      func(s *Scenario) { s.Ladder, s.Load, s.Cluster.Replay.Trace = true, Default().Load, shippedTrace },
		"extra: ": func(s *Scenario) { s.Extra.Pods = 1 },
	} {
		s := good()
		change(s)
		if err := s.validateReplay(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestKindOfDefinitions: a watcher cannot be configured for definitions, so they are refused before anything starts.
func TestKindOfDefinitions(t *testing.T) {
	s := Default()
	s.Watcher.Resources = []string{"Pod", "CustomResourceDefinition"}
	if err := s.validateKinds(); err == nil || !strings.Contains(err.Error(), "not a kind that can be watched") {
		t.Error(err)
	}
}
