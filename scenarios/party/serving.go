package party

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/kubefile"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Serving is what the watcher's resource watcher is started with.
type Serving struct {
	Kubeconfig string   // is written here, for those who read from it
	Webhooks   []string // URLs, a subscription to all Pods for each
}

// resourceWatcher is the section of the watcher's configuration.
func (s *Serving) resourceWatcher(port int) map[string]any {
	section := map[string]any{"enabled": true, "address": "127.0.0.1", "port": port, "pinned": []string{"v1/pods"}}
	var subscriptions []map[string]any
	for i, url := range s.Webhooks {
		subscriptions = append(subscriptions, map[string]any{
			"name": fmt.Sprintf("receiver-%d", i+1), "resource": "v1/pods",
			"target": map[string]any{"webhook": map[string]any{"url": url, "allow": []string{"127.0.0.0/8"}}},
		})
	}
	if subscriptions != nil {
		section["subscriptions"] = subscriptions
	}
	return section
}

// write makes the kubeconfig that leads to the port.
func (s *Serving) write(port int) error {
	return kubefile.Write(s.Kubeconfig, kubefile.For("k8s-watch", &rest.Config{Host: fmt.Sprintf("http://127.0.0.1:%d", port)}))
}

// counted are the series of an apiserver that say what readers cost it.
var counted = []string{"apiserver_request_total{", "apiserver_longrunning_requests{", "apiserver_watch_events_total{"}

// Reads are the apiserver's counters of what was read of Pods.
func (a *APIServer) Reads(ctx context.Context) (*history.APIReads, error) {
	data, err := a.Send(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(data)) {
		for _, c := range counted {
			if strings.HasPrefix(line, c) {
				kept.WriteString(line)
			}
		}
	}
	s, err := history.ParseScrape(strings.NewReader(kept.String()))
	if err != nil {
		return nil, fmt.Errorf("read the apiserver's metrics: %w", err)
	}
	value := func(name string, labels ...string) float64 {
		if v := s.Sum(name, labels...); v != nil {
			return *v
		}
		return 0
	}
	return &history.APIReads{
		Gets:    value("apiserver_request_total", "verb", "GET", "resource", "pods"),
		Lists:   value("apiserver_request_total", "verb", "LIST", "resource", "pods"),
		Watches: value("apiserver_longrunning_requests", "verb", "WATCH", "resource", "pods"),
		Events:  value("apiserver_watch_events_total", "kind", "Pod") + value("apiserver_watch_events_total", "resource", "pods"),
	}, nil
}
