package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// ErrFixed is returned for a cluster whose processes this one does not own.
var ErrFixed = errors.New("only the embedded control plane of this process can be restarted")

// ErrNoBackup is returned by Restore without a Backup before it.
var ErrNoBackup = errors.New("etcd was never backed up")

// RestartAPIServer kills kube-apiserver and starts it again as it was. It returns when the new one is ready.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if c.own == nil {
		return ErrFixed
	}
	ctx, cancel := restartLimit(ctx)
	defer cancel()
	if err := c.own.kill(ctx, apiserverParty); err != nil {
		return err
	}
	return c.startAgain(ctx, apiserverParty)
}

// Backup copies etcd's data for Restore. etcd is stopped meanwhile: the copy has everything acknowledged.
func (c *Cluster) Backup() (err error) {
	if c.own == nil {
		return ErrFixed
	}
	data, backup := c.own.etcdData()
	if err := os.RemoveAll(backup); err != nil {
		return fmt.Errorf("back up etcd: %w", err)
	}
	pid := partyPID(c.own.dir, etcdParty)
	if pid == 0 {
		return errors.New("back up etcd: it does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop etcd for a backup: %w", err)
	}
	err = os.CopyFS(backup, os.DirFS(data))
	if err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)); err != nil {
		return fmt.Errorf("back up etcd: %w", err)
	}
	return nil
}

// Restore starts kube-apiserver and etcd again from the last Backup, which it uses up; resourceVersions go back.
func (c *Cluster) Restore(ctx context.Context) error {
	if c.own == nil {
		return ErrFixed
	}
	data, backup := c.own.etcdData()
	if _, err := os.Stat(backup); err != nil {
		return ErrNoBackup
	}
	ctx, cancel := restartLimit(ctx)
	defer cancel()
	// The apiserver must go too: its watch cache has the undone changes.
	if err := errors.Join(c.own.kill(ctx, apiserverParty), c.own.kill(ctx, etcdParty)); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(data), os.Rename(backup, data)); err != nil {
		return fmt.Errorf("restore etcd's data: %w", err)
	}
	if err := c.startAgain(ctx, etcdParty); err != nil {
		return err
	}
	return c.startAgain(ctx, apiserverParty)
}

func restartLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, defaultStartTimeout, fmt.Errorf("not ready within %s", defaultStartTimeout))
}

func (r *run) etcdData() (data, backup string) {
	return filepath.Join(r.dir, "data", "member"), filepath.Join(r.dir, "backup")
}

// kill ends a party and returns when nobody has its process id: a dying process may still have its port.
func (r *run) kill(ctx context.Context, party string) error {
	pid := partyPID(r.dir, party)
	if pid == 0 {
		return nil
	}
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(context.Context) (bool, error) {
		err := syscall.Kill(-pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("kill %s: %w", party, err)
	}
	return nil
}

func (c *Cluster) startAgain(ctx context.Context, party string) error {
	r, flags := c.own, partyFlags(c.own.dir, party)
	for {
		err := c.start(ctx, party, flags)
		if err == nil {
			c.PIDs[party] = partyPID(r.dir, party)
			return nil
		}
		// The kernel may briefly lend the port to some client.
		if !errors.Is(err, errEnded) || !strings.Contains(logExcerpt(r.logs[party]), "address already in use") {
			return fmt.Errorf("start %s again: %w", party, err)
		}
		if ended := lifecycle.Pause(ctx, healthEvery); ended != nil {
			return fmt.Errorf("start %s again: %w: %w", party, ended, err)
		}
	}
}

func (c *Cluster) start(ctx context.Context, party string, flags []string) error {
	p, err := c.own.launch(party, flags...)
	if err != nil {
		return err
	}
	if party == etcdParty {
		return p.healthy(ctx, c.own.plane.Etcd.URL.String()+"/health")
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		return err
	}
	return p.await(ctx, func(ctx context.Context) error {
		_, err := get(ctx, cfg, "/readyz")
		return err
	})
}
