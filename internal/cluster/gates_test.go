package cluster

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestGates: kube-apiserver gets the feature gates, and one that it does not know is bad input that leaves no logs.
func TestGates(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	logs := filepath.Join(t.TempDir(), "run", "logs")
	up := func(gates ...string) (*Cluster, error) {
		p, err := New(Embedded, Options{Embedded: EmbeddedOptions{Gates: gates, Logs: logs}})
		if err != nil {
			t.Fatal(err)
		}
		return p.Up(t.Context(), nil)
	}
	c, err := up("ShardedListAndWatch", "WatchList")
	if err != nil {
		t.Fatal(err)
	}
	if flags := c.Flags[apiserverParty]; !slices.Contains(flags, "--feature-gates=ShardedListAndWatch=true,WatchList=true") {
		t.Errorf("flags: %q", flags)
	}
	if err := c.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(logs, "etcd.log")); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(logs); err != nil {
		t.Fatal(err)
	}
	_, err = up("NoSuchGate")
	wantInput(t, err, "NoSuchGate")
	if _, err := os.Stat(logs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the logs of a start that was refused: %v, want that they are gone", err)
	}
}
