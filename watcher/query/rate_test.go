package query_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/query"
)

// rateClient is set in a process that asks: address, queries a second, number of queries.
const rateClient = "QUERY_RATE_CLIENT"

// rateConns ask in turn, so that each is due every rateConns queries.
const rateConns = 16

// BenchmarkGetAtRate has a process of its own ask 5,000 times a second, over plain HTTP as on
// loopback, and reports how long the answers took since each was due. It is warm: nothing is
// listed or indexed meanwhile.
func BenchmarkGetAtRate(b *testing.B) {
	for _, rate := range []int{1000, 5000} {
		b.Run(strconv.Itoa(rate), func(b *testing.B) { getAtRate(b, rate) })
	}
}

func getAtRate(b *testing.B, rate int) {
	c := newCluster()
	h, err := query.New(query.Default(), query.Settings{Kinds: c, Guard: access.Open()})
	if err != nil {
		b.Fatal(err)
	}
	fill(&server{cluster: c}, 10_000, 30)
	config := access.Default()
	config.Port = 0
	s, err := access.NewServer(b.Context(), config, access.ServerSettings{Handler: h, Guard: access.Open()})
	if err != nil {
		b.Fatal(err)
	}
	run(b, s.Run)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self)
	// The client collects its garbage seldom: what that costs is not what is measured.
	cmd.Env = append(os.Environ(), "GOGC=1000", fmt.Sprintf("%s=%s %d %d", rateClient, s.Addr(), rate, b.N))
	cmd.Stderr = os.Stderr
	runtime.GC()
	report := cpu(b)
	b.ResetTimer()
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	report()
	for line := range strings.Lines(string(out)) {
		var name string
		var v float64
		if _, err := fmt.Sscan(line, &name, &v); err != nil {
			b.Fatalf("%q: %v", line, err)
		}
		b.ReportMetric(v, name)
	}
	b.ReportMetric(0, "ns/op")
}

// askAtRate is the main of the process that asks. Each connection is a thread that sleeps and
// reads in the kernel: the runtime's own timers would have several queries start at once, each
// millisecond.
func askAtRate(task string) error {
	var address string
	var rate, total int
	if _, err := fmt.Sscan(task, &address, &rate, &total); err != nil {
		return err
	}
	took, late := make([]time.Duration, total), make([]time.Duration, total)
	failed := make([]error, rateConns)
	begin := time.Now().Add(50 * time.Millisecond)
	var all sync.WaitGroup
	for n := range rateConns {
		all.Go(func() {
			runtime.LockOSThread()
			failed[n] = func() error {
				c, err := connect(address)
				if err != nil {
					return err
				}
				defer c.Close()
				r := bufio.NewReader(c)
				for i := n; i < total; i += rateConns {
					due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
					if d := time.Until(due); d > 0 {
						pause := unix.NsecToTimespec(d.Nanoseconds())
						_ = unix.Nanosleep(&pause, nil)
					}
					late[i] = time.Since(due)
					if err := ask(c, r, i%10_000); err != nil {
						return fmt.Errorf("query %d: %w", i, err)
					}
					took[i] = time.Since(due)
				}
				return nil
			}()
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	slices.Sort(took)
	slices.Sort(late)
	for name, v := range map[string]time.Duration{"p50-µs": took[total/2], "p99-µs": took[total*99/100], "p99.9-µs": took[total*999/1000], "client-late-p99-µs": late[total*99/100]} {
		fmt.Println(name, v.Microseconds())
	}
	return nil
}

// connect returns a connection whose reads block their thread.
func connect(address string) (*os.File, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	f, err := c.(*net.TCPConn).File()
	if err == nil {
		err = unix.SetNonblock(int(f.Fd()), false)
	}
	return f, err
}

// ask gets the Pod of number n and checks that it is what comes.
func ask(c io.Writer, r *bufio.Reader, n int) error {
	name := fmt.Sprintf("pod-%06d", n)
	if _, err := fmt.Fprintf(c, "GET /api/v1/namespaces/ns-%d/pods/%s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n", n%20, name); err != nil {
		return err
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"name":"`+name+`"`)) || len(body) < 2000 {
		return fmt.Errorf("%s: %.200s", resp.Status, body)
	}
	return resp.Body.Close()
}
