package cluster

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/watchbench/watchbench/internal/badinput"
)

// wantInput checks that an error is bad input and says all of the given.
func wantInput(t *testing.T, err error, says ...string) {
	t.Helper()
	var input *badinput.Error
	if !errors.As(err, &input) {
		t.Fatalf("got error %v (%T), want a badinput.Error", err, err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
	if input.Remedy == "" {
		t.Errorf("error %q has no remedy", err)
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("KUBECONFIG", "")
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "apiVersion: v1\nkind: Config\ncurrent-context: b\ncontexts:\n- {name: b, context: {cluster: c}}\n- {name: a, context: {cluster: c}}\nclusters:\n- {name: c, cluster: {server: 'https://127.0.0.1:1'}}\n")
	for _, tc := range []struct {
		name     string
		provider string
		opts     Options
		says     []string
	}{
		{"unknown provider", "minikube", Options{}, []string{`"minikube"`, "embedded, kind, kubeconfig"}},
		{"kind name", Kind, Options{Kind: KindOptions{Name: "Not Good"}}, []string{`"Not Good"`, "lower-case"}},
		{"long kind name", Kind, Options{Kind: KindOptions{Name: strings.Repeat("n", 51)}}, []string{"at most 50"}},
		{"kind image", Kind, Options{Kind: KindOptions{Image: "--privileged"}}, []string{"--privileged", "kindest/node:v"}},
		{"no kubeconfig", Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Path: filepath.Join(dir, "none"), Context: "a"}}, []string{filepath.Join(dir, "none"), "does not exist", "--kubeconfig"}},
		{"no default kubeconfig", Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Context: "a"}}, []string{filepath.Join(dir, ".kube", "config"), "does not exist"}},
		{"directory", Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Path: dir, Context: "a"}}, []string{dir, "directory"}},
		{"not YAML", Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Path: write("bad", "<html>"), Context: "a"}}, []string{filepath.Join(dir, "bad")}},
		{"empty", Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Path: write("empty", ""), Context: "a"}}, []string{filepath.Join(dir, "empty"), "no contexts"}},
		{"fsync of kind", Kind, Options{FSync: true}, []string{`not for "kind"`, "use the provider embedded"}},
		{"fsync of a cluster elsewhere", Kubeconfig, Options{FSync: true, Kubeconfig: KubeconfigOptions{Path: good, Context: "a"}}, []string{`not for "kubeconfig"`}},
		{"no context", Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Path: good}}, []string{good, "--context", "the file has a, b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(tc.provider, tc.opts)
			wantInput(t, err, tc.says...)
		})
	}
	t.Run("several kubeconfigs", func(t *testing.T) {
		t.Setenv("KUBECONFIG", good+string(filepath.ListSeparator)+good)
		_, err := New(Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Context: "a"}})
		wantInput(t, err, "lists 2 files", "--kubeconfig")
	})
	t.Run("kubeconfig of the environment", func(t *testing.T) {
		t.Setenv("KUBECONFIG", good)
		if _, err := New(Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Context: "a"}}); err != nil {
			t.Error(err)
		}
	})
}

// kubeconfigTo writes a kubeconfig with the context "c" for a server.
func kubeconfigTo(t *testing.T, change func(*api.Config)) string {
	t.Helper()
	cfg := api.NewConfig()
	cfg.Clusters["c"] = &api.Cluster{}
	cfg.AuthInfos["c"] = &api.AuthInfo{Token: "t"}
	cfg.Contexts["c"] = &api.Context{Cluster: "c", AuthInfo: "c"}
	cfg.Contexts["other"] = &api.Context{Cluster: "c", AuthInfo: "c"}
	cfg.CurrentContext = "other"
	change(cfg)
	path := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKubeconfigUpFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "https://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, tc := range []struct {
		name    string
		context string
		change  func(*api.Config)
		says    []string
	}{
		{"unknown context", "nope", func(*api.Config) {}, []string{`"nope"`, "the file has c, other"}},
		{"context without its cluster", "c", func(c *api.Config) { delete(c.Clusters, "c") }, []string{"cluster c"}},
		{"context without its user", "c", func(c *api.Config) { delete(c.AuthInfos, "c") }, []string{"user c"}},
		{"context of no cluster", "c", func(c *api.Config) { c.Contexts["c"].Cluster = "" }, []string{"names no cluster"}},
		{"certificate file missing", "c", func(c *api.Config) {
			c.Clusters["c"].Server = closed
			c.Clusters["c"].CertificateAuthority = "/no/such/ca.crt"
		}, []string{"/no/such/ca.crt"}},
		{"nobody listens", "c", func(c *api.Config) { c.Clusters["c"].Server = closed }, []string{closed, "cannot be reached", "connection refused", `context "c"`}},
		{"no such host", "c", func(c *api.Config) { c.Clusters["c"].Server = "https://cluster.invalid" }, []string{"https://cluster.invalid", "cannot be reached"}},
		{"HTML", "c", func(c *api.Config) { c.Clusters["c"].Server = answer(200, "<html>") }, []string{"not a Kubernetes version"}},
		{"other JSON", "c", func(c *api.Config) { c.Clusters["c"].Server = answer(200, "{}") }, []string{"not a Kubernetes apiserver"}},
		{"unauthorized", "c", func(c *api.Config) { c.Clusters["c"].Server = answer(401, "{}") }, []string{"credentials", "renew"}},
		{"forbidden", "c", func(c *api.Config) { c.Clusters["c"].Server = answer(403, "{}") }, []string{"credentials"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path, temp := kubeconfigTo(t, tc.change), t.TempDir()
			p, err := New(Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Path: path, Context: tc.context, Temp: temp}})
			if err != nil {
				t.Fatal(err)
			}
			c, err := p.Up(t.Context(), nil)
			if c != nil {
				t.Error("got a cluster together with an error")
			}
			wantInput(t, err, append(tc.says, path)...)
			assertNothingLeft(t, temp)
		})
	}
}

