package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// A watchdog is a shell that waits on its standard input, a pipe whose other end this process alone holds: it ends
// however the process does. A line means that Down has cleaned up.
const watchdogHead = "read -r line && exit 0\n"

// embeddedWatchdogScript gets the run's directory. It looks three times, as a launcher may be about to leave its id.
const embeddedWatchdogScript = `
: >"$1/stop"
for round in 1 2 3; do
	for file in "$1"/*.pid; do
		[ -e "$file" ] || continue
		pid=$(cat "$file")
		if [ -e "/proc/$pid/cmdline" ]; then
			args=$(tr '\0' ' ' <"/proc/$pid/cmdline")
		else
			args=$(ps -o args= -p "$pid" 2>/dev/null)
		fi
		case $args in
		*"$1"*) kill -9 "-$pid" ;;
		esac
	done
	sleep 1
done
rm -rf "$1"
`

const dirWatchdogScript = `rm -rf "$1"`

// kindWatchdogScript gets the cluster's name and a directory. It looks three times: a `docker run` may still go on.
const kindWatchdogScript = `
for round in 1 2 3; do
	ids=$(docker ps -aq --filter "label=` + kindLabel + `=$1")
	[ -z "$ids" ] || docker rm -f -v $ids
	sleep 2
done
rm -rf "$2"
`

type watchdog struct {
	cmd *exec.Cmd
	pen io.WriteCloser
}

// startWatchdog must come before what is to be cleaned up.
func startWatchdog(script string, args ...string) (*watchdog, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the watchdog's pipe: %w", err)
	}
	// The script is in the environment, so that the list of processes stays readable.
	cmd := exec.Command("/bin/sh",
		append([]string{"-c", `eval "$WATCHBENCH_WATCHDOG"`, "watchbench-watchdog"}, args...)...)
	cmd.Env = append(os.Environ(), "WATCHBENCH_WATCHDOG="+watchdogHead+script)
	cmd.Dir = "/"
	cmd.Stdin = reader
	// A session of its own: neither Ctrl-C nor the end of the terminal reaches it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the watchdog: %w", err), reader.Close(), writer.Close())
	}
	if err := reader.Close(); err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, pen: writer}, nil
}

// dismiss ends the watchdog; there is nothing left to clean up.
func (w *watchdog) dismiss() error {
	if w == nil {
		return nil
	}
	_, err := io.WriteString(w.pen, "done\n")
	if errors.Is(err, syscall.EPIPE) {
		err = nil // somebody killed it; then it is gone, which is all we want
	}
	err = errors.Join(err, w.pen.Close())
	var exit *exec.ExitError
	if waitErr := w.cmd.Wait(); waitErr != nil && !errors.As(waitErr, &exit) {
		err = errors.Join(err, waitErr)
	}
	if err != nil {
		return fmt.Errorf("dismiss the watchdog: %w", err)
	}
	return nil
}
