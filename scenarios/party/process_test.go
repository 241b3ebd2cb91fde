package party

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// play starts the test binary in a role.
func play(t *testing.T, role string, c child) *Process {
	t.Helper()
	t.Setenv(actAs, role)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.name, c.argv, c.logs = role, []string{self}, t.TempDir()
	p, err := start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestEarlyEndIsExplained(t *testing.T) {
	p := play(t, "fails", child{})
	err := p.Await(t.Context(), "readiness", time.Millisecond, 10*time.Second, func(context.Context) bool { return false })
	want := "fails ended: exit status 2: listen on 127.0.0.1:1: permission denied (log: "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s…", err, want)
	}
	if p.ExitCode() != 2 {
		t.Errorf("exit code %d", p.ExitCode())
	}
}

// TestKillTakesAll: of a command that has ended, what it left behind ends too.
func TestKillTakesAll(t *testing.T) {
	dir := t.TempDir()
	p, err := start(child{name: "leaver", argv: []string{"sh", "-c", "sleep 60 & echo $! > pid"}, dir: dir, logs: dir})
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	p.Kill()
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline")
	left := []byte("?")
	for range 200 {
		if left, _ = os.ReadFile(path); len(left) == 0 { // as of a zombie
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s is left", left)
}

func TestStop(t *testing.T) {
	for _, tc := range []struct {
		role  string
		grace time.Duration
		code  int
	}{{"obeys", 10 * time.Second, 0}, {"hangs", 50 * time.Millisecond, -1}} {
		p := play(t, tc.role, child{stdin: true, says: true})
		if err := p.reach(t.Context(), PhaseReady, 10*time.Second, nil); err != nil {
			t.Fatal(err)
		}
		p.Stop(tc.grace)
		if !p.Ended() || p.ExitCode() != tc.code {
			t.Errorf("%s: ended %v with %d, want %d", tc.role, p.Ended(), p.ExitCode(), tc.code)
		}
		if err := p.Tell("x"); err == nil {
			t.Errorf("%s: a child that is gone was told something", tc.role)
		}
	}
}

func TestAwaitEndsWithTheContextAndTheLimit(t *testing.T) {
	p := play(t, "hangs", child{})
	never := func(context.Context) bool { return false }
	var late *TimeoutError
	if err := p.Await(t.Context(), "the impossible", time.Millisecond, 20*time.Millisecond, never); !errors.As(err, &late) ||
		!strings.HasPrefix(err.Error(), "the impossible did not happen within 20ms; a process may hang, or the machine be overloaded (log: ") {
		t.Errorf("limit: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Await(ctx, "the impossible", time.Millisecond, time.Minute, never); !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
}

func TestGeneratorProtocol(t *testing.T) {
	g := &Generator{Parts: []*Process{play(t, "loads", child{stdin: true, says: true})}, Runs: make([]history.GeneratorRun, 1)}
	if err := g.Reached(t.Context(), PhaseReady, 10*time.Second, nil); err != nil {
		t.Fatal(err)
	}
	if err := g.Tell("go"); err != nil {
		t.Fatal(err)
	}
	if err := g.Reached(t.Context(), PhaseLoaded, 10*time.Second, nil); err != nil {
		t.Fatal(err)
	}
	if l := g.Said(PhaseLoad); l.Planned != 40 || l.Fraction != 0.5 {
		t.Errorf("load: %+v", l)
	}
	if l := g.Said(PhaseLoaded); l.Finished != 77 {
		t.Errorf("loaded: %+v", l)
	}
	if err := g.End(t.Context()); err != nil {
		t.Error(err)
	}
	if err := g.End(t.Context()); err != nil {
		t.Errorf("a second end: %v", err)
	}
}

func TestGeneratorTellsItsError(t *testing.T) {
	g := &Generator{Parts: []*Process{play(t, "breaks", child{stdin: true, says: true})}, Runs: make([]history.GeneratorRun, 1)}
	err := g.Reached(t.Context(), PhaseReady, 10*time.Second, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "the generator failed: the namespace is terminating (log: ") {
		t.Errorf("got %v", err)
	}
}

func TestBinaries(t *testing.T) {
	dir := t.TempDir()
	_, err := BinariesIn(dir)
	if err == nil || !badinput.Is(err) || !strings.HasSuffix(err.Error(), "k8s-watch is not there or cannot be executed; run make build, which puts all programs into one folder") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"k8s-watch", "storagemock", "watchbench"} {
		if err := os.WriteFile(dir+"/"+name, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := BinariesIn(dir); err != nil {
		t.Error(err)
	}
}

func TestWatcherIsGivenOtherPorts(t *testing.T) {
	t.Setenv(actAs, "port taken")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err = StartWatcher(t.Context(), WatcherSetup{Bin: self, Cell: dir, Logs: dir, Spec: spec.Default().Watcher, Kinds: []string{"Pod"}})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
	if tries, err := os.ReadFile(dir + "/tries"); err != nil || len(tries) != portTries {
		t.Errorf("%d tries, want %d: %v", len(tries), portTries, err)
	}
}

// TestOtherWatcherNeedsNoMetrics: it is started in the user's own folder, and what it does not serve is not waited for.
func TestOtherWatcherNeedsNoMetrics(t *testing.T) {
	t.Setenv(actAs, "silent")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(self))
	dir, w := t.TempDir(), spec.Default().Watcher
	w.Command = "./" + filepath.Base(self) + " {config}"
	got, err := StartWatcher(t.Context(), WatcherSetup{Bin: self, Cell: dir, Logs: dir, Spec: w, Kinds: []string{"Pod"}})
	if err != nil {
		t.Fatal(err)
	}
	got.Kill()
}

// TestStorageThatDoesNotComeBack is an error, and the storage can still be asked whether it has ended.
func TestStorageThatDoesNotComeBack(t *testing.T) {
	t.Setenv(actAs, "starts once")
	t.Setenv("BORN", t.TempDir()+"/born")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m, err := StartStorage(t.Context(), StorageSetup{Bin: self, Logs: dir, Cell: dir, Spec: spec.Default().Storage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Kill)
	if err := m.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "start storage again: storagemock-2 ended: exit status 1: listen tcp") {
		t.Errorf("got %v", err)
	}
	if !m.Ended() {
		t.Error("it did not end")
	}
}
