package controlplane

import (
	"context"
	"os"
	"testing"
)

// TestBuild builds for real; it is what `make controlplane` does, so it only runs
// when asked.
func TestBuild(t *testing.T) {
	if os.Getenv("WATCHBENCH_TEST_BUILD") == "" {
		t.Skip("builds the control plane for minutes; set WATCHBENCH_TEST_BUILD=1")
	}
	dir, err := Ensure(context.Background(), Options{Progress: func(s string) { println(s) }}, Etcd, APIServer)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(dir)
}
