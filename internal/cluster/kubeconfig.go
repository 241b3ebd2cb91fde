package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/owned"
	"github.com/watchbench/watchbench/internal/kubeapi"
)

// KubeconfigOptions says which existing cluster to use.
type KubeconfigOptions struct {
	// Path of the kubeconfig file. Empty: the file that KUBECONFIG names, if it is one, else ~/.kube/config.
	Path string
	// Context must be given: the current one is whatever was used last, and must not be hit by accident.
	Context string
	// Temp is where the run's copy of the kubeconfig is made if it cannot be kept in memory. Empty: the system's.
	Temp string
}

type kubeconfig struct {
	opts KubeconfigOptions
	cfg  *api.Config
}

var _ Provider = (*kubeconfig)(nil)

func newKubeconfig(opts KubeconfigOptions) (*kubeconfig, error) {
	path, err := kubeconfigPath(opts.Path)
	if err != nil {
		return nil, err
	}
	opts.Path = path
	cfg, err := loadKubeconfig(opts.Path)
	if err != nil {
		return nil, err
	}
	if opts.Context == "" {
		return nil, badinput.New("name one with --context: "+contextList(cfg),
			"no context of kubeconfig %s was chosen, and the current one is never taken by itself", opts.Path)
	}
	return &kubeconfig{opts, cfg}, nil
}

// kubeconfigPath applies kubectl's defaults, but for merging several files.
func kubeconfigPath(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	if env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); env != "" {
		if list := filepath.SplitList(env); len(list) > 1 {
			return "", badinput.New("name one of them with --kubeconfig", "KUBECONFIG lists %d files", len(list))
		}
		return env, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &badinput.Error{What: "find a kubeconfig", Remedy: "name it with --kubeconfig", Err: err}
	}
	return filepath.Join(home, ".kube", "config"), nil
}

func loadKubeconfig(path string) (*api.Config, error) {
	cfg, err := clientcmd.LoadFromFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, badinput.New("name an existing file with --kubeconfig", "kubeconfig %s does not exist", path)
	case err != nil:
		return nil, &badinput.Error{What: "read kubeconfig " + path, Remedy: "name a kubeconfig file with --kubeconfig",
			Err: err}
	case len(cfg.Contexts) == 0:
		return nil, badinput.New("name a kubeconfig file with --kubeconfig",
			"%s has no contexts, so it is not a usable kubeconfig", path)
	}
	return cfg, nil
}

func contextList(cfg *api.Config) string {
	return "the file has " + strings.Join(slices.Sorted(maps.Keys(cfg.Contexts)), ", ")
}

// Up implements Provider. It changes nothing in the cluster.
func (k *kubeconfig) Up(ctx context.Context, progress func(string)) (*Cluster, error) {
	say := reporter(progress)
	if err := k.minify(k.cfg); err != nil {
		return nil, err
	}
	path, remove, err := lend(k.cfg, k.opts.Temp)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Provider:   Kubeconfig,
		Kubeconfig: path,
		down: func(context.Context) error {
			if err := remove(); err != nil {
				return fmt.Errorf("remove the copy of the kubeconfig: %w", err)
			}
			return nil
		},
	}
	if err := k.connect(ctx, c); err != nil {
		return nil, errors.Join(err, c.Down(ctx))
	}
	say("using kube-apiserver %s of context %s", c.Version, k.opts.Context)
	return c, nil
}

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

// minify reduces the configuration to the chosen context, with the content of the files it names.
func (k *kubeconfig) minify(cfg *api.Config) error {
	if cfg.Contexts[k.opts.Context] == nil {
		return badinput.New(contextList(cfg), "kubeconfig %s has no context %q", k.opts.Path, k.opts.Context)
	}
	cfg.CurrentContext = k.opts.Context
	for _, step := range []func(*api.Config) error{api.MinifyConfig, clientcmd.ResolveLocalPaths, api.FlattenConfig} {
		if err := step(cfg); err != nil {
			return k.wrong("fix the file or choose another context", err)
		}
	}
	if len(cfg.Clusters) == 0 { // in a pod, that would mean the pod's own cluster
		return k.wrong("fix the file or choose another context", errors.New("it names no cluster"))
	}
	for _, c := range cfg.Clusters {
		c.Server = strings.TrimRight(c.Server, "/") // paths of requests begin with one
	}
	return nil
}

func (k *kubeconfig) wrong(remedy string, err error) error {
	return &badinput.Error{What: fmt.Sprintf("kubeconfig %s, context %q", k.opts.Path, k.opts.Context), Remedy: remedy,
		Err: err}
}

// connect asks the apiserver for its version, and whether the cluster has controllers.
func (k *kubeconfig) connect(ctx context.Context, c *Cluster) error {
	cfg, err := c.RESTConfig()
	if err != nil {
		return k.wrong("fix the file or choose another context", err)
	}
	c.Version, err = serverVersion(ctx, cfg)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return fmt.Errorf("reach the apiserver of context %s: %w", k.opts.Context, context.Cause(ctx))
	case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
		return k.wrong("renew them, or choose another context with --context",
			fmt.Errorf("the apiserver %s does not accept the credentials: %w", cfg.Host, err))
	default:
		return k.wrong("see that it runs and that its address is right, or choose another context with --context",
			fmt.Errorf("the apiserver %s cannot be reached: %w", cfg.Host, err))
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	c.Controllers, err = owned.HasControllers(ctx, client)
	if apierrors.IsForbidden(err) { // a recording's account may see little, of a real cluster
		c.Controllers, err = true, nil
	}
	return err
}

// OnlyContext is the context of a kubeconfig that has no other, for those who only read from the cluster.
func OnlyContext(path string) (string, error) {
	path, err := kubeconfigPath(path)
	if err != nil {
		return "", err
	}
	cfg, err := loadKubeconfig(path)
	if err != nil {
		return "", err
	}
	names := slices.Collect(maps.Keys(cfg.Contexts))
	if len(names) != 1 {
		return "", badinput.New("name one with --context: "+contextList(cfg), "kubeconfig %s has %d contexts", path,
			len(names))
	}
	return names[0], nil
}
