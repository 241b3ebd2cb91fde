package party

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/scenarios/spec"
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
	if w.Synchronizer != (spec.Synchronizer{}) {
		config["synchronizer"] = w.Synchronizer
	}
	if w.CacheCheck.Period > 0 {
		config["cacheCheck"] = w.CacheCheck
	}
	if s.Lease != "" {
		config["leaderElection"] = map[string]any{"enabled": true, "namespace": LeaseNamespace, "name": s.Lease}
		if w.Divided() {
			config["shards"], config["shardBy"] = w.Shards, cmp.Or(w.ShardBy, string(kubeapi.ByName))
		}
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
	return what + strings.TrimPrefix(s.Name, WatcherName) + ".json"
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

// Serving configures the watcher's resource watcher.
type Serving struct {
	Kubeconfig string   // is written here, for those who read from it; empty: for nobody
	Webhooks   []string // URLs, a subscription to all Pods for each
	SecretFile string   // with what deliveries are signed; empty: not at all
	Queue      int      // events that wait for each at most; 0 is the watcher's default
	// Server, Query and Subscriptions extend those parts of the section.
	Server, Query map[string]any
	Subscriptions []map[string]any
}

// notifyDrain is how long a watcher that ends still delivers: those who count deliveries have waited for them before.
const notifyDrain = "1s"

// resourceWatcher is the section of the watcher's configuration. Pods are collected anyway.
func (s *Serving) resourceWatcher(port int) map[string]any {
	server := map[string]any{"address": "127.0.0.1", "port": port}
	maps.Copy(server, s.Server)
	section := map[string]any{"enabled": true, "server": server}
	if s.Query != nil {
		section["query"] = s.Query
	}
	subscriptions := slices.Clone(s.Subscriptions)
	for i, url := range s.Webhooks {
		webhook := map[string]any{"url": url, "allow": []string{"127.0.0.0/8"}}
		if s.SecretFile != "" {
			webhook["secretFile"] = s.SecretFile
		}
		subscription := map[string]any{
			"name": fmt.Sprintf("receiver-%d", i+1), "resource": "v1/pods", "target": map[string]any{"webhook": webhook},
		}
		if s.Queue > 0 {
			subscription["queue"] = map[string]any{"length": s.Queue}
		}
		subscriptions = append(subscriptions, subscription)
	}
	if subscriptions != nil {
		section["notify"] = map[string]any{"subscriptions": subscriptions, "drainTimeout": notifyDrain}
	}
	return section
}

// base is the URL that leads to the port.
func (s *Serving) base(port int) string {
	if _, secure := s.Server["certFile"]; secure {
		return fmt.Sprintf("https://127.0.0.1:%d", port)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// write makes the kubeconfig that leads to the port.
func (s *Serving) write(port int) error {
	if s.Kubeconfig == "" {
		return nil
	}
	return kubeapi.WriteConfig(s.Kubeconfig, kubeapi.ConfigFor("k8s-watch", &rest.Config{Host: s.base(port)}))
}
