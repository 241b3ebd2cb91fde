package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// probeTimeout bounds one request that only asks whether an apiserver is there.
const probeTimeout = 10 * time.Second

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

// waitFor returns when the apiserver has an object.
func waitFor(ctx context.Context, cfg *rest.Config, path string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, healthEvery/2, true, func(ctx context.Context) (bool, error) {
		_, last = get(ctx, cfg, path)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w: %w", path, context.Cause(ctx), last)
	}
	return nil
}

func etcdVersion(ctx context.Context, url string) (string, error) {
	var answer struct {
		Server string `json:"etcdserver"`
	}
	data, err := ask(ctx, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: probeTimeout},
		url+"/version")
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	if err != nil {
		return "", fmt.Errorf("ask etcd for its version: %w", err)
	}
	return answer.Server, nil
}

func ask(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return io.ReadAll(resp.Body)
}
