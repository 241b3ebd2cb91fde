package procstat

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCoresFollowTheTopology(t *testing.T) {
	sys := t.TempDir()
	for cpu, siblings := range map[int]string{0: "0,4", 4: "0,4", 1: "1,5", 5: "1,5"} {
		dir := filepath.Join(sys, fmt.Sprintf("cpu%d", cpu), "topology")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "thread_siblings_list"), []byte(siblings+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// CPU 1's sibling may not be used; the kernel tells nothing of 2 and 3.
	if diff := cmp.Diff([][]int{{0, 4}, {1}, {2}, {3}}, cores(sys, []int{0, 1, 2, 3, 4})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

var allowedLine = regexp.MustCompile(`(?m)^Cpus_allowed_list:\s*(\S+)$`)

// allowed is what a process finds in its own status, and what a Go program would.
func allowed(t *testing.T, start func(*exec.Cmd) error) string {
	t.Helper()
	cmd := exec.Command("cat", "/proc/self/status")
	var out strings.Builder
	cmd.Stdout = &out
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	m := allowedLine.FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("no list in %s", out.String())
	}
	return m[1]
}

// A process gets the CPUs it is started with; the thread that started it, and what
// others start, have theirs as before.
func TestWithPinsWhatItStarts(t *testing.T) {
	own, err := CPUsOf(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range own {
		want := CPUList([]int{cpu})
		if got := allowed(t, func(c *exec.Cmd) error { return StartOn([]int{cpu}, c.Start) }); got != want {
			t.Errorf("a child may use %s, want %s", got, want)
		}
	}
	for range 2 * runtime.NumCPU() {
		if got := allowed(t, (*exec.Cmd).Start); got != CPUList(own) {
			t.Errorf("a child that is not pinned may use %s, want %s", got, CPUList(own))
		}
	}
	if err := StartOn([]int{1 << 9}, func() error { t.Error("started on a CPU that is not there"); return nil }); err == nil {
		t.Error("pinned to a CPU that is not there")
	}
}

func TestProcessPinsAllThreads(t *testing.T) {
	own, err := CPUsOf(0)
	if err != nil {
		t.Fatal(err)
	}
	last := own[len(own)-1:]
	if err := Pin(os.Getpid(), last); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Pin(os.Getpid(), own); err != nil {
			t.Error(err)
		}
	})
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		status, err := os.ReadFile("/proc/self/task/" + th.Name() + "/status")
		if err != nil {
			continue // ended meanwhile
		}
		if m := allowedLine.FindStringSubmatch(string(status)); m == nil || m[1] != CPUList(last) {
			t.Errorf("thread %s may use %v, want %s", th.Name(), m, CPUList(last))
		}
	}
	if got := allowed(t, (*exec.Cmd).Start); got != CPUList(last) {
		t.Errorf("a child may use %s, want %s", got, CPUList(last))
	}
}
