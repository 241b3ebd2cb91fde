package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kube "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/record"
)

// apiserver serves two pods and a Secret, and says its version.
func apiserver(t *testing.T, faults string) string {
	t.Helper()
	server, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods, apisim.Secrets, apisim.Nodes, apisim.Namespaces}})
	if err != nil {
		t.Fatal(err)
	}
	for resource, objects := range map[string][]string{
		"pods":    {`{"metadata":{"namespace":"shop","name":"checkout-1"},"spec":{}}`, `{"metadata":{"namespace":"shop","name":"checkout-2"},"spec":{}}`},
		"secrets": {`{"metadata":{"namespace":"shop","name":"db"},"data":{"password":"aHVudGVyMg=="}}`},
	} {
		for _, o := range objects {
			if _, err := server.Apply(resource, []byte(o)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if faults != "" {
		if err := server.Faults().Add(faults); err != nil {
			t.Fatal(err)
		}
		server.Faults().Start()
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = io.WriteString(w, `{"gitVersion":"v1.36.3"}`)
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return kubeconfig(t, h.URL)
}

// TestRecordNeedsListAndWatchOnly: an account that may read the recorded resource and nothing else is enough.
func TestRecordNeedsListAndWatchOnly(t *testing.T) {
	server, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains([]string{"/version", "/api", "/apis", "/api/v1", "/api/v1/pods"}, r.URL.Path) {
			server.ServeHTTP(w, r)
			return
		}
		kubeapi.WriteStatus(w, apierrors.NewForbidden(kube.GroupResource{}, r.URL.Path, errors.New("no rights")))
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	path := filepath.Join(t.TempDir(), "trace.zst")
	out, progress, code := recordUntil(t, path, 1, "--kubeconfig", kubeconfig(t, h.URL), "--resources", "pods")
	if code != exitOK || len(framesOf(path)) != 1 {
		t.Errorf("exit code %d, %q, %q", code, out, progress)
	}
}

// recordUntil runs the command until the file has so many frames, and interrupts it.
func recordUntil(t *testing.T, path string, frames int, args ...string) (out, progress string, code int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := command()
	var stdout, stderr bytes.Buffer // read after the end only
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(append([]string{"record", "-o", path}, args...))
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	for deadline := time.Now().Add(2 * time.Minute); len(framesOf(path)) < frames && len(done) == 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	err := <-done
	return stdout.String(), stderr.String(), exitCode(ctx, err)
}

// TestRecord: the command writes a trace, says what it did, and leaves an existing file.
func TestRecord(t *testing.T) {
	config, path := apiserver(t, ""), filepath.Join(t.TempDir(), "trace.zst")
	out, progress, code := recordUntil(t, path, 5, "--kubeconfig", config, "--resources", "pods,secrets", "--anonymise")
	if code != exitOK || !strings.HasPrefix(out, path+": 5 frames in ") || !strings.Contains(out, "pods 2 listed, 0 events; secrets 1 listed, 0 events") || !strings.Contains(progress, "v1.36.3") {
		t.Errorf("exit code %d, %q, %q", code, out, progress)
	}
	r, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if h := r.Header(); !h.Anonymised || h.ClusterVersion != "v1.36.3" || len(h.Resources) != 2 {
		t.Errorf("%+v", h)
	}
	for f, err := range r.Frames() {
		if err != nil || strings.Contains(string(f.Object), "checkout") || strings.Contains(string(f.Object), "aHVudGVyMg") {
			t.Errorf("%s, %v", f.Object, err)
		}
	}
	if _, _, code, err = invoke(t, "record", "-o", path, "--kubeconfig", config, "--for", "1s"); code != exitInput {
		t.Errorf("a second time: %d, %v", code, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestRecordFor: a recording ends by itself, some time after the first list, however long that takes.
func TestRecordFor(t *testing.T) {
	config, path := apiserver(t, "stall(300ms,kind=Pod)"), filepath.Join(t.TempDir(), "trace.zst")
	_, progress, code, err := invoke(t, "record", "-o", path, "--kubeconfig", config, "--resources", "pods", "--for", "10ms", "--quiet")
	if code != exitOK || progress != "" {
		t.Errorf("%d, %v, %q", code, err, progress)
	}
	whole(t, path)
}

// TestRecordInterrupted: an interruption leaves a whole trace. It is how a recording
// without --for ends; with it, it came too early.
func TestRecordInterrupted(t *testing.T) {
	config := apiserver(t, "")
	for more, want := range map[string]int{"--quiet": exitOK, "--for=1h": exitInterrupted} {
		path := filepath.Join(t.TempDir(), "trace.zst")
		if _, _, got := recordUntil(t, path, 3, "--kubeconfig", config, "--resources", "pods", more); got != want {
			t.Errorf("%s: exit code %d, want %d", more, got, want)
		}
		whole(t, path)
		if n := len(framesOf(path)); n != 3 {
			t.Errorf("%s: %d frames", more, n)
		}
	}
}

// whole fails the test if a trace has no end.
func whole(t *testing.T, path string) {
	t.Helper()
	r, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, err := range r.Frames() {
		if err != nil {
			t.Error(err)
		}
	}
}

// framesOf is what can be read of a trace that is being written.
func framesOf(path string) (all []record.Type) {
	r, err := record.Open(path)
	if err != nil {
		return nil
	}
	defer r.Close()
	for f, err := range r.Frames() {
		if err == nil {
			all = append(all, f.Type)
		}
	}
	return all
}

// TestRecordOfNothing: where a list was never complete the time is over without a result.
func TestRecordOfNothing(t *testing.T) {
	config, path := apiserver(t, "503(kind=Pod)"), filepath.Join(t.TempDir(), "trace.zst")
	_, _, code, err := invoke(t, "record", "-o", path, "--kubeconfig", config, "--resources", "pods", "--for", "300ms")
	if code != exitError || !strings.Contains(err.Error(), "the first list of pods is not complete") {
		t.Errorf("%d, %v", code, err)
	}
	whole(t, path)
}

// TestRecordBadResources: a resource that is not there or may not be listed is named.
func TestRecordBadResources(t *testing.T) {
	config, forbidden := apiserver(t, ""), apiserver(t, "403(kind=Secret)")
	two := file(t, "two", `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: dev, context: {cluster: c}}, {name: prod, context: {cluster: c}}]
`)
	for _, tc := range []struct {
		config, resources, want string
	}{
		{config, "pod,podds", `--resources: the cluster has no resource "podds"; did you mean pods?`},
		{config, "flowers", `--resources: the cluster has no resource "flowers"; see kubectl api-resources`},
		{config, "pods,pods", "--resources: pods is named twice; leave one of them out"},
		{forbidden, "pods,secrets", "list secrets: "},
		{two, "pods", "has 2 contexts; name one with --context: the file has dev, prod"},
	} {
		path := filepath.Join(t.TempDir(), "trace.zst")
		_, _, code, err := invoke(t, "record", "-o", path, "--kubeconfig", tc.config, "--resources", tc.resources, "--for", "1m")
		if code != exitInput || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %d, %v, want %q", tc.resources, code, err, tc.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file is left behind", tc.resources)
		}
	}
	_, _, code, err := invoke(t, "record", "-o", filepath.Join(t.TempDir(), "no", "trace.zst"), "--kubeconfig", config, "--resources", "pods")
	if code != exitInput || !strings.Contains(err.Error(), "name a file in a folder that can be written") {
		t.Errorf("no folder: %d, %v", code, err)
	}
}
