package runner

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/scenarios/party"
)

// startReaders starts the readers, up to the addresses of their receivers, which the watcher's configuration names.
func (c *cell) startReaders(ctx context.Context) (err error) {
	r := &c.s.Readers
	c.serving = c.setup.Serving // of a fault
	if !r.Asked() {
		return nil
	}
	target := c.apiserver()
	if r.Served() {
		target = filepath.Join(c.dir, "watcher.kubeconfig")
		if c.serving == nil {
			c.serving = &party.Serving{}
		}
		c.serving.Kubeconfig, c.serving.Queue = target, r.WebhookQueue
	}
	if !r.Any() {
		return nil
	}
	secret := ""
	if r.Webhooks > 0 {
		c.serving.SecretFile = filepath.Join(c.dir, "webhook-secret")
		if secret, err = writeSecret(c.serving.SecretFile); err != nil {
			return err
		}
	}
	c.readers, err = party.StartReaders(ctx, c.bench(), readers.Config{
		Seed: c.record.Seed, Target: target, Control: c.apiserver(), Get: float64(r.Get), List: float64(r.List),
		Limit: r.Limit, Watches: r.Watches, Webhooks: r.Webhooks, Secret: secret,
	})
	if err != nil {
		return err
	}
	for _, addr := range c.readers.Listen {
		c.serving.Webhooks = append(c.serving.Webhooks, "http://"+addr+"/")
	}
	return nil
}

// bench is where the processes are that are watchbench itself.
func (c *cell) bench() party.Bench {
	return party.Bench{Bin: c.r.opts.Binaries.Bench, Logs: c.logs, Cell: c.dir}
}

// writeSecret makes a secret for signatures, in the form of Standard Webhooks.
func writeSecret(path string) (string, error) {
	key := make([]byte, 24)
	_, _ = rand.Read(key) // never fails
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the secret of the webhooks: %w", err)
	}
	return secret, nil
}
