package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/loadgen/apisim"
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

// TestWatchproxyCommand runs the program as a scenario does: announcement, kubeconfig, admin API, signal.
func TestWatchproxyCommand(t *testing.T) {
	s, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply("pods", []byte(`{"metadata":{"namespace":"a","name":"p"}}`)); err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(s)
	defer upstream.Close()
	written := filepath.Join(t.TempDir(), "proxy.yaml")
	config := filepath.Join(t.TempDir(), "config.json")
	text := fmt.Sprintf(`{"kubeconfig":%q,"write":%q,"faults":"503(max=2)","hold":true,"ownRights":true}`, proxyKubeconfig(t, upstream.URL), written)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stdout := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- runParty(watchproxyCommand, []string{config}, streams{nil, stdout, &stderr})
		_ = stdout.Close()
	}()
	var said watchproxyAnnouncement
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &said) != nil || len(said.Listen) != 1 || said.Admin == "" {
		t.Fatalf("announcement: %s %v", line, err)
	}
	info, err := os.Stat(written)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v %v", info.Mode(), err)
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
		if got != terminal.ExitOK || !strings.Contains(stderr.String(), `spec="503(max=2)" fired=2`) {
			t.Errorf("exit code %d, logs:\n%s", got, stderr.String())
		}
	case <-time.After(time.Minute):
		t.Fatal("SIGTERM did not end it")
	}
}
