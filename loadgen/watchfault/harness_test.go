package watchfault_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/watchfault"
)

const (
	podsPath = "/api/v1/pods"
	watching = podsPath + "?watch=1&resourceVersion=1000"
	stream   = podsPath + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
)

// world is a simulated apiserver with faults before it.
type world struct {
	*apisim.Server
	t *testing.T
}

func newWorld(t *testing.T, faults string) *world {
	t.Helper()
	s, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods, apisim.Nodes}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{s, t}
	w.add(faults)
	return w
}

func (w *world) add(faults string) {
	w.t.Helper()
	if err := w.Faults().Add(faults); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) put(name string) {
	w.t.Helper()
	if _, err := w.Apply("pods", fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":%q}}`, name)); err != nil {
		w.t.Fatal(err)
	}
}

// fired is how often the faults fired, in their order.
func (w *world) fired() string {
	var counts []string
	for _, f := range w.Faults().List() {
		counts = append(counts, fmt.Sprintf("%s %d/%d", f.Name, f.Fired, f.Keys))
	}
	return strings.Join(counts, ", ")
}

func (w *world) open(path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://apisim"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return pipetest.Direct(w.Server).RoundTrip(req)
}

// get is the answer's status and body, or the error.
func (w *world) get(path string) (int, http.Header, string) {
	w.t.Helper()
	resp, err := w.open(path)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, resp.Header, string(body) + err.Error()
	}
	return resp.StatusCode, resp.Header, string(body)
}

// reader reads the lines of a watch.
type reader struct {
	t      *testing.T
	cancel context.CancelFunc
	in     *bufio.Reader
}

func (w *world) watch(path string) *reader {
	w.t.Helper()
	resp, err := w.open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return &reader{w.t, func() { _ = resp.Body.Close() }, bufio.NewReader(resp.Body)}
}

// next is one line in short, or how the watch ended.
func (r *reader) next() string {
	line, err := r.in.ReadString('\n')
	if err == io.EOF && line != "" {
		return "cut"
	}
	if err != nil {
		return err.Error()
	}
	kind := watchfault.EventType([]byte(line))
	switch {
	case strings.Contains(line, "initial-events-end"):
		return "END"
	case kind == "":
		return strings.TrimSpace(line)
	case kind == "ERROR":
		at := strings.Index(line, `"code":`)
		return "ERROR " + strings.TrimRight(line[at+len(`"code":`):], "}\n")
	case kind == "BOOKMARK":
		return kind
	}
	_, name, _ := strings.Cut(line, `"name":"`)
	name, _, _ = strings.Cut(name, `"`)
	return kind + " " + name
}

func (r *reader) expect(want ...string) {
	r.t.Helper()
	for _, line := range want {
		if got := r.next(); got != line {
			r.t.Fatalf("line: %s, want %s", got, line)
		}
	}
}
