package party

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

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
