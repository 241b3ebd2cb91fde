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

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

// ErrNotUp means that no earlier process has left a cluster running.
var ErrNotUp = errors.New("no cluster is up")

// Existing finds the embedded cluster that an earlier process left running with Detach, or returns ErrNotUp.
func Existing(opts EmbeddedOptions) (*Cluster, error) {
	dir, err := keptDir(opts)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotUp
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

// String names the cluster, the process of its apiserver and since when it is up, as far as these are known.
func (c *Cluster) String() string {
	var known []string
	if pid := c.PIDs[apiserverParty]; pid != 0 {
		known = append(known, fmt.Sprintf("%s is process %d", apiserverParty, pid))
	}
	if !c.Started.IsZero() {
		known = append(known, "up since "+c.Started.Local().Format("2006-01-02 15:04:05"))
	}
	if len(known) == 0 {
		return c.Provider + " cluster"
	}
	return c.Provider + " cluster (" + strings.Join(known, ", ") + ")"
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

// Borrow finds such a cluster for somebody who leaves it up: its Down does nothing. One that does not work is an error.
func Borrow(ctx context.Context, opts EmbeddedOptions) (*Cluster, error) {
	c, err := Existing(opts)
	if err != nil {
		return nil, err
	}
	if err := c.Check(ctx); err != nil {
		return nil, fmt.Errorf("the cluster that is up does not respond, stop it with watchbench cluster down: %w", err)
	}
	c.down, c.ends = nil, false
	return c, nil
}

// Check returns nil if the cluster works: what this machine runs of it is there, and the apiserver calls itself ready.
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

func keptDir(opts EmbeddedOptions) (string, error) {
	root, err := controlplane.Options{Cache: opts.Cache}.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "clusters", Embedded), nil
}

// detachedDir makes the directory of a detached embedded cluster, of which there is one at a time.
func detachedDir(ctx context.Context, opts EmbeddedOptions) (string, error) {
	old, err := Existing(opts)
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
	dir, err := keptDir(opts)
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return "", fmt.Errorf("make the directory of the cluster: %w", err)
	}
	return dir, nil
}
