package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// programDigests are the digests of the programs that the cells start, and of the files that commands of other watchers
// name.
func programDigests(bins party.Binaries, cells []spec.Cell) (map[string]string, error) {
	paths := map[string]string{}
	if self, err := os.Executable(); err == nil {
		paths["watchbench"] = self
	}
	for _, path := range []string{bins.Watcher, bins.Storage} {
		if path != "" {
			paths[filepath.Base(path)] = path
		}
	}
	for _, c := range cells {
		if c.Scenario.Load.Driver == spec.DriverK6 {
			paths[filepath.Base(bins.K6)] = bins.K6
		}
		w := c.Scenario.Watcher
		if w.Command == "" {
			continue
		}
		argv, err := bins.Command(w, "{config}")
		if err != nil {
			continue // as its cell will say
		}
		for i, word := range w.Words() {
			paths[word] = argv[i]
		}
	}
	digests := map[string]string{}
	for name, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		digest, err := digestOf(path)
		if err != nil {
			return nil, err
		}
		digests[name] = digest
	}
	return digests, nil
}

// digestOf is the SHA-256 of a file.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("digest of a program: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("digest of %s: %w", path, err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
