package apisim_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// TestDiscoveryByClientGo asks with client-go, in both forms.
func TestDiscoveryByClientGo(t *testing.T) {
	s := newServer(t, apisim.Config{Resources: []apisim.Resource{
		apisim.Pods, apisim.Nodes, apisim.Deployments,
		{Group: "example.com", Versions: []string{"v1", "v1beta1"}, Name: "things", Kind: "Thing", Custom: true},
		{Group: "example.com", Versions: []string{"v1beta1"}, Name: "oldies", Kind: "Oldie", Custom: true},
	}})
	c, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: "http://apisim", Transport: pipetest.Direct(s)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c.UseLegacyDiscovery = range []bool{false, true} {
		groups, lists, err := c.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, g := range groups {
			names = append(names, g.Name+" "+g.PreferredVersion.GroupVersion)
		}
		if d := cmp.Diff([]string{" v1", "apps apps/v1", "example.com example.com/v1"}, names); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		var all []string
		for _, l := range lists {
			for _, r := range l.APIResources {
				all = append(all, l.GroupVersion+" "+r.Name+" "+r.Kind)
				if r.Namespaced != (r.Kind == "Pod" || r.Kind == "Deployment") || !slices.Contains(r.Verbs, "watch") {
					t.Errorf("%+v", r)
				}
			}
		}
		slices.Sort(all)
		want := []string{"apps/v1 deployments Deployment", "example.com/v1 things Thing", "example.com/v1beta1 oldies Oldie", "example.com/v1beta1 things Thing", "v1 nodes Node", "v1 pods Pod"}
		if d := cmp.Diff(want, all); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if g, err := c.ServerResourcesForGroupVersion("none/v1"); err == nil {
		t.Errorf("%+v", g)
	}
	if v, err := c.ServerVersion(); err != nil || v.Minor != "36" {
		t.Errorf("version: %v %v", v, err)
	}
}
