package cluster

import (
	"slices"
	"testing"
)

// TestGates: kube-apiserver gets the feature gates, and one that it does not know is bad input.
func TestGates(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	up := func(gates ...string) (*Cluster, error) {
		p, err := New(Embedded, Options{Embedded: EmbeddedOptions{Gates: gates}})
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
	_, err = up("NoSuchGate")
	wantInput(t, err, "NoSuchGate")
}
