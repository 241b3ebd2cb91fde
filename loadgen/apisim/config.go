package apisim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// Resource is one kind that is served.
type Resource struct {
	Group string
	// Versions are served, the preferred one first. All show the same objects.
	Versions   []string
	Name       string // the plural in URLs, such as pods
	Kind       string
	Namespaced bool
	// Custom marks a kind of a CustomResourceDefinition: items of its lists carry apiVersion and kind, those of
	// built-in kinds do not.
	Custom bool
	// Fields can be selected by, besides name and namespace; nil: those of an apiserver for its own kinds.
	Fields kubeapi.Fields
}

// Key is how calls in Go name the resource: pods, or deployments.apps.
func (r Resource) Key() string { return kubeapi.ResourceKey(r.Group, r.Name) }

func (r Resource) groupVersion(version string) string { return kubeapi.GroupVersion(r.Group, version) }

// Validate refuses a resource that has no URL.
func (r Resource) Validate() error {
	switch {
	case r.Name == "" || strings.ContainsAny(r.Name, "/. "):
		return fmt.Errorf("resource %q: want a plural name as in URLs, like pods", r.Name)
	case r.Kind == "":
		return fmt.Errorf("resource %s: no kind", r.Name)
	case len(r.Versions) == 0 || slices.Contains(r.Versions, ""):
		return fmt.Errorf("resource %s: no version; want at least one, like v1", r.Name)
	}
	return nil
}

// Resources of common use.
var (
	Pods        = Resource{Versions: []string{"v1"}, Name: "pods", Kind: "Pod", Namespaced: true}
	Nodes       = Resource{Versions: []string{"v1"}, Name: "nodes", Kind: "Node"}
	Namespaces  = Resource{Versions: []string{"v1"}, Name: "namespaces", Kind: "Namespace"}
	ConfigMaps  = Resource{Versions: []string{"v1"}, Name: "configmaps", Kind: "ConfigMap", Namespaced: true}
	Secrets     = Resource{Versions: []string{"v1"}, Name: "secrets", Kind: "Secret", Namespaced: true}
	Events      = Resource{Versions: []string{"v1"}, Name: "events", Kind: "Event", Namespaced: true}
	Deployments = Resource{Group: "apps", Versions: []string{"v1"}, Name: "deployments", Kind: "Deployment",
		Namespaced: true}
)

// BuiltIn are the resources that watchers of a whole cluster ask for.
func BuiltIn() []Resource {
	of := func(group, name, kind string) Resource {
		return Resource{Group: group, Versions: []string{"v1"}, Name: name, Kind: kind, Namespaced: true}
	}
	return []Resource{
		Pods, Nodes, Namespaces, ConfigMaps, Secrets, Events,
		of("", "services", "Service"), of("", "endpoints", "Endpoints"), of("", "serviceaccounts", "ServiceAccount"),
		of("", "persistentvolumeclaims", "PersistentVolumeClaim"),
		{Versions: []string{"v1"}, Name: "persistentvolumes", Kind: "PersistentVolume"},
		Deployments, of("apps", "replicasets", "ReplicaSet"), of("apps", "statefulsets", "StatefulSet"),
		of("apps", "daemonsets", "DaemonSet"), of("batch", "jobs", "Job"), of("batch", "cronjobs", "CronJob"),
		of("coordination.k8s.io", "leases", "Lease"), of("discovery.k8s.io", "endpointslices", "EndpointSlice"),
		{Group: "apiextensions.k8s.io", Versions: []string{"v1"}, Name: "customresourcedefinitions",
			Kind: "CustomResourceDefinition"},
	}
}

// Bounds and defaults of Config.
const (
	// DefaultWindow is of the order of what an apiserver's watch cache keeps: 100 to 102,400 changes of a kind, by how
	// fast they come.
	DefaultWindow = 10_000
	// DefaultBookmarkPeriod is an apiserver's.
	DefaultBookmarkPeriod = time.Minute
	// watchTimeout is the mean that an apiserver gives a watch that does not ask for a time of its own.
	watchTimeout = 45 * time.Minute
	// firstVersion is the resourceVersion before the first change. It is not 1, which would hide mistakes around 0.
	firstVersion = 1000
	maxWindow    = 1_000_000
)

// Config has the settings of a server.
type Config struct {
	Resources []Resource
	// Window is how many changes of each kind are kept; 0 is DefaultWindow.
	Window int
	// BookmarkPeriod is the time between bookmarks of a watch that asked for them; 0 is DefaultBookmarkPeriod, negative
	// is never.
	BookmarkPeriod time.Duration
	// NoWatchCache makes limit count at resourceVersion 0 too, as on a server whose watch cache is off.
	NoWatchCache bool
	// NoShards ignores a shardSelector, as an apiserver without the feature gate ShardedListAndWatch does.
	NoShards bool
	// Seed is of uids and of the faults' choices.
	Seed uint64
}

// Validate refuses what could not be served.
func (c Config) Validate() error {
	var errs []error
	if c.Window < 0 || c.Window > maxWindow {
		errs = append(errs, fmt.Errorf("window %d: want 1 to %d changes, or 0 for %d", c.Window, maxWindow, DefaultWindow))
	}
	seen := map[string]bool{}
	for _, r := range c.Resources {
		errs = append(errs, r.Validate())
		if seen[r.Key()] {
			errs = append(errs, fmt.Errorf("resource %s is given twice", r.Key()))
		}
		seen[r.Key()] = true
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if c.BookmarkPeriod == 0 {
		c.BookmarkPeriod = DefaultBookmarkPeriod
	}
	return c
}
