package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p-%d","namespace":"ns","uid":"u","resourceVersion":"%d",` +
	`"annotations":{"pad":"` + "%s" + `"},"managedFields":[{"manager":"m","fieldsV1":{"f:x":{"f:y, }":{}}}}]},"spec":{"managedFields":1}}`

func podJSON(i int) string { return fmt.Sprintf(pod, i, 10+i, strings.Repeat("x", 2500)) }

// cutPod is what storage is to get of it.
func cutPod(i int) string {
	before, after, _ := strings.Cut(podJSON(i), `,"managedFields":[`)
	_, after, _ = strings.Cut(after, "]")
	return before + after
}

func TestFrames(t *testing.T) {
	line := []byte(`{"type":"MODIFIED","object":` + podJSON(1) + "}\n")
	var f frame
	if err := f.parse(line); err != nil || f.verb != "MODIFIED" || f.namespace != "ns" || f.name != "p-1" {
		t.Fatalf("%v, %+v", err, f)
	}
	if got := string(f.line[f.object.Start:f.managedFields.Start]) + string(f.line[f.managedFields.End:f.object.End]); got != cutPod(1) || !json.Valid([]byte(got)) {
		t.Errorf("without managedFields: %s", got)
	}
	for _, bad := range []string{"", "{", `{"type":1}`, `{"object":[]}`, `{"object":{"metadata":{"name":7}}}`} {
		if err := new(frame).parse([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// The relay moves what it is sent to storage, and nothing else.
func TestRelay(t *testing.T) {
	const pods = 200
	release, ended := make(chan struct{}), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sendInitialEvents") != "true" {
			t.Errorf("asked for %s", r.URL)
		}
		if r.URL.Path == "/api/v1/pods" {
			for i := range pods {
				fmt.Fprintf(w, "{\"type\":\"ADDED\",\"object\":%s}\n", podJSON(i))
			}
			fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"999"}}}`)
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-ended:
				return
			}
			fmt.Fprintf(w, "{\"type\":\"DELETED\",\"object\":%s}\n", podJSON(0))
		} else {
			fmt.Fprintln(w, `{"type":"ADDED","object":{"kind":"Namespace","metadata":{"name":"ns"}}}`)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer api.Close()
	defer close(ended)
	mock := startMock(t)
	c := configFor(t, api.URL, mock.Addrs()[0])
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- relay(ctx, c) }()

	await(t, "all pods and the namespace", done, func() bool { return mock.Store().Live() == pods+1 })
	close(release)
	await(t, "the deletion", done, func() bool { return mock.Store().Live() == pods })
	if n := mock.Ledger().Len(); n != pods+2 {
		t.Errorf("%d requests for %d events", n, pods+2)
	}
	resp, err := http.Get("http://" + mock.Addrs()[0] + "/bcsstorage/v1/k8s/dynamic/namespace_resources/clusters/BCS-K8S-90001/namespaces/ns/Pod/p-7")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	var env struct {
		Data struct{ Data json.RawMessage }
	}
	var holds, want any
	err = errors.Join(json.Unmarshal(body, &env), json.Unmarshal(env.Data.Data, &holds), json.Unmarshal([]byte(cutPod(7)), &want))
	if err != nil || !reflect.DeepEqual(holds, want) {
		t.Errorf("%v, storage holds %.300s, want %.300s", err, body, cutPod(7))
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// What fails ends it: a floor that goes on with less work would look cheaper.
func TestRelayEndsWithAnError(t *testing.T) {
	for name, answer := range map[string]string{"an error event": `{"type":"ERROR","object":{"code":410}}`, "the end of the watch": "", "junk": "{]"} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, answer) }))
		err := relay(t.Context(), configFor(t, api.URL, startMock(t).Addrs()[0]))
		if api.Close(); err == nil || !strings.HasPrefix(err.Error(), "watch ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bytes on the wire are those of the watcher, but for the name of the program.
func TestRequestsAreTheWatchers(t *testing.T) {
	line := []byte(`{"type":"ADDED","object":` + podJSON(3) + "}\n")
	var f frame
	if err := f.parse(line); err != nil {
		t.Fatal(err)
	}
	f.kind = "Pod"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	for _, verb := range []string{"ADDED", "DELETED"} {
		sizes := make(chan int, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			n := 0
			for buf := make([]byte, 1<<16); ; {
				// The rest of a request that was written in one call is there.
				_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				m, err := c.Read(buf)
				if n += m; err != nil {
					sizes <- n
					return
				}
			}
		}()
		cfg := storage.Default()
		cfg.Endpoints, cfg.ClusterID, cfg.Timeout = []string{"http://" + addr}, "BCS-K8S-90001", 600*time.Millisecond
		client, err := storage.New(cfg, storage.Settings{Registry: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		o := &object.Object{Key: object.Key{Kind: "Pod", Namespace: "ns", Name: "p-3"}, Raw: []byte(cutPod(3))}
		if verb == "ADDED" {
			_ = client.Put(t.Context(), o) // nobody answers
		} else {
			_ = client.Delete(t.Context(), o.Key, "u")
		}
		theirs := <-sizes
		s := newSender(addr, 1)
		f.verb = verb
		go func() { _ = s.send(t.Context(), "BCS-K8S-90001", &f) }()
		ours := <-s.jobs
		if want := theirs + len("watchfloor") - len("k8s-watch"); len(ours) != want {
			t.Errorf("%s: %d bytes, the watcher writes %d:\n%.400s", verb, len(ours), theirs, ours)
		}
	}
}

func startMock(t *testing.T) *storagemock.Server {
	t.Helper()
	cfg := storagemock.DefaultConfig()
	cfg.Listen, cfg.Latency = "127.0.0.1:0", "0s"
	mock, err := storagemock.New(cfg, storagemock.Settings{Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mock.Run(ctx) }()
	t.Cleanup(func() {
		if stop(); <-done != nil {
			t.Error("the mock failed")
		}
	})
	return mock
}

// configFor writes a watcher's configuration and reads it.
func configFor(t *testing.T, api, storage string) config {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"kubeconfig":   "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: '" + api + "'}}]\n",
		"filter.json":  `{"apiResourceSpecification": [{"groupVersion": "v1", "resourceKinds": ["Pod", "Namespace"]}]}`,
		"watcher.json": fmt.Sprintf(`{"default": {"clusterID": "BCS-K8S-90001"}, "bcs": {"custom-storage-endpoints": "http://%s", "podQueueNum": 8}, "k8s": {"kubeconfig": %q}, "filterConfigPath": %q}`, storage, dir+"/kubeconfig", dir+"/filter.json"),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readConfig(filepath.Join(dir, "watcher.json"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// await waits for a condition, but not longer than the relay runs.
func await(t *testing.T, what string, done <-chan error, holds func() bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for !holds() {
		select {
		case err := <-done:
			t.Fatalf("%s did not come: %v", what, err)
		case <-limit:
			t.Fatalf("%s did not come", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
