package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// loopbackEnv makes TestLoopbackOnly become the program after "--", in a network
// namespace that has nothing but loopback.
const loopbackEnv = "WATCHBENCH_TEST_LOOPBACK"

func TestLoopbackOnly(t *testing.T) {
	if os.Getenv(loopbackEnv) == "" {
		t.Skip("a helper of TestOffline")
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
	program := flagArgs()
	t.Fatal(syscall.Exec(program[0], program, os.Environ()))
}

// flagArgs are the arguments after "--".
func flagArgs() []string {
	for i, a := range os.Args {
		if a == "--" {
			return os.Args[i+1:]
		}
	}
	return nil
}

// TestOffline: a run needs no network but loopback, not even a route. make test says so
// where namespaces are not permitted.
func TestOffline(t *testing.T) {
	program, out := watchbench(t), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inside := func(flags uintptr) (*exec.Cmd, string, error) {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestLoopbackOnly$", "--", program, "run", "smoke", "--repeat", "1", "--out", out)
		cmd.Env = append(os.Environ(), loopbackEnv+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		if flags&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
		said, err := cmd.CombinedOutput()
		return cmd, string(said), err
	}
	cmd, said, err := inside(syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER)
	if cmd.Process == nil {
		cmd, said, err = inside(syscall.CLONE_NEWNET)
	}
	if cmd.Process == nil {
		t.Skipf("network namespaces are not permitted here: %v", err)
	}
	// A cell may be late on a machine that runs other tests as well.
	if code := cmd.ProcessState.ExitCode(); code != exitOK && code != exitInvalid {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	if reports, err := filepath.Glob(filepath.Join(out, "smoke-*", "index.html")); err != nil || len(reports) != 1 {
		t.Errorf("reports %v, %v:\n%s", reports, err, said)
	}
}
