package apisim_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

func TestMain(m *testing.M) {
	pipetest.ForBubbles()
	goleak.VerifyTestMain(clustertest.Shared(m))
}

// newServer serves pods, nodes and deployments.
func newServer(t testing.TB, c apisim.Config) *apisim.Server {
	t.Helper()
	if c.Resources == nil {
		c.Resources = []apisim.Resource{apisim.Pods, apisim.Nodes, apisim.Deployments}
	}
	s, err := apisim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put applies a pod "ns/name"; more is further members of its metadata.
func put(t testing.TB, s *apisim.Server, path, more string) apisim.Object {
	t.Helper()
	ns, name, _ := strings.Cut(path, "/")
	if more != "" {
		more = "," + more
	}
	o, err := s.Apply("pods", fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q%s},"spec":{}}`, ns, name, more))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func remove(t testing.TB, s *apisim.Server, path string) apisim.Object {
	t.Helper()
	ns, name, _ := strings.Cut(path, "/")
	o, err := s.Delete("pods", ns, name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// get requests a path and returns status, header and body.
func get(t testing.TB, s http.Handler, path string, accept ...string) (int, http.Header, string) {
	t.Helper()
	resp := open(t.Context(), t, s, path, accept...)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func open(ctx context.Context, t testing.TB, s http.Handler, path string, accept ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://apisim"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range accept {
		req.Header.Add("Accept", a)
	}
	resp, err := pipetest.Direct(s).RoundTrip(req)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return resp
}

// list is a decoded list.
type list struct {
	Kind, APIVersion string
	Metadata         struct {
		ResourceVersion, Continue string
		RemainingItemCount        int
	}
	Items []item
}

type item struct {
	Kind, APIVersion string
	Metadata         struct {
		Name, Namespace, UID, ResourceVersion string
		Annotations                           map[string]string
	}
}

func (l list) names() string {
	var names []string
	for _, i := range l.Items {
		names = append(names, i.Metadata.Name)
	}
	return strings.Join(names, " ")
}

func getList(t testing.TB, s http.Handler, path string) list {
	t.Helper()
	status, _, body := get(t, s, path)
	var l list
	if err := json.Unmarshal([]byte(body), &l); err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d %v %s", path, status, err, body)
	}
	return l
}

// status is a decoded Status.
type status struct {
	Kind, Status, Message, Reason string
	Code                          int
	Metadata                      struct{ Continue string }
	Details                       struct {
		RetryAfterSeconds int
		Causes            []struct{ Reason, Message string }
	}
}

func getStatus(t testing.TB, s http.Handler, path string, accept ...string) status {
	t.Helper()
	code, _, body := get(t, s, path, accept...)
	var st status
	if err := json.Unmarshal([]byte(body), &st); err != nil || st.Kind != "Status" || st.Status != "Failure" || st.Code != code {
		t.Fatalf("GET %s: %d %v %s", path, code, err, body)
	}
	return st
}

// watching is an open watch whose frames are read one by one.
type watching struct {
	t    testing.TB
	body io.Closer
	in   *bufio.Reader
}

func watch(t testing.TB, s http.Handler, path string) *watching {
	t.Helper()
	resp := open(t.Context(), t, s, path)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("WATCH %s: %s %s", path, resp.Status, text)
	}
	w := &watching{t, resp.Body, bufio.NewReader(resp.Body)}
	t.Cleanup(w.stop)
	return w
}

func (w *watching) stop() { _ = w.body.Close() }

// next is the next frame as "TYPE name@version", or how the watch ended.
func (w *watching) next() string {
	line, err := w.in.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	var f struct {
		Type   string
		Object struct {
			item
			Code int
		}
	}
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		return fmt.Sprintf("%v: %s", err, line)
	}
	switch f.Type {
	case "ERROR":
		return fmt.Sprintf("ERROR %d", f.Object.Code)
	case "BOOKMARK":
		if f.Object.Metadata.Annotations["k8s.io/initial-events-end"] == "true" {
			return "END @" + f.Object.Metadata.ResourceVersion
		}
	}
	return fmt.Sprintf("%s %s@%s", f.Type, f.Object.Metadata.Name, f.Object.Metadata.ResourceVersion)
}

func (w *watching) expect(want ...string) {
	w.t.Helper()
	for _, line := range want {
		if got := w.next(); got != line {
			w.t.Fatalf("frame: %s, want %s", got, line)
		}
	}
}
