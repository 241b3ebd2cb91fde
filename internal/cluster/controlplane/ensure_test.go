package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if err := os.Setenv(EnvIndex, NoDownload); err != nil { // but where a test names an index
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// fakeGo puts a "go" in front of the PATH that lists two packages, notes each build in the returned file
// and then does what the script says. The script finds the file to make in $out.
// Compiling Kubernetes takes minutes; what is tested here is everything around it.
func fakeGo(t *testing.T, script string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	program := fmt.Sprintf(`#!/bin/sh
[ "$1" = list ] && printf 'true|stale dependency|x/%%s|/nowhere/%%s|x.go\n' a a b b && exit 0
echo "$@" >>%s
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
%s
`, calls, script)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return calls
}

const succeed = `echo '#!/bin/sh' >"$out"; chmod 755 "$out"`

func callCount(t *testing.T, calls string) int {
	t.Helper()
	data, err := os.ReadFile(calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

func assertNoWork(t *testing.T, opts Options) {
	t.Helper()
	dir, err := opts.Dir()
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, workPrefix+"*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left of the build: %v, %v", left, err)
	}
}

func TestEnsureBuildsOnce(t *testing.T) {
	calls := fakeGo(t, "sleep 0.3; "+succeed)
	cache := t.TempDir()
	var mu sync.Mutex
	var lines []string
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			dir, err := Ensure(context.Background(), Options{Cache: cache, Progress: func(line string) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, line)
			}}, Etcd, APIServer)
			if err != nil {
				t.Error(err)
				return
			}
			for _, name := range []string{Etcd, APIServer} {
				if !Executable(filepath.Join(dir, name)) {
					t.Errorf("no %s in %s", name, dir)
				}
			}
		})
	}
	wg.Wait()
	if n := callCount(t, calls); n != 2 {
		t.Errorf("two binaries took %d builds", n)
	}
	said := strings.Join(lines, "\n")
	for _, want := range []string{
		"building etcd " + mustFind(Etcd).version() + ", kube-apiserver " + KubernetesVersion() + " once",
		"2 packages to compile",
		"built etcd " + mustFind(Etcd).version() + " in ",
		"waiting for another process",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("progress does not say %q:\n%s", want, said)
		}
	}
	assertNoWork(t, Options{Cache: cache})
	data, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-mod=readonly", "-trimpath", "-X k8s.io/component-base/version.gitVersion=" + KubernetesVersion()} {
		if !strings.Contains(string(data), want) {
			t.Errorf("go was called without %s:\n%s", want, data)
		}
	}
}

func TestEnsureRebuildsWhatIsNotWhole(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(dir string) error
	}{
		{"binary gone", func(dir string) error { return os.Remove(filepath.Join(dir, Etcd)) }},
		{"not executable", func(dir string) error { return os.Chmod(filepath.Join(dir, Etcd), 0o644) }},
		{"stamp gone", func(dir string) error { return os.Remove(filepath.Join(dir, "."+Etcd+".stamp")) }},
		{"another pin", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "."+Etcd+".stamp"), []byte("go.etcd.io/etcd/server/v3@v3.0.0 00\n"), 0o644)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := fakeGo(t, succeed)
			opts := Options{Cache: t.TempDir()}
			dir, err := Ensure(t.Context(), opts, Etcd)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Ensure(t.Context(), opts, Etcd); err != nil || callCount(t, calls) != 1 {
				t.Fatalf("the second time: %v, %d builds", err, callCount(t, calls))
			}
			if err := tc.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Ensure(t.Context(), opts, Etcd); err != nil || callCount(t, calls) != 2 {
				t.Errorf("when spoilt: %v, %d builds, want 2", err, callCount(t, calls))
			}
		})
	}
}

func TestEnsureSweepsCutOffBuilds(t *testing.T) {
	fakeGo(t, succeed)
	opts := Options{Cache: t.TempDir()}
	dir, err := opts.Dir()
	if err != nil {
		t.Fatal(err)
	}
	// As a killed build leaves it: a half-written binary under a temporary name.
	half := filepath.Join(dir, workPrefix+"etcd-123", Etcd)
	if err := os.MkdirAll(filepath.Dir(half), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(half, []byte("half"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(t.Context(), opts, Etcd); err != nil {
		t.Fatal(err)
	}
	assertNoWork(t, opts)
}

func TestEnsureFails(t *testing.T) {
	t.Run("no Go", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		opts := Options{Cache: t.TempDir()}
		_, err := Ensure(t.Context(), opts, Etcd)
		if err == nil || !strings.Contains(err.Error(), "install Go") || !strings.Contains(err.Error(), "KUBEBUILDER_ASSETS") {
			t.Errorf("got error %v, want one that says what to install or set", err)
		}
		assertNoWork(t, opts)
	})
	t.Run("compiler error", func(t *testing.T) {
		fakeGo(t, `echo "half" >"$out"; echo "x.go:1:1: it is wrong" >&2; exit 1`)
		opts := Options{Cache: t.TempDir()}
		_, err := Ensure(t.Context(), opts, Etcd)
		if err == nil || !strings.Contains(err.Error(), "x.go:1:1: it is wrong") {
			t.Errorf("got error %v, want one with the compiler's message", err)
		}
		assertNoWork(t, opts)
		dir, _ := opts.Dir()
		if Executable(filepath.Join(dir, Etcd)) {
			t.Error("a failed build left a binary")
		}
	})
	t.Run("cache is a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Ensure(t.Context(), Options{Cache: file}, Etcd); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("got error %v, want one that names %s", err, file)
		}
	})
}

// An interrupted build ends with everything that it started.
func TestEnsureCancelled(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	fakeGo(t, fmt.Sprintf(`sleep 60 & echo $! >%s; wait`, pidFile))
	opts := Options{Cache: t.TempDir()}
	reason := errors.New("interrupted by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for range 100 {
			if data, err := os.ReadFile(pidFile); err == nil && len(data) > 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		cancel(reason)
	}()
	started := time.Now()
	if _, err := Ensure(ctx, opts, Etcd); !errors.Is(err, reason) {
		t.Errorf("got error %v, want the reason of the cancellation", err)
	}
	if took := time.Since(started); took > 4*time.Second {
		t.Errorf("took %s to end", took)
	}
	assertNoWork(t, opts)
	pid, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	// Wherever there is no /proc this checks nothing.
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		cmdline, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline")
		if err != nil || len(cmdline) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the build's child %s still runs", pid)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	long := strings.Repeat("some message\n", 3*tailLines) + "# k8s.io/api/core/v1\nx.go:1:2: wrong\n"
	got := tail(long)
	if !strings.HasSuffix(got, "# k8s.io/api/core/v1\nx.go:1:2: wrong") {
		t.Errorf("tail %q", got)
	}
	if n := len(strings.Split(got, "\n")); n != tailLines {
		t.Errorf("tail has %d lines, want %d", n, tailLines)
	}
}

func TestBuildEnvDropsWhatChangesTheResult(t *testing.T) {
	got := buildEnv([]string{"PATH=/bin", "GOFLAGS=-mod=vendor", "GOOS=plan9", "GOPROXY=https://proxy.example", "CGO_ENABLED=1", "GOWORK=/x"})
	want := []string{"PATH=/bin", "GOPROXY=https://proxy.example", "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %q, want %q", got, want)
	}
}
