package collector_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// bulkAPI serves n pods over TLS, as a streaming list or a plain one, and then a
// quiet watch. A pod is about 3 KiB and brings 1.5 KiB of managedFields.
type bulkAPI struct {
	n          int
	updates    int           // sent after a streaming list, one write each
	every      time.Duration // between updates
	head, tail string        // around what differs between pods
}

func newBulkAPI(n int) *bulkAPI {
	env := make([]string, 32)
	for i := range env {
		env[i] = fmt.Sprintf(`{"name":"SETTING_%02d","value":"value of setting number %d"}`, i, i)
	}
	fields := make([]string, 28)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"f:field%02d":{".":{},"f:name":{},"f:value":{}}`, i)
	}
	return &bulkAPI{
		n: n,
		head: `"creationTimestamp":"2026-05-04T10:20:30Z","labels":{"app":"web","pod-template-hash":"7d4b9c"},` +
			`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d4b9c","uid":"5a1e9a53-62a2-4e0c-a0d8-0d1c62f9e2f3","controller":true,"blockOwnerDeletion":true}],` +
			`"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-05-04T10:20:30Z","fieldsType":"FieldsV1","fieldsV1":{` + strings.Join(fields, ",") + `}}]},` +
			`"spec":{"containers":[{"name":"web","image":"registry.example/web:1.2.3","env":[` + strings.Join(env, ",") + `],"resources":{"limits":{"cpu":"500m","memory":"128Mi"}}}],"nodeName":"node-`,
		tail: `","restartPolicy":"Always","dnsPolicy":"ClusterFirst"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-05-04T10:20:40Z"}],"hostIP":"10.0.0.17"}}`,
	}
}

// pod writes pod i, with or without kind.
func (a *bulkAPI) pod(w *bufio.Writer, i int, typed bool) { a.podAt(w, i, typed, 1000+i) }

func (a *bulkAPI) podAt(w *bufio.Writer, i int, typed bool, rv int) {
	_ = w.WriteByte('{')
	if typed {
		_, _ = w.WriteString(`"kind":"Pod","apiVersion":"v1",`)
	}
	_, _ = fmt.Fprintf(w, `"metadata":{"name":"web-7d4b9c-%06d","namespace":"team-%02d","uid":"0b6f4c0e-8c0c-4f0b-9d7e-%012x","resourceVersion":"%d",`, i, i%20, i, rv)
	_, _ = w.WriteString(a.head)
	_, _ = fmt.Fprintf(w, "%03d", i%500)
	_, _ = w.WriteString(a.own(i))
	_, _ = w.WriteString(a.tail)
}

func (a *bulkAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 16<<10)
	rv := 1000 + a.n
	switch {
	case q.Get("watch") != "true":
		_, _ = fmt.Fprintf(out, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[`, rv)
		for i := range a.n {
			if i > 0 {
				_ = out.WriteByte(',')
			}
			a.pod(out, i, false)
		}
		_, _ = out.WriteString("]}\n")
		_ = out.Flush()
		return
	case q.Get("sendInitialEvents") == "true":
		for i := range a.n {
			_, _ = out.WriteString(`{"type":"ADDED","object":`)
			a.pod(out, i, true)
			_, _ = out.WriteString("}\n")
		}
		_, _ = out.WriteString(bookmarkFrame("Pod", rv, true))
		_ = out.Flush()
	}
	w.(http.Flusher).Flush()
	a.update(out, w.(http.Flusher).Flush, r.Context())
	<-r.Context().Done()
}

// update sends one change after another as an apiserver does: each by itself, in time, late ones at once.
func (a *bulkAPI) update(out *bufio.Writer, flush func(), ctx context.Context) {
	began := time.Now()
	for k := range a.updates {
		if wait := time.Until(began.Add(time.Duration(k) * a.every)); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
		_, _ = out.WriteString(`{"type":"MODIFIED","object":`)
		a.podAt(out, k%a.n, true, 1000+a.n+1+k)
		_, _ = out.WriteString("}\n")
		_ = out.Flush()
		flush()
	}
}

// own is what no other pod has, half a KiB that does not compress well: addresses,
// hashes and settings of each workload.
func (a *bulkAPI) own(i int) string {
	var b strings.Builder
	b.WriteString(`","hostname":"`)
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	for range 24 {
		_, _ = fmt.Fprintf(&b, "%016x.", rng.Uint64())
	}
	return b.String()
}

// serve starts the server with HTTP/1.1 and HTTP/2 over TLS.
func (a *bulkAPI) serve(t testing.TB) *httptest.Server {
	srv := httptest.NewUnstartedServer(a)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}
