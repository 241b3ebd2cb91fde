package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/record"
)

const shippedTrace = "../../loadgen/record/testdata/churn.trace.zst"

func runReplay(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"replay"}, args...))
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

// TestReplay plays a trace and a plan to their ends.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	ops, kubeconfig, plan := filepath.Join(dir, "ops"), filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "plan.yaml")
	out, err := runReplay(t, shippedTrace, "--speed", "unlimited", "--exit", "--oplog", ops, "--kubeconfig", kubeconfig)
	if err != nil || !strings.Contains(out, "played 397 events") || !strings.Contains(out, "0 impossible") {
		t.Fatalf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(kubeconfig); err != nil || !strings.Contains(string(text), "http://127.0.0.1:") {
		t.Errorf("%v: %s", err, text)
	}
	n := 0
	for r, err := range oplog.ReadFile(ops) {
		if err != nil || !r.OK() {
			t.Fatal(err, r)
		}
		n++
	}
	if n <= 397 {
		t.Errorf("%d records", n)
	}
	if err := os.WriteFile(plan, []byte("runID: r\nmodel: open\nrate: 100\nduration: 2s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := runReplay(t, "--plan", plan, "--speed", "100x", "--exit"); err != nil || !strings.Contains(out, "played 200 events") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestReplayExitsWhenAllIsRead: a client that reads slowly has had everything when the
// command ends, of custom resources as of others; also where the trace is cut.
func TestReplayExitsWhenAllIsRead(t *testing.T) {
	const objects = 2500
	for _, group := range []string{"", "acme.example"} {
		dir := t.TempDir()
		path, kubeconfig := filepath.Join(dir, "trace"), filepath.Join(dir, "kubeconfig")
		w, err := record.Create(path, record.Header{Started: time.Now(), Resources: []record.Resource{{Group: group, Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}}})
		if err != nil {
			t.Fatal(err)
		}
		err = w.Append(record.Frame{Type: record.Synced, ResourceVersion: "1"})
		for i := range objects {
			err = errors.Join(err, w.Append(record.Frame{Type: record.Added, Object: fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"p%d"},"fill":%q}`, i, strings.Repeat("x", 3000))}))
		}
		if err = errors.Join(err, w.Flush()); err != nil { // and not closed
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := runReplay(t, path, "--speed", "1000x", "--await", "1", "--exit", "--kubeconfig", kubeconfig)
			done <- err
		}()
		var cfg *rest.Config
		for cfg == nil && len(done) == 0 {
			cfg, _ = kubeapi.ReadConfig(kubeconfig, "") // it may be half written
			time.Sleep(10 * time.Millisecond)
		}
		if cfg == nil {
			t.Fatal(<-done)
		}
		url := "/api/v1/pods?watch=1"
		if group != "" {
			url = "/apis/" + group + "/v1/pods?watch=1"
		}
		resp, err := http.Get(cfg.Host + url)
		if err != nil {
			t.Fatal(err)
		}
		in, got := bufio.NewReader(resp.Body), 0
		for ; ; got++ {
			if _, err := in.ReadBytes('\n'); err != nil {
				break
			}
			if got%100 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
		_ = resp.Body.Close()
		if err := <-done; !errors.Is(err, record.ErrTruncated) || got != objects {
			t.Errorf("group %q: %d of %d objects, %v", group, got, objects, err)
		}
		_ = w.Close()
	}
}

// TestReplayServesWhatThereIs: after the end of a trace that was cut its state is served.
func TestReplayServesWhatThereIs(t *testing.T) {
	whole, err := os.ReadFile(shippedTrace)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(path, whole[:len(whole)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := command()
	told, tell := io.Pipe()
	cmd.SetOut(io.Discard)
	cmd.SetErr(tell)
	cmd.SetArgs([]string{"replay", path, "--speed", "unlimited"})
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx); _ = tell.Close() }()
	if line, err := bufio.NewReader(told).ReadString('\n'); !strings.Contains(line, "the trace is cut short after ") || len(done) > 0 {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestReplayReplacesItsOwnFilesOnly: --kubeconfig and --oplog write; what somebody else
// wrote is left as it is, the trace itself included.
func TestReplayReplacesItsOwnFilesOnly(t *testing.T) {
	whole, err := os.ReadFile(shippedTrace)
	if err != nil {
		t.Fatal(err)
	}
	const config = "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: prod, context: {cluster: c}}]\n"
	for flag, text := range map[string]string{"--kubeconfig": config, "--oplog": string(whole)} {
		path := filepath.Join(t.TempDir(), "mine")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := runReplay(t, shippedTrace, "--speed", "unlimited", "--exit", flag, path)
		if left, _ := os.ReadFile(path); string(left) != text {
			t.Errorf("%s destroyed a file: %s", flag, out)
		}
		if err == nil || !strings.Contains(err.Error(), flag+": "+path+" is there and is no ") || exitCode(t.Context(), err) != exitInput {
			t.Errorf("%s: %v", flag, err)
		}
		own := filepath.Join(t.TempDir(), "own")
		for range 2 {
			if out, err := runReplay(t, shippedTrace, "--speed", "unlimited", "--exit", flag, own); err != nil {
				t.Errorf("%s: %v %s", flag, err, out)
			}
		}
	}
}

// TestReplayWarnsOfOthers: a server that other machines reach says that it asks nobody who they are.
func TestReplayWarnsOfOthers(t *testing.T) {
	for listen, want := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, ":0": true, "0.0.0.0:0": true} {
		out, err := runReplay(t, shippedTrace, "--speed", "unlimited", "--exit", "--listen", listen)
		if err != nil || strings.Contains(out, "watchbench: --listen "+listen+": other machines can reach it, and nobody has to authenticate") != want {
			t.Errorf("%s: %v\n%s", listen, err, out)
		}
	}
}
