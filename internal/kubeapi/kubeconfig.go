package kubeapi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// ReadConfig gives the access that the file at path describes for a context, or for its
// current one when contextName is empty. Errors name the flag --kubeconfig.
func ReadConfig(path, contextName string) (*rest.Config, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path},
		&clientcmd.ConfigOverrides{CurrentContext: contextName},
	).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("--kubeconfig %s: no cluster in it: is it a kubeconfig, and is its current-context (or "+
			"--context) set?", path)
	case err != nil:
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	return cfg, nil
}

// ConfigFor describes access as a kubeconfig whose only context has the given name: the
// server, its CA and a client certificate, where cfg has them.
func ConfigFor(name string, cfg *rest.Config) *api.Config {
	out := api.NewConfig()
	out.Clusters[name] = &api.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	out.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	out.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	return out
}

// WriteConfig writes a kubeconfig that only its owner can read.
func WriteConfig(path string, cfg *api.Config) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // it would keep its mode
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
