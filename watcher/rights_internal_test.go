package watcher

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestRightsOfReaders: what the resource watcher follows is granted in all namespaces, even
// where the pipeline has one only; Secrets are not, nor anything while it is off.
func TestRightsOfReaders(t *testing.T) {
	pods := []collector.Resource{{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}}
	cfg := config.Default()
	cfg.WatchResource.Namespace = "here"
	cfg.ResourceWatcher.Watches.Pinned = []string{"v1/nodes", "apps/v1/deployments"}
	cfg.ResourceWatcher.Notify.Subscriptions = []notify.Subscription{{Resource: watches.GVR{Group: "batch", Version: "v1", Resource: "jobs"}}}
	cfg.ResourceWatcher.Relations.Kinds = []string{"pods", "deployments.apps"}
	cfg.ResourceWatcher.Server.Authentication = access.TokenReview
	if off := rights(cfg, config.Filter{}, pods); off.Cluster != nil {
		t.Errorf("off: %+v", off)
	}
	cfg.ResourceWatcher.Enabled = true
	watch, create := []string{"list", "watch"}, []string{"create"}
	want := Rights{
		Roles: map[string][]Rule{"here": {{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: watch}}},
		Cluster: []Rule{
			{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: watch},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: watch},
			{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: watch},
			{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: create},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: create},
		},
	}
	if diff := cmp.Diff(want, rights(cfg, config.Filter{}, pods)); diff != "" {
		t.Error(diff)
	}
	cfg.ResourceWatcher.Watches.Lazy = false
	want.Cluster[0].Resources = []string{"nodes"}
	if diff := cmp.Diff(want, rights(cfg, config.Filter{}, pods)); diff != "" {
		t.Errorf("without lazy watches: %s", diff)
	}
}
