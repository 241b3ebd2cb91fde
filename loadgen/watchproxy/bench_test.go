package watchproxy_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/watchproxy"
)

// BenchmarkEvent is one event of 3 KiB from a simulated apiserver to a client,
// without the proxy, through it, and through it with faults that look at each frame.
// cpu-µs/event is of the whole process, the simulated apiserver and client included.
func BenchmarkEvent(b *testing.B) {
	for _, how := range []string{"direct", "proxied", "proxied with faults"} {
		b.Run(how, func(b *testing.B) {
			s, err := apisim.New(apisim.Config{Resources: []apisim.Resource{apisim.Pods}, Window: 1_000_000})
			if err != nil {
				b.Fatal(err)
			}
			upstream := httptest.NewServer(s)
			defer upstream.Close()
			defer upstream.CloseClientConnections()
			host := upstream.URL
			if how != "direct" {
				c := watchproxy.DefaultConfig()
				if how != "proxied" {
					c.Faults = "truncate:0%, 410(mid):0%, close(1h)"
				}
				p, err := watchproxy.New(c, watchproxy.Settings{REST: &rest.Config{Host: host}})
				if err != nil {
					b.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- p.Run(b.Context()) }()
				b.Cleanup(func() { <-done })
				host = p.Config().Host
			}
			resp, err := http.Get(host + "/api/v1/pods?watch=1&resourceVersion=1000")
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			object := fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"p"},"spec":{"env":%q}}`, strings.Repeat("setting=value ", 200))
			in := bufio.NewReaderSize(resp.Body, 64<<10)
			before := cpu(b)
			b.ResetTimer()
			go func() {
				for range b.N {
					_, _ = s.Apply("pods", object)
				}
			}()
			for range b.N {
				if _, err := in.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-µs/event")
		})
	}
}

// cpu is the process's time so far in µs.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return (u.Utime.Sec+u.Stime.Sec)*1e6 + u.Utime.Usec + u.Stime.Usec
}
