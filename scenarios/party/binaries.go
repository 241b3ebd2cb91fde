package party

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/watchbench/watchbench/internal/badinput"
)

// Binaries are the programs a run starts.
type Binaries struct {
	Watcher, Storage, Churn string
	// Proxy is needed by scenarios with watch.faults only.
	Proxy string
	// Witness is needed by scenarios with cluster.controllers only.
	Witness string
}

// FindBinaries looks beside the running executable.
func FindBinaries() (Binaries, error) {
	self, err := os.Executable()
	if err != nil {
		return Binaries{}, fmt.Errorf("find the running executable: %w", err)
	}
	if target, err := filepath.EvalSymlinks(self); err == nil {
		self = target
	}
	return BinariesIn(filepath.Dir(self))
}

// BinariesIn looks in one folder.
func BinariesIn(dir string) (Binaries, error) {
	b := Binaries{
		Watcher: filepath.Join(dir, "k8s-watch"), Storage: filepath.Join(dir, "storagemock"), Churn: filepath.Join(dir, "churn"),
		Proxy: filepath.Join(dir, "watchproxy"), Witness: filepath.Join(dir, "witness"),
	}
	for _, path := range []string{b.Watcher, b.Storage, b.Churn} {
		if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return Binaries{}, &badinput.Error{What: path + " is not there or cannot be executed", Remedy: "run make build, which puts all programs into one folder"}
		}
	}
	return b, nil
}
