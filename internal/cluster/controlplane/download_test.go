package controlplane

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// program is what stands for a binary in archives.
func program(name string) string { return "#!/bin/sh\necho " + name + " of the archive\n" }

// packed is an archive as envtest has them.
func packed(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	write := func(h tar.Header, content string) {
		h.Size = int64(len(content))
		if err := files.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	write(tar.Header{Name: "controller-tools/envtest/", Typeflag: tar.TypeDir, Mode: 0o755}, "")
	for _, name := range names {
		write(tar.Header{Name: "controller-tools/envtest/" + name, Typeflag: tar.TypeReg, Mode: 0o755}, program(name))
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// serve has an index of the releases on loopback, each with the archive, and says so to Ensure.
func serve(t *testing.T, content []byte, hash string, releases ...string) {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/archive/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	mux.HandleFunc("/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "releases:")
		for _, v := range releases {
			_, _ = fmt.Fprintf(w, "  %s:\n    envtest-%s-%s-%s.tar.gz:\n      hash: %s\n      selfLink: %s/archive/%s\n",
				v, v, runtime.GOOS, runtime.GOARCH, hash, server.URL, v)
		}
	})
	t.Setenv(EnvIndex, server.URL+"/index.yaml")
}

func hashOf(content []byte) string {
	sum := sha512.Sum512(content)
	return hex.EncodeToString(sum[:])
}

// minor is the pinned version without its patch.
func minor() string { v := KubernetesVersion(); return v[:strings.LastIndex(v, ".")] }

// ensured is what Ensure does for etcd and kube-apiserver, where a build succeeds, and says.
func ensured(t *testing.T, opts Options) (dir, said string, builds int) {
	t.Helper()
	calls := fakeGo(t, succeed)
	opts.Cache = t.TempDir()
	var lines []string
	opts.Progress = func(line string) { lines = append(lines, line) }
	dir, err := Ensure(t.Context(), opts, Etcd, APIServer)
	if err != nil {
		t.Fatal(err)
	}
	assertNoWork(t, opts)
	return dir, strings.Join(lines, "\n"), callCount(t, calls)
}

func TestDownload(t *testing.T) {
	good := packed(t, "README.md", Etcd, APIServer, Kubectl)
	serve(t, good, hashOf(good), "v1.2.3", minor()+".0", minor()+".99-rc.1", minor()+".1", "v1.99.0")
	dir, said, builds := ensured(t, Options{})
	if builds != 0 || !strings.Contains(said, "downloaded etcd and kube-apiserver "+minor()+".1 in ") {
		t.Errorf("%d builds, said:\n%s", builds, said)
	}
	for _, name := range shipped() {
		out, err := exec.Command(filepath.Join(dir, name)).Output()
		if err != nil || string(out) != name+" of the archive\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	stamp, err := os.ReadFile(stampPath(dir, APIServer))
	if want := "envtest " + minor() + ".1 sha512:" + hashOf(good) + "\n"; err != nil || string(stamp) != want {
		t.Errorf("stamp %q, %v, want %q", stamp, err, want)
	}
	t.Setenv(EnvIndex, "http://127.0.0.1:1/")
	again := Options{Cache: filepath.Dir(filepath.Dir(dir)), Progress: func(line string) { t.Error(line) }}
	if _, err := Ensure(t.Context(), again, Etcd, APIServer, Kubectl); err != nil {
		t.Error(err)
	}
}

func TestNewest(t *testing.T) {
	pin := KubernetesVersion()
	for _, tc := range []struct {
		name, want string
		releases   []string
	}{
		{"the pin is better than a newer one", pin, []string{minor() + ".999", pin, minor() + ".0"}},
		{"numbers are compared as such", minor() + ".10", []string{minor() + ".9", minor() + ".10"}},
		{"another minor", "", []string{"v1.2.3", "v1.99.0", "nonsense"}},
		{"a candidate", "", []string{minor() + ".0-rc.1"}},
	} {
		x := index{Releases: map[string]map[string]archive{}}
		for _, v := range tc.releases {
			x.Releases[v] = map[string]archive{"envtest-" + v + "-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz": {}}
		}
		if got, err := x.newest(); got.version != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v, want %q", tc.name, got.version, err, tc.want)
		}
	}
	other := index{Releases: map[string]map[string]archive{pin: {"envtest-" + pin + "-plan9-mips.tar.gz": {}}}}
	if got, err := other.newest(); err == nil {
		t.Errorf("of another machine: %q", got.version)
	}
}

// Where the download fails, one line says why, and the build follows.
func TestDownloadFails(t *testing.T) {
	good := packed(t, Etcd, APIServer, Kubectl)
	half := good[:len(good)/2]
	lacking := packed(t, Etcd, Kubectl)
	for _, tc := range []struct {
		name, want string
		prepare    func(t *testing.T)
	}{
		{"wrong hash", "its SHA-512 is ", func(t *testing.T) { serve(t, good, hashOf(half), KubernetesVersion()) }},
		{"broken archive", "unexpected EOF", func(t *testing.T) { serve(t, half, hashOf(half), KubernetesVersion()) }},
		{"no archive", "gzip: invalid header", func(t *testing.T) {
			page := []byte("<html>Sign in to the network</html>")
			serve(t, page, hashOf(page), KubernetesVersion())
		}},
		{"an archive without kube-apiserver", "it has no kube-apiserver", func(t *testing.T) {
			serve(t, lacking, hashOf(lacking), KubernetesVersion())
		}},
		{"another version", "it lists no Kubernetes 1.", func(t *testing.T) { serve(t, good, hashOf(good), "v1.2.3") }},
		{"no index there", "404 Not Found", func(t *testing.T) {
			serve(t, good, hashOf(good))
			t.Setenv(EnvIndex, os.Getenv(EnvIndex)+"x")
		}},
		{"nobody there", "connection refused", func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv(EnvIndex, "http://"+l.Addr().String())
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}},
		{"switched off", "ENVTEST_INDEX_URL is off", func(t *testing.T) { t.Setenv(EnvIndex, NoDownload) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.prepare(t)
			dir, said, builds := ensured(t, Options{})
			first, _, _ := strings.Cut(said[strings.Index(said, "no download: "):], "\n")
			if !strings.Contains(first, tc.want) || strings.Count(said, "no download: ") != 1 || builds != 2 {
				t.Errorf("%d builds, said:\n%s\nwant %q", builds, said, tc.want)
			}
			stamp, err := os.ReadFile(stampPath(dir, APIServer))
			if err != nil || string(stamp) != mustFind(APIServer).stamp() {
				t.Errorf("stamp %q, %v", stamp, err)
			}
			if Executable(filepath.Join(dir, Kubectl)) {
				t.Error("kubectl of an archive that is not good was kept")
			}
		})
	}
}

// A server that accepts and never answers, and one that falls silent, in the time of a bubble.
func TestDownloadHangs(t *testing.T) {
	answer := func(length int, body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", length, body)
	}
	list := fmt.Sprintf("releases: {%[1]s: {envtest-%[1]s-%[2]s-%[3]s.tar.gz: {hash: x, selfLink: http://far.example/archive}}}",
		KubernetesVersion(), runtime.GOOS, runtime.GOARCH)
	for _, tc := range []struct {
		name, index, archive, want string
		took                       time.Duration
	}{
		{"no answer", "", "", "nothing came for 5s", connectLimit},
		{"half an index", answer(1000, "releases:"), "", "nothing came for 5s", connectLimit},
		{"no archive", answer(len(list), list), "", "nothing came for 15s", silenceLimit},
		{"half an archive", answer(len(list), list), answer(1000, "\x1f\x8b"), "nothing came for 15s", silenceLimit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(EnvIndex, "http://far.example/index")
			synctest.Test(t, func(t *testing.T) {
				transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					go func() {
						in := bufio.NewReader(far)
						for {
							request, err := http.ReadRequest(in)
							if err != nil {
								return
							}
							said := map[string]string{"/index": tc.index, "/archive": tc.archive}[request.URL.Path]
							_, _ = far.Write([]byte(said))
						}
					}()
					return near, nil
				}}
				defer transport.CloseIdleConnections()
				began := time.Now()
				err := download(t.Context(), Options{transport: transport}, t.TempDir())
				if took := time.Since(began); err == nil || !strings.Contains(err.Error(), tc.want) || took != tc.took {
					t.Errorf("after %s: %v, want %q after %s", took, err, tc.want, tc.took)
				}
			})
		})
	}
}

// The end of the context is the end of Ensure, and no reason to build.
func TestDownloadCancelled(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	t.Setenv(EnvIndex, server.URL)
	calls := fakeGo(t, succeed)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	opts := Options{Cache: t.TempDir()}
	if _, err := Ensure(ctx, opts, Etcd); err == nil || callCount(t, calls) != 0 {
		t.Errorf("%v, %d builds", err, callCount(t, calls))
	}
	assertNoWork(t, opts)
}
