package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// capture keeps what the watcher said and sent where canaries are searched: its log
// and that of storage, its metrics, and everything storage holds.
func (c *cellRun) capture(ctx context.Context) error {
	if len(c.canaries) == 0 {
		return nil
	}
	dir := filepath.Join(c.dir, "captured")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep what was captured: %w", err)
	}
	for name, source := range map[string]struct {
		client *http.Client
		url    string
	}{
		"metrics.txt":  {c.watcher.http, c.watcher.metrics},
		"readyz.txt":   {c.watcher.http, c.watcher.health + "/healthz"},
		"state.ndjson": {c.mock.http, c.mock.admin + "/state"},
	} {
		if source.client == c.watcher.http && c.watcher.ended() {
			continue // a cut cell's watcher tells no more
		}
		if err := save(ctx, source.client, source.url, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	logs, err := filepath.Glob(filepath.Join(c.logs, "*.log"))
	if err != nil {
		return fmt.Errorf("keep what was captured: %w", err)
	}
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o644)
		}
		if err != nil {
			return fmt.Errorf("keep what was captured: %w", err)
		}
	}
	return nil
}

func save(ctx context.Context, client *http.Client, url, path string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	resp, err := get(ctx, client, url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("save %s: %w", url, err)
	}
	_, err = io.Copy(f, resp.Body)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("save %s: %w", url, err)
	}
	return nil
}
