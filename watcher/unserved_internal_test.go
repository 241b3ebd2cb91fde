package watcher

import (
	"slices"
	"testing"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestUnservedNames: what names no resource is found, with what was meant.
func TestUnservedNames(t *testing.T) {
	kind := func(name string) []watches.Kind { return []watches.Kind{{Resource: collector.Resource{Name: name}}} }
	served := &watches.Catalogue{Groups: []watches.Group{
		{Versions: []watches.Version{{Name: "v1", Kinds: kind("pods")}}},
		{Name: "apps", Versions: []watches.Version{{Name: "v1", Kinds: kind("deployments")}}},
	}}
	c := config.Default().ResourceWatcher
	if got := unservedNames(c, served); len(got) > 0 {
		t.Errorf("defaults: %q", got)
	}
	c.Watches.Pinned = []string{"v1/pods", "v1/podz", "apps/v1/deployments"}
	c.Relations.Kinds = []string{"pods", "podz", "deployments.apps", "jobs.batch"}
	c.Query.FieldIndexes = map[string][]string{"podz": {"spec.a"}, "deployments.apps": {"spec.a"}}
	want := []string{
		`resourceWatcher.watches.pinned[1]: "v1/podz" is not served, or withheld, did you mean "v1/pods"?`,
		`resourceWatcher.relations.kinds[1]: "podz" is not served, or withheld, did you mean "pods"?`,
		`resourceWatcher.query.fieldIndexes: "podz" is not served, or withheld, did you mean "pods"?`,
	}
	if got := unservedNames(c, served); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
