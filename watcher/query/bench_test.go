package query_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/view"
)

// fill gives Pods of about 3 KiB, on nodes of which each has perNode.
func fill(s *server, n, perNode int) {
	var all []view.Difference
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		var env bytes.Buffer
		for k := range 24 {
			fmt.Fprintf(&env, `{"name":"SETTING_%d","value":"value of setting number %x"},`, k, r.Uint64())
		}
		spec := fmt.Sprintf(`,"spec":{"nodeName":"node-%d","containers":[{"name":"main","image":"registry.example/app:%d","env":[%s{"name":"LAST","value":"x"}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}],`+
			`"restartPolicy":"Always","serviceAccountName":"default","schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]},`+
			`"status":{"phase":"Running","podIP":"10.0.%d.%d","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"},{"type":"Initialized","status":"True"},{"type":"ContainersReady","status":"True"}]}`,
			i/perNode, i%7, env.String(), i/250, i%250)
		all = append(all, diff{Now: s.obj(pods, fmt.Sprintf("ns-%d", i%20), fmt.Sprintf("pod-%06d", i), map[string]string{"app": fmt.Sprintf("app-%d", i%100)}, spec)})
	}
	s.views[pods].Replaced(all, s.rv, time.Now())
}

// nowhere takes answers without a socket.
type nowhere struct {
	header http.Header
	bytes  int
}

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Write(p []byte) (int, error) { n.bytes += len(p); return len(p), nil }

// cpu starts counting the processor time of the process; what it returns reports the time of
// an operation, which a busy machine changes less than it does the time on the clock.
func cpu(b *testing.B) (report func()) {
	spent := func() (d time.Duration) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	from := spent()
	return func() { b.ReportMetric(float64((spent()-from).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}

func serveTo(b *testing.B, s *server, path string, header ...string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := &nowhere{header: http.Header{}}
	s.h.ServeHTTP(w, r) // builds an index
	b.ReportAllocs()
	runtime.GC()
	defer cpu(b)()
	b.ResetTimer()
	for range b.N {
		w.bytes = 0
		s.h.ServeHTTP(w, r)
	}
	b.ReportMetric(float64(w.bytes), "bytes/answer")
}

// BenchmarkHandler is the work of an answer without its socket.
func BenchmarkHandler(b *testing.B) {
	s := start(b)
	fill(s, 10_000, 30)
	for name, path := range map[string]string{
		"get": "/api/v1/namespaces/ns-7/pods/pod-000007", "list": "/api/v1/pods", "list by label": "/api/v1/pods?labelSelector=app%3Dapp-7", "list by field": "/api/v1/pods?fieldSelector=status.phase%3DFailed",
		"page of 500": "/api/v1/pods?limit=500", "discovery": "/api/v1",
	} {
		b.Run(name, func(b *testing.B) { serveTo(b, s, path) })
	}
	b.Run("table of 500", func(b *testing.B) { serveTo(b, s, "/api/v1/pods?limit=500", "Accept", tableForm) })
}

// BenchmarkIndexed finds 30 of 100,000.
func BenchmarkIndexed(b *testing.B) {
	s := start(b)
	fill(s, 100_000, 30)
	b.Run("index", func(b *testing.B) { serveTo(b, s, "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-77") })
	b.Run("scan", func(b *testing.B) { serveTo(b, s, "/api/v1/pods?fieldSelector=status.podIP%3D10.0.9.9") })
}

// BenchmarkList reads 10,000 Pods of 3 KiB over a socket.
func BenchmarkList(b *testing.B) {
	s := start(b)
	fill(s, 10_000, 30)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	buf := make([]byte, 1<<20)
	defer cpu(b)()
	b.ResetTimer()
	for range b.N {
		resp, err := client.Get(s.http.URL + "/api/v1/pods")
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, buf)
		_ = resp.Body.Close()
		if err != nil || n < 20<<20 {
			b.Fatal(n, err)
		}
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N), "B/list")
}

// BenchmarkFanOut changes one Pod and waits until 500 watchers have read it.
func BenchmarkFanOut(b *testing.B) {
	for _, selector := range []string{"", "&labelSelector=app%3Dapp-7", "&fieldSelector=metadata.name%3Dother"} {
		b.Run(selector, func(b *testing.B) { fanOut(b, selector) })
	}
}

func fanOut(b *testing.B, selector string) {
	const watchers = 500
	s := start(b)
	fill(s, 100, 30)
	old := s.get(pods, "ns-7", "pod-000007")
	got := make(chan struct{}, watchers)
	var all sync.WaitGroup
	for range watchers {
		w := s.watch(b, "/api/v1/pods?watch=true&resourceVersion=100"+selector)
		all.Go(func() {
			lines := bufio.NewScanner(w.resp.Body)
			lines.Buffer(make([]byte, 64<<10), 1<<20)
			for lines.Scan() {
				got <- struct{}{}
			}
		})
		b.Cleanup(w.close)
	}
	nobody := selector != "" && selector[1] == 'f'
	b.ReportAllocs()
	defer cpu(b)()
	b.ResetTimer()
	for range b.N {
		s.rv++
		now := *old
		now.ResourceVersion = s.rv
		s.views[pods].Changed(old, &now, s.rv, time.Now())
		old = &now
		for i := 0; i < watchers && !nobody; i++ {
			<-got
		}
		if nobody {
			time.Sleep(3 * time.Millisecond)
		}
	}
}
