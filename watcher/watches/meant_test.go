package watches_test

import (
	"errors"
	"testing"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestMeant: who takes one name of a kind for another is told the right one.
func TestMeant(t *testing.T) {
	kind := func(group, name, kind string, short ...string) watches.Kind {
		return watches.Kind{Resource: collector.Resource{Group: group, Version: "v1", Name: name, Kind: kind}, ShortNames: short}
	}
	c := &watches.Catalogue{
		Groups: []watches.Group{
			{Versions: []watches.Version{{Name: "v1", Kinds: []watches.Kind{kind("", "pods", "Pod", "po")}}}},
			{Name: "apps", Versions: []watches.Version{{Name: "v1", Kinds: []watches.Kind{kind("apps", "deployments", "Deployment", "deploy")}}}},
		},
		Withheld: []watches.Kind{kind("", "secrets", "Secret")},
	}
	for name, want := range map[watches.GVR]string{
		{Version: "v1", Resource: "pods"}:                    `the cluster serves no kind "v1/pods"; want v1/Pod`,
		{Version: "v1", Resource: "PO"}:                      `the cluster serves no kind "v1/PO"; want v1/Pod`,
		{Version: "v1", Resource: "Podz"}:                    `the cluster serves no kind "v1/Podz"`,
		{Version: "v1", Resource: ""}:                        `the cluster serves no kind "v1/"`,
		{Version: "v2", Resource: "Pod"}:                     `the cluster serves no kind "v2/Pod"`,
		{Group: "apps", Version: "v1", Resource: "deploy"}:   `the cluster serves no kind "apps/v1/deploy"; want apps/v1/Deployment`,
		{Version: "v1", Resource: "Secret"}:                  watches.ErrDenied.Error(),
		{Version: "v1", Resource: "secrets"}:                 watches.ErrDenied.Error(),
		{Group: "example.com", Version: "v1", Resource: "S"}: `the cluster serves no kind "example.com/v1/S"`,
	} {
		err := c.NoKind(name.Group, name.Version, name.Resource)
		if err.Error() != want || !errors.Is(err, watches.ErrDenied) && !errors.Is(err, watches.ErrNotServed) {
			t.Errorf("%v: %v\nwant %s", name, err, want)
		}
	}
	if err := c.NoResource(watches.GVR{Version: "v1", Resource: "Pod"}); err.Error() != `the cluster serves no resource "v1/Pod"; want v1/pods` {
		t.Error(err)
	}
}
