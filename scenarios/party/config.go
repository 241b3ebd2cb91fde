package party

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// ClusterID is the id that the watcher writes under.
const ClusterID = "BCS-K8S-90001"

// LeaseNamespace is there in every cluster.
const LeaseNamespace = "default"

// kinds are those that a scenario may watch: all that every cluster has, and the generator's own.
var kinds = func() map[string]apisim.Resource {
	all := map[string]apisim.Resource{
		kindWidget: {Group: "watchbench.dev", Versions: []string{"v1"}, Name: "widgets", Namespaced: true}}
	for _, r := range apisim.BuiltIn() {
		if r.Group != "apiextensions.k8s.io" {
			all[r.Kind] = r
		}
	}
	return all
}()

// groupVersion returns a kind's group and version.
func groupVersion(kind string) string { return kubeapi.GroupVersion(kinds[kind].Group, "v1") }

const (
	kindLease = "Lease"
	// kindWidget is the custom resource of the generator's profiles.
	kindWidget  = "Widget"
	widgetGroup = "watchbench.dev/v1"
)

// renderConfig writes the config and filter files in the original's format; ports: health, metrics, resource watcher.
func (s WatcherSetup) renderConfig(ports []int) (string, error) {
	groups := map[string][]string{}
	for _, k := range s.Kinds {
		if _, ok := kinds[k]; !ok {
			return "", &badinput.Error{What: fmt.Sprintf("watcher.resources: the group of the kind %s is not known", k),
				Remedy: "use a built-in kind such as Pod, Node or Deployment"}
		}
		groups[groupVersion(k)] = append(groups[groupVersion(k)], k)
	}
	customs := s.Customs
	if len(groups[widgetGroup]) > 0 {
		customs = append(slices.Clone(customs), widgetGroup)
	}
	var white []string
	var only []map[string]any
	for _, g := range []string{"v1", "apps/v1", "batch/v1", "coordination.k8s.io/v1", "discovery.k8s.io/v1"} {
		if kinds := groups[g]; len(kinds) > 0 {
			white = append(white, g)
			only = append(only, map[string]any{"groupVersion": g, "resourceKinds": kinds})
		}
	}
	for _, g := range s.Listed {
		white = append(white, g)
		only = append(only, map[string]any{"groupVersion": g})
	}
	filterPath := filepath.Join(s.Cell, s.file("filter"))
	filter := map[string]any{
		"k8sResourceWhiteList":     white,
		"apiResourceSpecification": only,
		"resourceNamespaceFilters": s.Ignore,
		"isFilterManagedFields":    false,
	}
	if len(customs) > 0 {
		filter["crdResourceWhiteList"] = customs
	}
	if len(s.Masks) > 0 {
		filter["resourceMaskers"] = s.Masks
	}
	w := s.Spec
	queues := w.PodQueueNum
	if w.Strategy == "adaptive" { // it finds the number, and a scenario always has one
		queues = 0
	}
	bcs := map[string]any{
		"custom-storage-endpoints": strings.Join(s.Endpoints, ","),
		"writerQueueLen":           w.WriterQueueLen,
		"podQueueNum":              queues,
		"strategy":                 w.Strategy,
		"allowUnordered":           w.Strategy == "unordered",
		"handlerQueueLen":          w.HandlerQueueLen,
		"queueFull":                w.QueueFull,
		"queueFullTimeout":         w.QueueFullTimeout.String(),
		"storageTimeout":           w.StorageTimeout.String(),
		"drainTimeout":             w.DrainTimeout.String(),
	}
	if s.Conditional && w.Profile != ProfileLegacy {
		bcs["conditional"] = true
	}
	if s.CAFile != "" {
		bcs["tls"] = map[string]any{"ca-file": s.CAFile}
	}
	resource := map[string]any{"disable_netservice": true, "disable_crd": len(customs) == 0}
	if len(s.Selectors) > 0 {
		resource["label_selectors"] = s.Selectors
	}
	config := map[string]any{
		"default":          map[string]any{"clusterID": ClusterID},
		"watch_resource":   resource,
		"bcs":              bcs,
		"k8s":              map[string]any{"kubeconfig": s.Kubeconfig},
		"filterConfigPath": filterPath,
		"address":          "127.0.0.1", "port": ports[0], "metric_port": ports[1], "v": 1,
	}
	if s.Serving != nil {
		config["resourceWatcher"] = s.Serving.resourceWatcher(ports[2])
	}
	if sync := w.Synchronizer; sync.Disabled {
		config["synchronizer"] = map[string]any{"disabled": true}
	} else if sync.Period > 0 {
		config["synchronizer"] = map[string]any{"period": sync.Period.String()}
	}
	if w.CacheCheck.Period > 0 {
		config["cacheCheck"] = w.CacheCheck
	}
	if s.Lease != "" {
		config["leaderElection"] = map[string]any{"enabled": true, "namespace": LeaseNamespace, "name": s.Lease}
	}
	if w.Command != "" {
		// The original's log files; ours logs to standard error and says so.
		config["logtostderr"], config["log_dir"], config["pid_dir"] = true, s.Logs, filepath.Join(s.Cell, "pid")
	}
	if err := writeJSON(filterPath, filter); err != nil {
		return "", err
	}
	path := filepath.Join(s.Cell, s.file("watcher"))
	return path, writeJSON(path, config)
}

// file names a rendered file: the first watcher's by what it is, later ones' with their own name.
func (s WatcherSetup) file(what string) string {
	if s.Name == "" || s.Name == "k8s-watch" {
		return what + ".json"
	}
	return what + strings.TrimPrefix(s.Name, "k8s-watch") + ".json"
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
