package spec

import (
	"errors"
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/internal/strictyaml"
)

// TestShards: what replicas may divide among them, and how; each mistake names the field that would mend it.
func TestShards(t *testing.T) {
	shards := func(by string) Watcher {
		return Watcher{Profile: "default", Shards: 4, ShardBy: by, Replicas: 2, LeaderElection: true}
	}
	label := Watcher{Profile: "default", Replicas: 2}
	for _, tc := range []struct {
		name   string
		w      Watcher
		labels int
		change func(*Scenario)
		field  string // "": it is right
	}{
		{"by name", shards(""), 0, nil, ""},
		{"one replica", func() Watcher { w := shards("name"); w.Replicas = 1; return w }(), 0, nil, ""},
		{"by uid, with preconditions", shards("uid"), 0, func(s *Scenario) { s.Storage.Mode = "conditional" }, ""},
		{"by uid, without", shards("uid"), 0, nil, "watcher.shardBy"},
		{"without election", func() Watcher { w := shards("name"); w.LeaderElection = false; return w }(), 0, nil, "watcher.leaderElection"},
		{"of another watcher", func() Watcher { w := shards("name"); w.Command = "x {config}"; return w }(), 0, nil, "watcher.shards"},
		{"of the original's profile", func() Watcher { w := shards("name"); w.Profile = "legacy"; return w }(), 0, nil, "watcher.shards"},
		{"by name, without shards", Watcher{ShardBy: "name", Replicas: 1}, 0, nil, "watcher.shardBy"},
		{"too few instances", shards("name"), 0, func(s *Scenario) { s.Storage.Instances = 1 }, "storage.instances"},
		{"by label", label, 4, nil, ""},
		{"by too few labels", label, 1, nil, "load.labelShards"},
		{"by none", label, 0, nil, "watcher.leaderElection"},
		{"by label, with election", func() Watcher { w := label; w.LeaderElection = true; return w }(), 2, nil, "load.labelShards"},
	} {
		s := Default()
		s.Storage.Instances, s.Load.LabelShards, s.Watcher = 2, tc.labels, tc.w
		if tc.change != nil {
			tc.change(&s)
		}
		err := s.validateReplicas()
		bad, _ := errors.AsType[*strictyaml.FieldError](err)
		if tc.field == "" && err != nil || tc.field != "" && (bad == nil || bad.Path != tc.field) {
			t.Errorf("%s: %v, want a mistake in %q", tc.name, err, tc.field)
		}
	}
}

// TestLabels: watchers by label have all labels among them, each once.
func TestLabels(t *testing.T) {
	s := Default()
	s.Load.LabelShards = 4
	for replicas, want := range map[int]string{1: "[[0 1 2 3]]", 2: "[[0 2] [1 3]]", 4: "[[0] [1] [2] [3]]"} {
		s.Watcher.Replicas = replicas
		var all [][]string
		for i := range replicas {
			all = append(all, s.Labels(i))
		}
		if got := fmt.Sprint(all); got != want || !s.Shared() {
			t.Errorf("%d replicas: %s, want %s", replicas, got, want)
		}
	}
	s.Watcher = Watcher{Shards: 4, Replicas: 2, LeaderElection: true}
	if all := s.Labels(0); all != nil {
		t.Errorf("with shards: %v", all)
	}
}
