package apisim_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// podBytes is about a pod of 3 KiB.
func podBytes(i int) []byte {
	return fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"p%d","labels":{"app":"web"}},"spec":{"env":%q}}`, i, strings.Repeat("setting=value ", 200))
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

// BenchmarkWatch: one change until as many watches over sockets have it.
func BenchmarkWatch(b *testing.B) {
	for _, watches := range []int{1, 20} {
		b.Run(fmt.Sprintf("watches=%d", watches), func(b *testing.B) {
			s := newServer(b, apisim.Config{Window: 100_000})
			srv := httptest.NewServer(s)
			defer srv.Close()
			defer srv.CloseClientConnections()
			done := make(chan int, watches)
			b.ResetTimer()
			for range watches {
				resp, err := http.Get(srv.URL + pods + "?watch=1&resourceVersion=1000")
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				go func() {
					in, n := bufio.NewReaderSize(resp.Body, 64<<10), 0
					for ; n < b.N; n++ {
						if _, err := in.ReadSlice('\n'); err != nil {
							break
						}
					}
					done <- n
				}()
			}
			object := podBytes(1)
			for range b.N {
				if _, err := s.Apply("pods", object); err != nil {
					b.Fatal(err)
				}
			}
			for range watches {
				if n := <-done; n != b.N {
					b.Fatalf("%d of %d events", n, b.N)
				}
			}
		})
	}
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
