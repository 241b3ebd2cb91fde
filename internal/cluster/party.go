package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

// A party is one process of an embedded control plane. envtest does not report its process id and cannot be cancelled;
// so what it starts is a launcher script, which leaves process id and flags in the run's directory and becomes the real
// program.

const (
	etcdParty      = "etcd"
	apiserverParty = "kube-apiserver"

	pidSuffix  = ".pid"
	argsSuffix = ".args"
	logSuffix  = ".log"
	// stopFile keeps launchers that come too late from starting anything.
	stopFile = "stop"

	// excerptLines is how many lines of a log an error carries at most.
	excerptLines = 12
)

// launcher answers nothing to envtest's --help, which saves half a second of CPU. The hang-up signal of a closed
// terminal must not end a detached cluster; a Go program that starts with it ignored goes on ignoring it.
const launcher = `#!/bin/sh
[ "$1" = --help ] && exit 0
trap '' HUP
dir=%[1]s
name=%[2]s
[ -e "$dir/stop" ] && exit 1
printf '%%s\n' "$@" >"$dir/$name.args"
echo $$ >"$dir/$name.pid"
exec env %[4]s %[3]s "$@"
`

func writeLauncher(dir, party, binary string, env []string) error {
	quote := shellescape.Quote
	script := fmt.Sprintf(launcher, quote(dir), quote(party), quote(binary), shellescape.QuoteCommand(env))
	if err := os.WriteFile(filepath.Join(dir, party), []byte(script), 0o700); err != nil {
		return fmt.Errorf("write the launcher of %s: %w", party, err)
	}
	return nil
}

// partyPID returns the process id of a party that still runs, else 0. Ours has the run's directory, whose name is
// random, in its command line.
func partyPID(dir, party string) int {
	data, err := os.ReadFile(filepath.Join(dir, party+pidSuffix))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 1 || !strings.Contains(commandLine(pid), dir) {
		return 0
	}
	return pid
}

func commandLine(pid int) string {
	if data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil {
		return strings.ReplaceAll(string(data), "\x00", " ")
	}
	if _, err := os.Stat("/proc/self/cmdline"); err == nil {
		return "" // there is a /proc, and the process is not in it
	}
	out, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return string(out)
}

func partyFlags(dir, party string) []string {
	data, err := os.ReadFile(filepath.Join(dir, party+argsSuffix))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// endOrder lists all possible parties, so that none sees another go.
var endOrder = append(controlplane.Controllers(), apiserverParty, etcdParty)

// killGrace is how long killed processes get to disappear; a machine that is out of memory may take a while.
const killGrace = 10 * time.Second

// killParties ends all parties of a run directory and waits. They are killed: their data is about to be deleted.
func killParties(ctx context.Context, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, stopFile), nil, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("mark the control plane as stopping: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killGrace)
	defer cancel()
	running := ""
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		running = ""
		for _, party := range endOrder {
			pid := partyPID(dir, party)
			if pid == 0 {
				continue
			}
			running = fmt.Sprintf("%s (process %d)", party, pid)
			// The group, which envtest makes for each: nothing a party started stays.
			if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return false, fmt.Errorf("kill %s: %w", running, err)
			}
		}
		return running == "", nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%s is still there %s after it was killed", running, killGrace)
	}
	return err
}

var complaint = regexp.MustCompile(`(?i)\b(error|fatal|panic|fail(ed)?|flag|unable|cannot|in use)\b`)

// logExcerpt returns the lines of a party's log that report a problem, or else the last ones.
func logExcerpt(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	problems := slices.DeleteFunc(slices.Clone(all), func(line string) bool { return !complaint.MatchString(line) })
	if n := len(problems); n > 0 {
		first, last := problems[:min(n, excerptLines/2)], problems[max(min(n, excerptLines/2), n-excerptLines/2):]
		return strings.Join(slices.Concat(first, last), "\n")
	}
	return strings.Join(all[max(0, len(all)-excerptLines):], "\n")
}
