package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// clusterID is the id the watcher writes under.
const clusterID = "BCS-K8S-90001"

// watcher is the process under test.
type watcher struct {
	*process
	argv    []string
	health  string // base URL
	metrics string // URL
	own     bool   // our k8s-watch, which has /readyz and metrics of its own
	http    *http.Client
	// setup and ports are what it was started with; a resize changes its spec.
	setup watcherSetup
	ports []int
	// instance of storage that it writes to, where replicas have one each
	instance int
}

// watcherSetup is what a watcher is started with.
type watcherSetup struct {
	bin        string
	name       string // of the process, its log and its files
	cell       string // folder of the cell, for the rendered files
	logs       string
	kubeconfig string
	endpoints  []string
	ignore     []string // namespaces
	spec       spec.Watcher
	kinds      []string
	customs    []string // group/versions of custom resources to follow; none: no CRD watcher

	masks       []check.Mask
	conditional bool
	caFile      string // of storage
	lease       string // name of the Lease; empty is no leader election
	instance    int
}

// kindGroups tells the group-version that the filter file needs for a kind.
var kindGroups = map[string]string{
	"Pod": "v1", "ConfigMap": "v1", "Node": "v1", "Namespace": "v1", "Service": "v1", "Event": "v1", "Secret": "v1",
	"Endpoints": "v1", "ServiceAccount": "v1", "PersistentVolume": "v1", "PersistentVolumeClaim": "v1",
	"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
	"Job": "batch/v1", "CronJob": "batch/v1",
}

// renderConfig writes the config and filter file in the original's format and
// returns the config's path.
func (s watcherSetup) renderConfig(port, metricPort int) (string, error) {
	groups := map[string][]string{}
	for _, k := range s.kinds {
		g, ok := kindGroups[k]
		if !ok {
			return "", &InputError{What: fmt.Sprintf("watcher.resources: the group of the kind %s is not known", k), Remedy: "use a built-in kind such as Pod, Node or Deployment"}
		}
		groups[g] = append(groups[g], k)
	}
	var white []string
	var only []map[string]any
	for _, g := range []string{"v1", "apps/v1", "batch/v1"} {
		if kinds := groups[g]; len(kinds) > 0 {
			white = append(white, g)
			only = append(only, map[string]any{"groupVersion": g, "resourceKinds": kinds})
		}
	}
	filterPath := filepath.Join(s.cell, s.file("filter"))
	filter := map[string]any{
		"k8sResourceWhiteList":     white,
		"apiResourceSpecification": only,
		"resourceNamespaceFilters": s.ignore,
		"isFilterManagedFields":    false,
	}
	if len(s.customs) > 0 {
		filter["crdResourceWhiteList"] = s.customs
	}
	if len(s.masks) > 0 {
		filter["resourceMaskers"] = s.masks
	}
	w := s.spec
	bcs := map[string]any{
		"custom-storage-endpoints": strings.Join(s.endpoints, ","),
		"writerQueueLen":           w.WriterQueueLen,
		"podQueueNum":              w.PodQueueNum,
		"strategy":                 w.Strategy,
		"allowUnordered":           w.Strategy == "unordered",
		"handlerQueueLen":          w.HandlerQueueLen,
		"queueFull":                w.QueueFull,
		"queueFullTimeout":         w.QueueFullTimeout.String(),
		"storageTimeout":           w.StorageTimeout.String(),
		"drainTimeout":             w.DrainTimeout.String(),
	}
	if s.conditional && w.Profile != "legacy" {
		bcs["conditional"] = true
	}
	if s.caFile != "" {
		bcs["tls"] = map[string]any{"ca-file": s.caFile}
	}
	config := map[string]any{
		"default":          map[string]any{"clusterID": clusterID},
		"watch_resource":   map[string]any{"disable_netservice": true, "disable_crd": len(s.customs) == 0},
		"bcs":              bcs,
		"k8s":              map[string]any{"kubeconfig": s.kubeconfig},
		"filterConfigPath": filterPath,
		"address":          "127.0.0.1", "port": port, "metric_port": metricPort, "v": 1,
	}
	if sync := w.Synchronizer; sync.Disabled {
		config["synchronizer"] = map[string]any{"disabled": true}
	} else if sync.Period > 0 {
		config["synchronizer"] = map[string]any{"period": sync.Period.String()}
	}
	if w.Profile != "default" && w.Profile != "" {
		config["profile"] = w.Profile
	}
	if s.lease != "" {
		config["leaderElection"] = map[string]any{"enabled": true, "namespace": leaseNamespace, "name": s.lease}
	}
	if w.Command != "" {
		// The original's log files; ours logs to standard error and says so.
		config["logtostderr"], config["log_dir"], config["pid_dir"] = true, s.logs, filepath.Join(s.cell, "pid")
	}
	if err := writeJSON(filterPath, filter); err != nil {
		return "", err
	}
	path := filepath.Join(s.cell, s.file("watcher"))
	return path, writeJSON(path, config)
}

// file names a rendered file: the first watcher's by what it is, later ones' with
// their own name.
func (s watcherSetup) file(what string) string {
	if s.name == "" || s.name == "k8s-watch" {
		return what + ".json"
	}
	return what + strings.TrimPrefix(s.name, "k8s-watch") + ".json"
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

// freePorts asks the kernel for ports. They are given back before the watcher
// takes them, so another process may be faster; startWatcher then tries again.
func freePorts(n int) ([]int, error) {
	var ports []int
	var open []net.Listener
	defer func() {
		for _, l := range open {
			_ = l.Close()
		}
	}()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		open = append(open, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// portTries bounds the restarts after a port was taken in between.
const portTries = 3

// startWatcher starts the watcher and returns once its sockets answer.
func startWatcher(ctx context.Context, s watcherSetup) (*watcher, error) {
	for try := 1; ; try++ {
		w, err := s.startOnce(ctx)
		if err == nil || try == portTries || !strings.Contains(err.Error(), "address already in use") {
			return w, err
		}
	}
}

func (s watcherSetup) startOnce(ctx context.Context) (*watcher, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	config, err := s.renderConfig(ports[0], ports[1])
	if err != nil {
		return nil, err
	}
	argv := []string{s.bin, "-f", config}
	if s.spec.Command != "" {
		argv = nil
		for _, word := range splitCommand(s.spec.Command) {
			argv = append(argv, strings.ReplaceAll(word, "{config}", config))
		}
	}
	p, err := start(child{name: s.name, argv: argv, logs: s.logs, dir: s.cell})
	if err != nil {
		return nil, err
	}
	w := &watcher{
		process: p, argv: argv, own: s.spec.Command == "", http: newClient(), setup: s, ports: ports, instance: s.instance,
		health:  "http://127.0.0.1:" + strconv.Itoa(ports[0]),
		metrics: "http://127.0.0.1:" + strconv.Itoa(ports[1]) + "/metrics",
	}
	err = p.await(ctx, "the watcher's metrics endpoint", 10*time.Millisecond, startLimit, func(ctx context.Context) bool {
		_, err := w.scrape(ctx)
		return err == nil
	})
	if err != nil {
		p.kill()
		return nil, err
	}
	return w, nil
}

func (w *watcher) scrape(ctx context.Context) (history.Scrape, error) {
	return scrape(ctx, w.http, w.metrics)
}

// ready asks /readyz.
func (w *watcher) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := get(ctx, w.http, w.health+"/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return true
}

// splitCommand splits at spaces; single and double quotes keep words together.
func splitCommand(s string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
