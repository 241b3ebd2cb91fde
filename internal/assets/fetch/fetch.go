package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/watchbench/watchbench/internal/assets"
)

// Bounds of what is read: the archive of 5.6.0 has 10.4 MB, the script 1.0 MB.
const (
	maxArchive = 64 << 20
	maxScript  = 8 << 20
	npmTimeout = 3 * time.Minute
)

// errDigest marks content that is not what the lock pins.
var errDigest = errors.New("digest differs from echarts.lock.json")

// run makes dir hold the pinned script. It does nothing when it is there already.
func run(ctx context.Context, dir string, optional bool, warn io.Writer) error {
	lock := assets.Pinned()
	target := filepath.Join(dir, assets.ScriptFile)
	if have, err := os.ReadFile(target); err == nil && assets.Integrity(have) == lock.FileIntegrity {
		return os.Chtimes(target, time.Time{}, time.Now()) // newer than the lock, so make is content
	}
	if _, err := os.Stat(filepath.Join(dir, "echarts.lock.json")); err != nil {
		return fmt.Errorf("%s is not the folder of package assets: %w", dir, err)
	}
	archive, err := pack(ctx, lock)
	if err == nil {
		var script []byte
		if script, err = extract(archive, lock); err == nil {
			return write(target, script)
		}
	}
	if optional && !errors.Is(err, errDigest) && ctx.Err() == nil {
		fmt.Fprintf(warn, "no offline charts: %v\nReports will load %s %s from the network; their tables do not need it.\n", err, lock.Name, lock.Version)
		return nil
	}
	return err
}

// pack lets npm download the package and returns the archive.
func pack(ctx context.Context, lock assets.Lock) ([]byte, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, fmt.Errorf("npm, which fetches %s, is not installed: %w", lock.Name, err)
	}
	tmp, err := os.MkdirTemp("", "fetch-echarts-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeout(ctx, npmTimeout)
	defer cancel()
	spec := lock.Name + "@" + lock.Version
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", tmp, spec)
	cmd.Dir = tmp // away from any package.json
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("npm pack %s: %s: %w", spec, bytes.TrimSpace(stderr.Bytes()), err)
	}
	f, err := os.Open(filepath.Join(tmp, fmt.Sprintf("%s-%s.tgz", lock.Name, lock.Version)))
	if err != nil {
		return nil, fmt.Errorf("npm pack %s: %w", spec, err)
	}
	defer f.Close()
	return readBounded(f, maxArchive)
}

// extract checks the archive and returns the pinned file in it.
func extract(archive []byte, lock assets.Lock) ([]byte, error) {
	if got := assets.Integrity(archive); got != lock.Integrity {
		return nil, fmt.Errorf("archive of %s %s has %s: %w", lock.Name, lock.Version, got, errDigest)
	}
	gz, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", lock.Name, err)
	}
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("archive of %s %s has no %s", lock.Name, lock.Version, lock.File)
		}
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", lock.Name, err)
		}
		if h.Name != lock.File {
			continue
		}
		script, err := readBounded(tr, maxScript)
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", lock.File, err)
		}
		if got := assets.Integrity(script); got != lock.FileIntegrity {
			return nil, fmt.Errorf("%s has %s: %w", lock.File, got, errDigest)
		}
		return script, nil
	}
}

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return data, err
}

// write replaces target in one step, so that a build never embeds half a file.
func write(target string, data []byte) error {
	tmp := filepath.Join(filepath.Dir(target), ".fetch.part") // a name that no build embeds
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	if err := os.Rename(tmp, target); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}
