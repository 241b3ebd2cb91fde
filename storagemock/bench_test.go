package storagemock_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/storagemock"
)

// benchServerEnv makes the test binary a server, so that its CPU time is
// measured apart from the client's.
const benchServerEnv = "STORAGEMOCK_BENCH_SERVER"

// serveForBenchmark runs in the child process: it prints its address, serves
// until standard input ends, and prints what it used.
func serveForBenchmark() int {
	cfg := storagemock.DefaultConfig()
	cfg.Latency = os.Getenv(benchServerEnv)
	debug.SetGCPercent(50) // as the command does
	s, err := storagemock.New(cfg, storagemock.Settings{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	fmt.Println(s.Addrs()[0])
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	err = <-done
	// Walking the ledger costs CPU and memory of its own: look first.
	used, rss := cpuTime(), peakMemory()
	var sum int64
	for e := range s.Ledger().From(1) {
		sum += e.Responded - e.Received
	}
	fmt.Printf("%d %d %d %d\n", s.Ledger().Len(), used.Microseconds(), sum/1000, rss)
	if err != nil {
		return 1
	}
	return 0
}

// cpuTime is user and system time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMemory is this process's highest resident memory in KiB.
func peakMemory() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Maxrss
}

// podBody is a PUT body of about that many bytes.
func podBody(name, uid string, version, size int) []byte {
	head := fmt.Sprintf(`{"data":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"web"},"name":%q,"namespace":"bench","resourceVersion":"%d","uid":%q},"spec":{"env":[`, name, version, uid)
	var b bytes.Buffer
	b.WriteString(head)
	for i := 0; b.Len() < size-40; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"VARIABLE_%02d","value":"some value of %d"}`, i, i)
	}
	b.WriteString(`]}}}`)
	return b.Bytes()
}

// BenchmarkPut sends PUTs of 3 KiB over keep-alive connections to a server in
// another process, with the ledger on and without latency. The server's CPU is its
// own user and system time (getrusage at its end), start-up included. The client
// writes prepared requests, so that it costs little; it still shares the machine.
//
//	go test ./storagemock -run '^$' -bench Put -benchtime 50000x -count 5
func BenchmarkPut(b *testing.B) {
	for _, conns := range []int{1, 32} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) { benchPut(b, conns, 0) })
	}
	const rate = 1000
	b.Run(fmt.Sprintf("conns=32,rate=%d", rate), func(b *testing.B) { benchPut(b, 32, rate) })
}

// served is what a server in a child process reports at its end: its ledger's
// length, its CPU time and the sum of its service times in microseconds, and its
// peak resident memory in KiB.
type served struct{ entries, cpu, service, rss int64 }

// startServer starts a server in a child process; stop ends it.
func startServer(b *testing.B, latency string) (addr string, stop func() served) {
	b.Helper()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), benchServerEnv+"="+latency)
	server.Stderr = os.Stderr
	stdin, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	if addr, err = lines.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(addr), func() (end served) {
		if err := stdin.Close(); err != nil {
			b.Fatal(err)
		}
		if _, err := fmt.Fscan(lines, &end.entries, &end.cpu, &end.service, &end.rss); err != nil {
			b.Fatal(err)
		}
		if err := server.Wait(); err != nil {
			b.Fatal(err)
		}
		return end
	}
}

// BenchmarkLatency reports the mean latency a client sees, and by how much it
// misses the configured one, which with 3,000 draws has a standard error of 0.2 %.
func BenchmarkLatency(b *testing.B) {
	for _, tc := range []struct {
		spec  string
		mean  time.Duration
		conns int
	}{
		{"5ms", 5 * time.Millisecond, 1},
		{"5ms", 5 * time.Millisecond, 30},
		{"87ms", 87 * time.Millisecond, 300},
		{"lognormal(mean=20ms,p99=30ms)", 20 * time.Millisecond, 8},
		{"lognormal(mean=87ms,p99=110ms)", 87 * time.Millisecond, 30},
	} {
		b.Run(fmt.Sprintf("%s/conns=%d", tc.spec, tc.conns), func(b *testing.B) {
			addr, stop := startServer(b, tc.spec)
			b.ResetTimer()
			var wg sync.WaitGroup
			var waited atomic.Int64
			share := max(1, b.N/tc.conns)
			for w := range tc.conns {
				wg.Go(func() {
					d, err := putMany(addr, w, share, 0)
					if err != nil {
						b.Error(err)
					}
					waited.Add(int64(d))
				})
			}
			wg.Wait()
			b.StopTimer()
			end := stop()
			inside := float64(end.service) / float64(max(1, end.entries)) / 1e3
			b.ReportMetric(inside, "server-mean-ms")
			mean := time.Duration(waited.Load()) / time.Duration(share*tc.conns)
			b.ReportMetric(mean.Seconds()*1e3, "mean-ms")
			b.ReportMetric(100*(mean.Seconds()/tc.mean.Seconds()-1), "error-%")
		})
	}
}

// benchPut sends b.N PUTs as fast as the server answers or, if rate is not 0, at that
// many per second over all connections.
func benchPut(b *testing.B, conns, rate int) {
	addr, stop := startServer(b, "0s")
	size := len(podBody("pod-00000", "4bd5a5a3-2d2a-4d1c-8d9a-000000000000", 10, 3072))
	clientBefore := cpuTime()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range conns {
		share := b.N / conns
		if w < b.N%conns {
			share++
		}
		wg.Go(func() {
			var every time.Duration
			if rate > 0 {
				every = time.Duration(conns) * time.Second / time.Duration(rate)
			}
			if _, err := putMany(addr, w, share, every); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	elapsed := b.Elapsed()
	client := cpuTime() - clientBefore
	end := stop()
	if end.entries != int64(b.N) {
		b.Errorf("the ledger has %d entries for %d requests", end.entries, b.N)
	}
	b.SetBytes(int64(size))
	b.ReportMetric(float64(b.N)/elapsed.Seconds(), "PUT/s")
	b.ReportMetric(float64(end.cpu)/float64(b.N), "server-cpu-µs/op")
	b.ReportMetric(float64(end.cpu)/1e4/elapsed.Seconds(), "server-%-of-a-core")
	b.ReportMetric(float64(client.Microseconds())/float64(b.N), "client-cpu-µs/op")
}

// putMany sends n PUTs over one connection, each after the answer to the one before
// and not more often than every so often, cycling through a hundred pods. It returns
// the sum of its waits.
func putMany(addr string, worker, n int, every time.Duration) (waited time.Duration, err error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	requests := make([][]byte, 100)
	for i := range requests {
		name := fmt.Sprintf("pod-%02d-%03d", worker, i)
		body := podBody(name, fmt.Sprintf("4bd5a5a3-2d2a-4d1c-8d9a-%012x", worker*100+i), i+1, 3072)
		requests[i] = fmt.Appendf(nil, "PUT /bcsstorage/v1/k8s/dynamic/namespace_resources/clusters/BCS-K8S-90001/namespaces/bench/Pod/%s HTTP/1.1\r\n"+
			"Host: %s\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: %d\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n%s", name, addr, len(body), body)
	}
	want := []byte(`"result":true`)
	buf := make([]byte, 4096)
	first := time.Now().Add(every * time.Duration(worker%32) / 32)
	for i := range n {
		if every > 0 {
			time.Sleep(time.Until(first.Add(time.Duration(i) * every)))
		}
		begin := time.Now()
		if _, err := c.Write(requests[i%len(requests)]); err != nil {
			return 0, err
		}
		got := 0
		for !bytes.HasSuffix(buf[:got], []byte("}}")) {
			m, err := c.Read(buf[got:])
			if err != nil {
				return 0, err
			}
			got += m
		}
		if !bytes.Contains(buf[:got], want) {
			return 0, fmt.Errorf("request %d: %s", i, buf[:got])
		}
		waited += time.Since(begin)
	}
	return waited, nil
}
