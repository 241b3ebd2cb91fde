package apisim_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/procstat"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// podBytes is about a pod of 3 KiB.
func podBytes(i int) []byte {
	return fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"p%d","labels":{"app":"web","shard":"%d"}},"spec":{"nodeName":"node-%d","env":%q},"status":{"phase":"Running"}}`,
		i, i%100, i%100, strings.Repeat("setting=value ", 200))
}

// BenchmarkApply: one change without watches.
func BenchmarkApply(b *testing.B) {
	s := newServer(b, apisim.Config{})
	object := podBytes(1)
	b.SetBytes(int64(len(object)))
	for b.Loop() {
		if _, err := s.Apply("pods", object); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatch: one change until as many watches over sockets have it. events/cpu-s is
// how many of them a second of processor time carries: the server's, the writes' and the
// clients' reading together. With selectors, the events are those that were written.
func BenchmarkWatch(b *testing.B) {
	for _, c := range []struct {
		name, query string
		watches     int
	}{
		{"watches=1", "", 1},
		{"watches=20", "", 20},
		{"selectors=100", "&labelSelector=app%3Dweb,shard%3D{i}", 100}, // each sees a hundredth
		{"nodes=100", "&fieldSelector=spec.nodeName%3Dnode-{i}", 100},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkWatch(b, c.query, c.watches) })
	}
}

func benchmarkWatch(b *testing.B, query string, watches int) {
	s := newServer(b, apisim.Config{})
	srv := httptest.NewServer(s)
	defer srv.Close()
	defer srv.CloseClientConnections()
	var seen atomic.Int64
	all := make(chan struct{})
	want := int64(b.N)
	if query == "" {
		want *= int64(watches)
	}
	for i := range watches {
		resp, err := http.Get(srv.URL + pods + "?watch=1&resourceVersion=1000" + strings.ReplaceAll(query, "{i}", strconv.Itoa(i)))
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		go func() {
			in := bufio.NewReaderSize(resp.Body, 64<<10)
			for {
				if _, err := in.ReadSlice('\n'); err != nil {
					return
				}
				if seen.Add(1) == want {
					close(all)
				}
			}
		}()
	}
	objects := make([][]byte, 100)
	for i := range objects {
		objects[i] = podBytes(i)
	}
	b.SetBytes(int64(len(objects[0])))
	before := cpuTime(b)
	b.ResetTimer()
	for i := range b.N {
		if _, err := s.Apply("pods", objects[i%len(objects)]); err != nil {
			b.Fatal(err)
		}
		if i%1000 == 0 {
			if err := s.AwaitReaders(b.Context(), "pods", 5000); err != nil {
				b.Fatal(err)
			}
		}
	}
	select {
	case <-all:
	case <-time.After(time.Minute):
		b.Fatalf("%d of %d events", seen.Load(), want)
	}
	b.ReportMetric(float64(want)/(cpuTime(b)-before).Seconds(), "events/cpu-s")
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	p, err := procstat.Open(os.Getpid())
	if err != nil {
		b.Skip(err)
	}
	u, err := p.Usage()
	if err != nil {
		b.Fatal(err)
	}
	return u.CPU
}

// BenchmarkList: a list of 10,000 pods, after a change.
func BenchmarkList(b *testing.B) {
	s := newServer(b, apisim.Config{})
	for i := range 10_000 {
		if _, err := s.Apply("pods", podBytes(i)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.Apply("pods", podBytes(7)); err != nil {
			b.Fatal(err)
		}
		resp := open(b.Context(), b, s, pods)
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
		_ = resp.Body.Close()
	}
}

// BenchmarkPutNew: one more object, without watches.
func BenchmarkPutNew(b *testing.B) {
	s := newServer(b, apisim.Config{})
	for i := range b.N {
		if _, err := s.Apply("pods", podBytes(i)); err != nil {
			b.Fatal(err)
		}
	}
}
