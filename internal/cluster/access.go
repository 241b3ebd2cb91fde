package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// probeTimeout bounds one request that only asks whether an apiserver is there.
const probeTimeout = 10 * time.Second

// get fetches one path from an apiserver and keeps no connection.
func get(ctx context.Context, cfg *rest.Config, path string) ([]byte, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = probeTimeout
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	defer hc.CloseIdleConnections()
	client, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, hc)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return client.RESTClient().Get().AbsPath(path).Do(ctx).Raw()
}

// serverVersion asks the apiserver for its version.
func serverVersion(ctx context.Context, cfg *rest.Config) (string, error) {
	data, err := get(ctx, cfg, "/version")
	if err != nil {
		return "", err
	}
	var info version.Info
	if err := json.Unmarshal(data, &info); err != nil {
		return "", fmt.Errorf("the answer to GET /version is not a Kubernetes version: %w", err)
	}
	if info.GitVersion == "" {
		return "", errors.New("the answer to GET /version has no gitVersion, so this is not a Kubernetes apiserver")
	}
	return info.GitVersion, nil
}
