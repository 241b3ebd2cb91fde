package watchfault

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(p []byte) (int, error) { r.WriteHeader(http.StatusOK); return r.body.Write(p) }
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// ask sends a list of the same objects as r with other parameters, and decodes the answer.
func ask(next http.Handler, r *http.Request, params map[string]string) (list rawList, ok bool) {
	q := r.URL.Query()
	for _, name := range []string{"watch", "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds",
		"resourceVersion", "resourceVersionMatch", "limit", "continue"} {
		q.Del(name)
	}
	for name, value := range params {
		q.Set(name, value)
	}
	in := r.Clone(r.Context())
	in.URL.RawQuery = q.Encode()
	in.Header.Set("Accept", "application/json")
	in.Header.Del("Accept-Encoding")
	rec := &recorder{header: http.Header{}}
	next.ServeHTTP(rec, in)
	ok = rec.status == http.StatusOK && json.Unmarshal(rec.body.Bytes(), &list) == nil
	return list, ok
}

type rawList struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Items      []json.RawMessage `json:"items"`
	Metadata   struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// goBack changes a request so that a cache that is behind seems to answer it. If the server does not have so old a
// state the request stays as it is.
func (x *exchange) goBack(next http.Handler, r *http.Request, a *active) *http.Request {
	q := r.URL.Query()
	rv, err := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	if x.req.verb != Watch || err != nil || rv == 0 {
		now, ok := ask(next, r, map[string]string{"limit": "1"})
		if rv, err = strconv.ParseUint(now.Metadata.ResourceVersion, 10, 64); !ok || err != nil || rv == 0 {
			return r
		}
	}
	to := rv - min(a.Spec.Versions, rv-1)
	if x.req.verb == Stream {
		state, ok := ask(next, r, map[string]string{"resourceVersion": itoa(to), "resourceVersionMatch": "Exact"})
		if !ok {
			return r
		}
		x.streamState(r, state, to)
	}
	if !x.in.fire(a, x.req.path) {
		return r
	}
	r = r.Clone(r.Context())
	q.Set("resourceVersion", itoa(to))
	q.Del("resourceVersionMatch")
	q.Del("sendInitialEvents")
	r.URL.RawQuery = q.Encode()
	return r
}

func (x *exchange) streamState(r *http.Request, state rawList, rv uint64) {
	x.Header().Set("Content-Type", kubeapi.StatusType)
	kind := strings.TrimSuffix(state.Kind, "List")
	typed := kubeapi.Typed([]byte("{"), state.APIVersion, kind)
	for _, item := range state.Items {
		if !bytes.Contains(item[:min(len(item), 64)], []byte(`"kind":`)) {
			item = append(bytes.Clone(typed), item[1:]...)
		}
		if _, err := x.Write(kubeapi.AppendEvent(nil, "ADDED", item)); err != nil {
			return
		}
	}
	if on(r.URL.Query(), "allowWatchBookmarks") {
		_, _ = x.Write(kubeapi.AppendBookmark(nil, state.APIVersion, kind, rv, kubeapi.InitialEnd, ""))
	}
	_ = x.FlushError()
}
