package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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

// etcdVersion asks etcd's plain HTTP endpoint.
func etcdVersion(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/version", nil)
	if err != nil {
		return "", fmt.Errorf("ask etcd for its version: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask etcd for its version: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Server string `json:"etcdserver"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("ask etcd for its version: %w", err)
	}
	return answer.Server, nil
}
