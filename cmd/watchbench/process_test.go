package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// built builds all programs once, from what is on this machine, into a folder that go test removes.
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

// process is a running watchbench. What it makes is below out and temp.
type process struct {
	*exec.Cmd
	out, temp string
	said      *bufio.Scanner // standard error
}

// spawn runs a scenario until standard error has a line with all these parts.
func spawn(t *testing.T, scenario string, until ...string) *process {
	t.Helper()
	return start(t, []string{"run", file(t, "slow.yaml", scenario)}, until...)
}

// start does so with any command that has --out.
func start(t *testing.T, args []string, until ...string) *process {
	t.Helper()
	p := &process{out: t.TempDir(), temp: t.TempDir()}
	p.Cmd = exec.CommandContext(t.Context(), watchbench(t), append(args, "--out", p.out)...)
	p.Env = append(os.Environ(), "TMPDIR="+p.temp)
	pipe, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	p.said = bufio.NewScanner(pipe)
lines:
	for p.said.Scan() {
		for _, part := range until {
			if !strings.Contains(p.said.Text(), part) {
				continue lines
			}
		}
		return p
	}
	t.Fatalf("it never said %v", until)
	return nil
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// end waits for the exit code of the interrupted process, and looks for what it left.
func (p *process) end(t *testing.T) (took time.Duration) {
	t.Helper()
	began := time.Now()
	for p.said.Scan() {
	}
	_ = p.Wait()
	took = time.Since(began)
	if code := p.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("%s, want exit code %d", p.ProcessState, exitInterrupted)
	}
	if left, err := os.ReadDir(p.temp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
	ps, err := exec.Command("ps", "-A", "-o", "args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(ps)) {
		if strings.Contains(line, p.temp) || strings.Contains(line, p.out) {
			t.Errorf("still running: %s", line)
		}
	}
	return took
}

// TestHangUp: a closed terminal ends a run as SIGTERM does, with a report of what was measured.
func TestHangUp(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("hang-ups are ignored here, as under nohup, and so by whatever is started")
	}
	slow := strings.Replace(tiny, "operations: 10", "operations: 20, thinkTime: 1s", 1) // its load must not end before the signal
	p := spawn(t, slow+"repeat: 2\n", "[2/2]", ": load")
	p.signal(t, syscall.SIGHUP)
	p.signal(t, syscall.SIGHUP)
	p.end(t)
	if reports, err := filepath.Glob(filepath.Join(p.out, "tiny-*", "index.html")); err != nil || len(reports) != 1 {
		t.Errorf("reports: %v, %v", reports, err)
	}
}
