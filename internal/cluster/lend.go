package cluster

import (
	"errors"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// lend lets child processes read a kubeconfig until remove is called or, by a watchdog, this process ends.
func lend(cfg *api.Config, temp string) (path string, remove func() error, err error) {
	dir, err := tempDir(temp)
	if err != nil {
		return "", nil, err
	}
	dog, err := startWatchdog(dirWatchdogScript, dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	remove = func() error { return errors.Join(os.RemoveAll(dir), dog.dismiss()) }
	path = filepath.Join(dir, "kubeconfig")
	if err := kubeapi.WriteConfig(path, cfg); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return path, remove, nil
}
