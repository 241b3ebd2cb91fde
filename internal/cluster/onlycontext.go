package cluster

import "github.com/watchbench/watchbench/internal/badinput"

// OnlyContext is the context of a kubeconfig that has no other, for those who only read
// from the cluster. path is as in KubeconfigOptions.
func OnlyContext(path string) (string, error) {
	path, err := kubeconfigPath(path)
	if err != nil {
		return "", err
	}
	cfg, err := loadKubeconfig(path)
	if err != nil {
		return "", err
	}
	if len(cfg.Contexts) != 1 {
		return "", badinput.New("name one with --context: "+contextList(cfg), "kubeconfig %s has %d contexts", path,
			len(cfg.Contexts))
	}
	for name := range cfg.Contexts {
		return name, nil
	}
	return "", nil
}
