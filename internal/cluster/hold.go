package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

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

// ErrFixed means that no party of this cluster can be restarted.
var ErrFixed = errors.New("only the embedded control plane of this process can be restarted")

// RestartAPIServer kills kube-apiserver and starts it again with the same flags and the
// same etcd. It returns when the new one is ready; its process id is in PIDs then.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if c.restart == nil {
		return ErrFixed
	}
	return c.restart(ctx, c)
}

// restartAPIServer is Cluster.RestartAPIServer.
func (r *run) restartAPIServer(ctx context.Context, c *Cluster) error {
	ctx, cancel := context.WithTimeoutCause(ctx, defaultStartTimeout, fmt.Errorf("not ready within %s", defaultStartTimeout))
	defer cancel()
	flags := partyFlags(r.dir, apiserverParty)
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		pid := partyPID(r.dir, apiserverParty)
		if pid == 0 {
			return true, nil
		}
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, err
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("kill kube-apiserver: %w", err)
	}
	p, err := r.launch(apiserverParty, flags...)
	if err != nil {
		return err
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, healthEvery, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.ended:
			return false, errEnded
		default:
		}
		_, last = get(ctx, cfg, "/readyz")
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("start kube-apiserver again: %w", errors.Join(err, last))
	}
	c.PIDs[apiserverParty] = partyPID(r.dir, apiserverParty)
	return nil
}