func TestKubeconfigUp(t *testing.T) {
	needControlPlane(t)
	ctx, temp := t.Context(), t.TempDir()
	origin, err := newEmbeddedIn(t, temp, EmbeddedOptions{}).Up(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = origin.Down(ctx) }()
	cfg, err := clientcmd.LoadFromFile(origin.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	// As kubeadm writes them: certificates in files, named relative to the kubeconfig.
	dir := t.TempDir()
	user, server := cfg.AuthInfos[contextName], cfg.Clusters[contextName]
	address := strings.TrimSuffix(server.Server, "/")
	server.Server = address + "/"
	for name, data := range map[string][]byte{"crt": user.ClientCertificateData, "key": user.ClientKeyData, "ca": server.CertificateAuthorityData} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	user.ClientCertificateData, user.ClientKeyData, server.CertificateAuthorityData = nil, nil, nil
	user.ClientCertificate, user.ClientKey, server.CertificateAuthority = "crt", "key", "ca"
	cfg.Clusters["wrong"] = &api.Cluster{Server: "https://127.0.0.1:1"}
	cfg.Contexts["wrong"] = &api.Context{Cluster: "wrong"}
	cfg.CurrentContext = "wrong"
	path := filepath.Join(dir, "config")
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	copies := t.TempDir()
	p, err := New(Kubeconfig, Options{Kubeconfig: KubeconfigOptions{Path: path, Context: contextName, Temp: copies}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Up(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Version != origin.Version || c.Controllers {
		t.Errorf("got version %s, controllers %t; want %s, false", c.Version, c.Controllers, origin.Version)
	}
	minified, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if len(minified.Contexts) != 1 || minified.CurrentContext != contextName {
		t.Errorf("the copy has contexts %v, current %s", minified.Contexts, minified.CurrentContext)
	}
	if got := minified.Clusters[contextName].Server; got != address {
		t.Errorf("the copy has the server %s, want %s", got, address)
	}
	if info, err := os.Stat(c.Kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v, want mode 0600", info, err)
	}
	if err := c.Check(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Down(ctx); err != nil {
		t.Fatal(err)
	}
	assertNothingLeft(t, copies)
	if err := origin.Check(ctx); err != nil {
		t.Errorf("the cluster behind the kubeconfig after Down: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the user's kubeconfig changed: %v", err)
	}
}

// However a process that uses a kubeconfig ends, no copy of its key is left.
func TestKubeconfigKeptNowhere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(`{"gitVersion": "v1.36.3"}`))
	}))
	defer server.Close()
	path, temp := kubeconfigTo(t, func(c *api.Config) { c.Clusters["c"].Server = server.URL }), t.TempDir()
	cmd, c := startHelper(t, helperOptions{Provider: Kubeconfig, Options: Options{Kubeconfig: KubeconfigOptions{Path: path, Context: "c", Temp: temp}}, Stay: true})
	if data, err := os.ReadFile(c.Kubeconfig); err != nil || !strings.Contains(string(data), "token: t") {
		t.Errorf("another process reads %q, %v", data, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, 5*time.Second, "the copy goes away", func() bool {
		left, err := os.ReadDir(temp)
		_, gone := os.Stat(c.Kubeconfig)
		return err == nil && len(left) == 0 && errors.Is(gone, os.ErrNotExist)
	})
}

func TestKindWithoutDocker(t *testing.T) {
	t.Run("no command", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := newTestKind(t, KindOptions{}).Up(t.Context(), nil)
		wantInput(t, err, "needs Docker", "executable file not found")
	})
	fake := func(t *testing.T, script string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	}
	// What Docker's client says, taken from its own messages.
	t.Run("no daemon", func(t *testing.T) {
		fake(t, "echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 1")
		_, err := newTestKind(t, KindOptions{}).Up(t.Context(), nil)
		wantInput(t, err, "needs Docker", "Is the docker daemon running?")
	})
	t.Run("no permission", func(t *testing.T) {
		fake(t, "echo 'permission denied while trying to connect to the docker API at unix:///x' >&2; exit 1")
		_, err := newTestKind(t, KindOptions{}).Up(t.Context(), nil)
		wantInput(t, err, "permission denied", "docker version works for this user")
	})
}

func TestAssetsDirectory(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	silent := func(string, ...any) {}
	t.Setenv(EnvAssets, dir)
	put(etcdParty, 0o755)
	_, err := findAll(t.Context(), EmbeddedOptions{}, silent)
	wantInput(t, err, EnvAssets, dir, "kube-apiserver is missing")
	put(apiserverParty, 0o644)
	_, err = findAll(t.Context(), EmbeddedOptions{}, silent)
	wantInput(t, err, "not executable")
	if err := os.Chmod(filepath.Join(dir, apiserverParty), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := findAll(t.Context(), EmbeddedOptions{}, silent); err != nil || got != (binaryDirs{plane: dir}) {
		t.Errorf("got %+v, %v, want %s", got, err, dir)
	}
}
