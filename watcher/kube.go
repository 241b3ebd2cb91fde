package watcher

import (
	"fmt"
	"log/slog"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/watcher/config"
)

// restConfig says how to reach the apiserver: the kubeconfig if one is named,
// else the master URL, else the cluster the process runs in. It has no client
// rate limit: a watcher lists once per kind and then only watches.
func restConfig(k config.K8s, log *slog.Logger) (*rest.Config, error) {
	cfg, err := clusterAccess(k)
	if err != nil {
		return nil, err
	}
	if err := followToken(cfg, log); err != nil {
		return nil, err
	}
	cfg.QPS = -1
	cfg.UserAgent = "k8s-watch"
	return cfg, nil
}

func clusterAccess(k config.K8s) (*rest.Config, error) {
	switch {
	case k.Kubeconfig != "":
		cfg, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("k8s.kubeconfig: want a kubeconfig file: %w", err)
		}
		return cfg, nil
	case k.Master != "":
		cfg, err := clientcmd.BuildConfigFromFlags(k.Master, "")
		if err != nil {
			return nil, fmt.Errorf("k8s.master: %w", err)
		}
		if t := k.TLS; t.CAFile != "" || t.CertFile != "" || t.KeyFile != "" {
			if err := half("k8s.tls", t); err != nil {
				return nil, err
			}
			cfg.TLSClientConfig = rest.TLSClientConfig{CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile}
		}
		return cfg, nil
	default:
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("neither k8s.kubeconfig nor k8s.master is set, and this does not run in a cluster: %w", err)
		}
		return cfg, nil
	}
}
