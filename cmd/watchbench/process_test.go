package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built builds all programs once, from what is on this machine, into a folder that go test
// removes.
var built = sync.OnceValues(func() (dir string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(filepath.Dir(self), "bin")
	cmd := exec.Command("go", "build", "-o", dir+"/", "../...")
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// watchbench is the path of the program, for tests with a control plane.
func watchbench(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "watchbench")
}
