package cluster

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/watchbench/watchbench/internal/cluster/controlplane"
)

// Hold stops the controllers of EmbeddedOptions where they are, so that nothing writes
// but who is told to, until Release. One that has ended by itself is an error: it wrote
// less than it should have.
func (c *Cluster) Hold() error { return c.signal(syscall.SIGSTOP) }

// Release has the controllers go on.
func (c *Cluster) Release() error { return c.signal(syscall.SIGCONT) }

func (c *Cluster) signal(s syscall.Signal) error {
	var errs []error
	for _, party := range controlplane.Controllers() {
		pid := c.PIDs[party]
		if pid == 0 {
			continue
		}
		if !strings.Contains(commandLine(pid), party) {
			errs = append(errs, fmt.Errorf("%s (process %d) has ended by itself, log: %s", party, pid, c.Logs[party]))
			continue
		}
		if err := syscall.Kill(pid, s); err != nil {
			errs = append(errs, fmt.Errorf("send %s to %s: %w", s, party, err))
		}
	}
	return errors.Join(errs...)
}
