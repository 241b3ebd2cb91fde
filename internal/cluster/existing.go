package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

// ErrNotUp means that no earlier process has left a cluster running.
var ErrNotUp = errors.New("no cluster is up")

// Existing finds the cluster that an earlier process left running: an embedded one
// with Detach, a kind one with Keep. Its Down stops it, whoever started it; its
// Check reports whether it works. Without one the error is ErrNotUp.
func Existing(ctx context.Context, name string, opts Options) (*Cluster, error) {
	switch name {
	case Embedded:
		return existingEmbedded(opts.Embedded)
	case Kind:
		return existingKind(ctx, opts.Kind)
	}
	return nil, badinput.New(fmt.Sprintf("use %s or %s", Embedded, Kind), "cluster provider %q leaves no clusters running",
		name)
}

// Kept lists all of them.
func Kept(ctx context.Context, opts Options) (all []*Cluster, err error) {
	c, err := existingEmbedded(opts.Embedded)
	if err == nil {
		all = append(all, c)
	} else if !errors.Is(err, ErrNotUp) {
		return nil, err
	}
	prefix, err := keptDir(opts.Kind.Cache, Kind+"-")
	if err != nil {
		return nil, err
	}
	dirs, err := filepath.Glob(prefix + "*")
	for _, dir := range dirs {
		opts.Kind.Name = strings.TrimPrefix(dir, prefix)
		c, err := existingKind(ctx, opts.Kind)
		switch {
		case err == nil:
			all = append(all, c)
		case !errors.Is(err, ErrNotUp) && !badinput.Is(err): // without Docker none is up
			return nil, err
		}
	}
	return all, err
}

// String names the cluster, the process of its apiserver and since when it is up, as far as these are known.
func (c *Cluster) String() string {
	s := c.Provider + " cluster"
	if c.Name != "" {
		s += " " + c.Name
	}
	var known []string
	if pid := c.PIDs[apiserverParty]; pid != 0 {
		known = append(known, fmt.Sprintf("%s is process %d", apiserverParty, pid))
	}
	if !c.Started.IsZero() {
		known = append(known, "up since "+c.Started.Local().Format("2006-01-02 15:04:05"))
	}
	if len(known) > 0 {
		s += " (" + strings.Join(known, ", ") + ")"
	}
	return s
}

// EndedError is a process of the control plane that has ended by itself.
type EndedError struct {
	Party string
	PID   int
	Log   string // empty where it is not ours
}

func (e *EndedError) Error() string {
	s := fmt.Sprintf("%s (process %d) has ended", e.Party, e.PID)
	if e.Log != "" {
		s += ", log: " + e.Log
	}
	return s
}

// Ended returns an *EndedError if a process that this machine runs of the cluster is no longer there.
func (c *Cluster) Ended() error {
	for _, party := range slices.Sorted(maps.Keys(c.PIDs)) {
		if pid := c.PIDs[party]; !strings.Contains(commandLine(pid), party) {
			return &EndedError{party, pid, c.Logs[party]}
		}
	}
	return nil
}

// Borrow finds such a cluster for somebody who leaves it up: its Down does nothing. One
// that does not work is an error.
func Borrow(ctx context.Context, name string, opts Options) (*Cluster, error) {
	c, err := Existing(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	if err := c.Check(ctx); err != nil {
		return nil, &badinput.Error{What: "the cluster that is up does not respond",
			Remedy: "stop it with watchbench cluster down", Err: err}
	}
	c.down, c.ends = nil, false
	return c, nil
}

// Check returns nil if the cluster works: what this machine runs of it is there,
// and the apiserver calls itself ready.
func (c *Cluster) Check(ctx context.Context) error {
	if err := c.Ended(); err != nil {
		return err
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		return err
	}
	if _, err := get(ctx, cfg, "/readyz"); err != nil {
		return fmt.Errorf("ask kube-apiserver whether it is ready: %w", err)
	}
	return nil
}

// stateFile holds the exported fields of a Cluster.
const stateFile = "cluster.json"

func (c *Cluster) save() error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of the cluster: %w", err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, stateFile), data, 0o600); err != nil {
		return fmt.Errorf("save the state of the cluster: %w", err)
	}
	return nil
}

// keptDir is the directory of a cluster that outlives its process.
func keptDir(cache, name string) (string, error) {
	root, err := controlplane.Options{Cache: cache}.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "clusters", name), nil
}

// makeKeptDir makes the directory anew.
func makeKeptDir(cache, name string) (string, error) {
	dir, err := keptDir(cache, name)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("remove what is left of an earlier cluster: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of the cluster: %w", err)
	}
	return dir, nil
}

func existingEmbedded(opts EmbeddedOptions) (*Cluster, error) {
	dir, err := keptDir(opts.Cache, Embedded)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", Embedded, ErrNotUp)
	}
	c := &Cluster{Provider: Embedded, Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	switch {
	case err == nil:
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("read the state of the cluster in %s: %w", dir, err)
		}
	case !errors.Is(err, fs.ErrNotExist): // its start was interrupted: Check reports it, Down still works
		return nil, fmt.Errorf("read the state of the cluster: %w", err)
	}
	c.down = func(ctx context.Context) error { return removeRun(ctx, dir) }
	return c, nil
}

// detachedDir makes the directory of a detached embedded cluster, of which there
// is one at a time.
func detachedDir(ctx context.Context, opts EmbeddedOptions) (string, error) {
	old, err := existingEmbedded(opts)
	if err == nil {
		if partyPID(old.Dir, etcdParty) != 0 && partyPID(old.Dir, apiserverParty) != 0 {
			return "", badinput.New("use it, or end it first", "an embedded cluster is up already, its kubeconfig is %s",
				old.Kubeconfig)
		}
		err = old.Down(ctx)
	}
	if err != nil && !errors.Is(err, ErrNotUp) {
		return "", err
	}
	return makeKeptDir(opts.Cache, Embedded)
}

func existingKind(ctx context.Context, opts KindOptions) (*Cluster, error) {
	k, err := newKind(opts)
	if err != nil {
		return nil, err
	}
	r := &kindRun{opts: k.opts, provider: kindcluster.NewProvider(kindcluster.ProviderWithDocker())}
	if err := r.docker.check(ctx); err != nil {
		return nil, err
	}
	names, err := r.provider.List()
	if err != nil {
		return nil, fmt.Errorf("list the kind clusters: %w", kindError(err))
	}
	if !slices.Contains(names, r.opts.Name) {
		return nil, fmt.Errorf("%s, cluster name %s: %w", Kind, r.opts.Name, ErrNotUp)
	}
	if r.dir, err = keptDir(opts.Cache, Kind+"-"+r.opts.Name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the kubeconfig: %w", err)
	}
	r.created = true
	c := r.cluster()
	c.PIDs = r.docker.parties(ctx, r.opts.Name)
	c.Started = r.docker.started(ctx, r.opts.Name)
	// A cluster that does not even have a kubeconfig can still be ended.
	raw, err := r.provider.KubeConfig(r.opts.Name, false)
	if err != nil {
		return c, nil
	}
	restCfg, err := r.access(c, raw)
	if err != nil {
		return nil, err
	}
	if v, err := serverVersion(ctx, restCfg); err == nil {
		c.Version = v
	}
	return c, nil
}
