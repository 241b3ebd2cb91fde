package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/assets"
)

func archive(t *testing.T, name, content string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := tw.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestExtractAcceptsOnlyThePinnedContent(t *testing.T) {
	const file, content = "package/dist/x.js", "draw()"
	good := archive(t, file, content)
	lock := assets.Lock{Name: "x", Version: "1", File: file,
		Integrity: assets.Integrity(good), FileIntegrity: assets.Integrity([]byte(content))}

	got, err := extract(good, lock)
	if err != nil || string(got) != content {
		t.Fatalf("extract = %q, %v", got, err)
	}

	tampered := archive(t, file, "steal()")
	if _, err := extract(tampered, lock); !errors.Is(err, errDigest) {
		t.Errorf("another archive: %v, want a digest error", err)
	}
	relocked := lock
	relocked.Integrity = assets.Integrity(tampered)
	if _, err := extract(tampered, relocked); !errors.Is(err, errDigest) {
		t.Errorf("another file in a matching archive: %v, want a digest error", err)
	}
	elsewhere := archive(t, "package/y.js", content)
	relocked.Integrity = assets.Integrity(elsewhere)
	if _, err := extract(elsewhere, relocked); err == nil || !strings.Contains(err.Error(), "has no "+file) {
		t.Errorf("archive without the file: %v", err)
	}
	relocked.Integrity = assets.Integrity([]byte("junk"))
	if _, err := extract([]byte("junk"), relocked); err == nil {
		t.Error("junk was accepted as an archive")
	}
}

func TestRunWithoutNpm(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := os.WriteFile(filepath.Join(dir, "echarts.lock.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var warn bytes.Buffer
	if err := run(t.Context(), dir, true, &warn); err != nil || !strings.Contains(warn.String(), "npm, which fetches echarts, is not installed") {
		t.Errorf("optional: %v, warned %q", err, warn.String())
	}
	if err := run(t.Context(), dir, false, &warn); err == nil {
		t.Error("required: no error")
	}
}

func TestRunRefusesAnotherFolder(t *testing.T) {
	if err := run(t.Context(), t.TempDir(), true, os.Stderr); err == nil || !strings.Contains(err.Error(), "not the folder of package assets") {
		t.Errorf("run: %v", err)
	}
}
