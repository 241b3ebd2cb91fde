package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/watchbench/watchbench/internal/commandline"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/watchproxy"
)

// proxyKubeconfig writes one for a simulated apiserver over sockets.
func proxyKubeconfig(t *testing.T, server string) string {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: server}
	cfg.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	cfg.CurrentContext = "c"
	path := filepath.Join(t.TempDir(), "upstream.yaml")
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWatchproxyCommand runs the program as a scenario does: announcement, kubeconfig, admin
// API, signal.
func TestWatchproxyCommand(t *testing.T) {
	s, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, s, "a/p")
	upstream := httptest.NewServer(s)
	defer upstream.Close()
	written := filepath.Join(t.TempDir(), "proxy.yaml")
	if err := os.WriteFile(written, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	out, stdout := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- runParty(watchproxyCommand, []string{"--kubeconfig", proxyKubeconfig(t, upstream.URL), "--write-kubeconfig", written, "--admin", "127.0.0.1:0", "--faults", "503(max=2)", "--hold", "--tls"}, streams{nil, stdout, &stderr})
		_ = stdout.Close()
	}()
	var said watchproxyAnnouncement
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &said) != nil || len(said.Listen) != 1 || said.Admin == "" || said.Kubeconfig != written {
		t.Fatalf("announcement: %s %v", line, err)
	}
	info, err := os.Stat(written)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v %v", info.Mode(), err)
	}
	if !watchproxy.Written(written) {
		t.Error("the next start would take its own kubeconfig for somebody else's")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", written)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	status := func() int {
		resp, err := client.Get(cfg.Host + "/api/v1/pods")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	if got := status(); got != 200 {
		t.Errorf("while held: %d", got)
	}
	resp, err := http.Post("http://"+said.Admin+"/start", "", nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("start: %v %v", resp, err)
	}
	_ = resp.Body.Close()
	if got := []int{status(), status(), status()}; got[0] != 503 || got[1] != 503 || got[2] != 200 {
		t.Errorf("after the start: %v", got)
	}
	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-code:
		if got != commandline.ExitOK || !strings.Contains(stderr.String(), `spec="503(max=2)" fired=2`) {
			t.Errorf("exit code %d, logs:\n%s", got, stderr.String())
		}
	case <-time.After(time.Minute):
		t.Fatal("SIGTERM did not end it")
	}
}

func TestBadUse(t *testing.T) {
	good, other := proxyKubeconfig(t, "http://127.0.0.1:1"), proxyKubeconfig(t, "http://127.0.0.1:2")
	before, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.yaml")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{}, "--kubeconfig is missing"},
		{[]string{"--kubeconfig", good}, "--write-kubeconfig is missing"},
		{[]string{"x"}, `unexpected argument "x"`},
		{[]string{"--nothing"}, "unknown flag"},
		{[]string{"--kubeconfig", "/nowhere", "--write-kubeconfig", out}, "/nowhere"},
		{[]string{"--kubeconfig", empty, "--write-kubeconfig", out}, "no cluster in it"},
		{[]string{"--kubeconfig", good, "--write-kubeconfig", good}, "own kubeconfig"},
		{[]string{"--kubeconfig", good, "--write-kubeconfig", other}, "--write-kubeconfig: " + other + " is there and is no kubeconfig of a watchproxy, so it is not overwritten; name another file, or remove it"},
		{[]string{"--kubeconfig", good, "--write-kubeconfig", "main.go"}, "is not overwritten"},
		{[]string{"--kubeconfig", good, "--write-kubeconfig", out, "--faults", "explode"}, "unknown fault explode"},
		{[]string{"--kubeconfig", good, "--write-kubeconfig", out, "--admin", "10.0.0.1:0"}, "loopback"},
		{[]string{"--kubeconfig", good, "--write-kubeconfig", out, "--hold"}, "admin address"},
		{[]string{"--kubeconfig", good, "--write-kubeconfig", out, "--pass-authorization"}, "pass-authorization: a client sends no token by plain HTTP; it needs TLS"},
	} {
		var stdout, stderr bytes.Buffer
		if code := runParty(watchproxyCommand, tt.args, streams{nil, &stdout, &stderr}); code != commandline.ExitUsage || !strings.Contains(stderr.String(), tt.want) || strings.Count(stderr.String(), "\n") != 1 || stdout.Len() > 0 {
			t.Errorf("%v: exit %d, %q, want %q in one line", tt.args, code, stderr.String(), tt.want)
		}
	}
	if after, err := os.ReadFile(other); err != nil || !bytes.Equal(before, after) {
		t.Errorf("somebody else's kubeconfig is %q, %v", after, err)
	}
	var stdout, stderr bytes.Buffer
	folder := filepath.Join(t.TempDir(), "none")
	if code := runParty(watchproxyCommand, []string{"--kubeconfig", good, "--write-kubeconfig", filepath.Join(folder, "x")}, streams{nil, &stdout, &stderr}); code != commandline.ExitUsage ||
		!strings.Contains(stderr.String(), "--write-kubeconfig: open "+folder+"/x: no such file or directory") {
		t.Errorf("a missing folder: exit %d, %s", code, stderr.String())
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
	if code := runParty(watchproxyCommand, []string{"--help"}, streams{nil, &stdout, &stderr}); code != commandline.ExitOK || !strings.Contains(stdout.String(), "gone(d)") {
		t.Errorf("help: exit %d, %s", code, stdout.String())
	}
}
