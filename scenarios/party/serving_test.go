package party

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// The section of the resource watcher is there only where somebody reads, and the kubeconfig
// for those who do leads to its port.
func TestServing(t *testing.T) {
	dir := t.TempDir()
	setup := WatcherSetup{Cell: dir, Spec: spec.Default().Watcher, Kinds: []string{"Pod"}}
	section := func() any {
		path, err := setup.renderConfig([]int{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		config := map[string]any{}
		read(t, path, &config)
		return config["resourceWatcher"]
	}
	if x := section(); x != nil {
		t.Errorf("nobody reads, and the section is %v", x)
	}
	setup.Serving = &Serving{Kubeconfig: filepath.Join(dir, "k"), Webhooks: []string{"http://127.0.0.1:5/"}, SecretFile: "/s", Queue: 9}
	want := map[string]any{
		"enabled": true, "server": map[string]any{"address": "127.0.0.1", "port": 3.0},
		"notify": map[string]any{"subscriptions": []any{map[string]any{
			"name": "receiver-1", "resource": "v1/pods",
			"target": map[string]any{"webhook": map[string]any{"url": "http://127.0.0.1:5/", "allow": []any{"127.0.0.0/8"}, "secretFile": "/s"}},
			"queue":  map[string]any{"length": 9.0},
		}}, "drainTimeout": "1s"},
	}
	if d := cmp.Diff(want, section()); d != "" {
		t.Error(d)
	}
	// A fault has it serve otherwise, for no readers.
	setup.Serving = &Serving{Server: map[string]any{"certFile": "/c"}, Query: map[string]any{"maxWatches": 2.0}, Subscriptions: []map[string]any{{"name": "x"}}}
	want = map[string]any{
		"enabled": true, "server": map[string]any{"address": "127.0.0.1", "port": 3.0, "certFile": "/c"}, "query": map[string]any{"maxWatches": 2.0},
		"notify": map[string]any{"subscriptions": []any{map[string]any{"name": "x"}}, "drainTimeout": "1s"},
	}
	if d := cmp.Diff(want, section()); d != "" || setup.Serving.base(3) != "https://127.0.0.1:3" || setup.Serving.write(3) != nil {
		t.Errorf("%s %s", d, setup.Serving.base(3))
	}
	setup.Serving = &Serving{Kubeconfig: filepath.Join(dir, "k")}
	if err := setup.Serving.write(3); err != nil {
		t.Fatal(err)
	}
	access, err := kubeapi.ReadConfig(setup.Serving.Kubeconfig, "")
	if err != nil || access.Host != "http://127.0.0.1:3" {
		t.Errorf("%+v, %v", access, err)
	}
}

// Readers that fail say why, and readers that end without a record are an error.
func TestReadersThatFail(t *testing.T) {
	dir := t.TempDir()
	program := func(script string) string {
		path := filepath.Join(dir, "readers")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	begin := func(script string) (*Readers, error) {
		return StartReaders(t.Context(), Bench{Bin: program(script), Logs: dir, Cell: dir}, readers.Config{})
	}
	if _, err := begin("echo no such thing >&2; exit 1\n"); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Error(err)
	}
	r, err := begin(`echo '{"phase":"listening","listen":["127.0.0.1:7"]}'; read a; echo '{"phase":"ready"}'; read b; exit 3` + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Listen) != 1 || r.Listen[0] != "127.0.0.1:7" {
		t.Errorf("listen %v", r.Listen)
	}
	if err := r.Connect(t.Context()); err != nil {
		t.Error(err)
	}
	if err := r.End(context.Background()); err == nil || !strings.Contains(err.Error(), "complete the readers' record") {
		t.Error(err)
	}
}
