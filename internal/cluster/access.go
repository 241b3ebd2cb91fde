package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes a kubeconfig that only its owner can read.
func writeKubeconfig(path string, cfg *api.Config) error {
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("encode the kubeconfig: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// kubeconfigFor describes access by client certificate as a kubeconfig whose only
// context has the given name.
func kubeconfigFor(name string, cfg *rest.Config) *api.Config {
	out := api.NewConfig()
	out.Clusters[name] = &api.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	out.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	out.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	return out
}

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
