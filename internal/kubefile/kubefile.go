// Package kubefile reads the kubeconfig that a command line names.
package kubefile

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Read gives the access that the file at path describes for a context, or for its
// current one when contextName is empty. Errors name the flag --kubeconfig.
func Read(path, contextName string) (*rest.Config, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path},
		&clientcmd.ConfigOverrides{CurrentContext: contextName},
	).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("--kubeconfig %s: no cluster in it: is it a kubeconfig, and is its current-context (or --context) set?", path)
	case err != nil:
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	return cfg, nil
}
