package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestFetched: a download goes on at the pace that it had; without a length nothing is estimated.
func TestFetched(t *testing.T) {
	for size, want := range map[float64]string{3e6: "1 of 3 MB, about 20s left", -1: "1 MB"} {
		if got := fetched(10*time.Second, 1e6, size); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What is compiled says how long the rest takes; what two tools share counts once, what is cached not at all.
func TestForecast(t *testing.T) {
	line := func(stale, reason, name string, size int) string {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.go"), make([]byte, size-packageBytes), 0o644); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s|%s|x/%s|%s|x.go\n", stale, reason, name, dir)
	}
	shared := line("true", "stale dependency: y", "shared", 100_000)
	first := shared + line("false", "", "std", 50_000)
	second := shared + line("true", "build ID mismatch", "big", 300_000) + line("true", cached, "main", 50_000)
	synctest.Test(t, func(t *testing.T) {
		var f forecast
		f.add("first", first)
		f.add("second", second)
		if f.packages != 2 {
			t.Errorf("%d packages, want 2", f.packages)
		}
		f.begin()
		if got := f.left(); got != "no estimate yet" {
			t.Errorf("at the start: %s", got)
		}
		out := &compiler{forecast: &f, tool: "first"}
		for _, part := range []string{"x/sha", "red\nx/sh", "ared\nx.go:1:2: wrong\nno end"} {
			if _, err := out.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := out.output(), "x.go:1:2: wrong\nno end"; got != want {
			t.Errorf("output %q, want %q", got, want)
		}
		time.Sleep(10 * time.Second)
		// 300 of 100 kB, and the links of 150 and 450 kB, one of which costs as much as 6 and 18 kB to compile.
		if got, want := f.left(), "about 1m2s left"; got != want {
			t.Errorf("a package done: %s, want %s", got, want)
		}
		f.finish("first")
		time.Sleep(time.Hour) // between two builds
		f.begin()
		if got, want := f.left(), "about 57s left"; got != want {
			t.Errorf("a tool done: %s, want %s", got, want)
		}
		f.finish("second")
		f.begin()
		if got, want := f.left(), "about 0s left"; got != want {
			t.Errorf("all done: %s, want %s", got, want)
		}
	})
}
