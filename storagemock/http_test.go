package storagemock_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock"
)

// Requests as a client may send them, byte by byte.
func TestRequestsAsSent(t *testing.T) {
	m := start(t, nil)
	const (
		put   = "PUT /bcsstorage/v1/k8s/dynamic/cluster_resources/clusters/C/Role/"
		get   = "GET /bcsstorage/v1/k8s/dynamic/cluster_resources/clusters/C/Role/"
		head  = " HTTP/1.1\r\nHost: h\r\n"
		last  = "Connection: close\r\n"
		ok    = `{"result":true,"code":0,"message":"success","data":{}}`
		large = `{"result":false,"code":1405082,"message":"(bcs-storage):put resource failed. the body has `
	)
	if got := raw(t, m.Addrs()[0], put+"a:b%2Fc"+head+last+"Content-Length: 11\r\n\r\n"+`{"data":{}}`); !strings.HasSuffix(got, ok) {
		t.Fatal(got)
	}
	for name, tc := range map[string]struct{ raw, want string }{
		"raw colon":        {get + "a:b%2Fc" + head + last + "\r\n", `"resourceName":"a:b/c"`},
		"escaped colon":    {get + "a%3ab%2fc" + head + last + "\r\n", `"resourceName":"a:b/c"`},
		"slash":            {get + "a:b/c" + head + last + "\r\n", "404: Page Not Found"},
		"query":            {get + "a:b%2Fc?field=resourceName" + head + last + "\r\n", `","resourceName":"a:b/c"}}`},
		"absolute":         {strings.Replace(get, " /", " http://h/", 1) + "a:b%2Fc" + head + last + "\r\n", `"resourceName":"a:b/c"`},
		"bare newlines":    {strings.ReplaceAll(get+"a:b%2Fc"+head+last+"\r\n", "\r", ""), `"resourceName":"a:b/c"`},
		"http 1.0":         {get + "a:b%2Fc HTTP/1.0\r\n\r\n", `"resourceName":"a:b/c"`},
		"chunked":          {put + "x" + head + last + "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\n{\"d\r\n8\r\nata\":{}}\r\n0\r\nT: 1\r\n\r\n", ok},
		"expect":           {put + "x" + head + last + "Expect: 100-continue\r\nContent-Length: 11\r\n\r\n" + `{"data":{}}`, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"},
		"pipelined":        {put + "x" + head + "Content-Length: 11\r\n\r\n" + `{"data":{}}` + get + "x" + head + last + "\r\n", `"resourceName":"x"`},
		"after a close":    {get + "x" + head + last + "\r\n" + get + "x" + head + "\r\n", "Connection: close"},
		"large body":       {put + "x" + head + "Content-Length: 8388609\r\n\r\n", large + "8388609 bytes, the limit is 8388608"},
		"announced only":   {put + "x" + head + "Content-Length: 4611686018427387904\r\n\r\n", "HTTP/1.1 413 "},
		"bad chunk":        {put + "x" + head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "HTTP/1.1 400 "},
		"negative length":  {put + "x" + head + "Content-Length: -1\r\n\r\n", "HTTP/1.1 400 "},
		"other coding":     {put + "x" + head + "Transfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 501 "},
		"bad escape":       {get + "%zz" + head + "\r\n", "HTTP/1.1 400 "},
		"large head":       {get + "x" + head + "A: " + strings.Repeat("a", 128<<10) + "\r\n\r\n", "HTTP/1.1 431 "},
		"unknown endpoint": {"GET /x" + head + last + "\r\n", "404: Page Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			got := rawHalfClosed(t, m.Addrs()[0], tc.raw)
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
			want := map[string]int{"pipelined": 2}[name]
			if n := strings.Count(got, "HTTP/1.1 200"); n != max(want, 1) && strings.Contains(got, "HTTP/1.1 200") {
				t.Errorf("%d answers in %q", n, got)
			}
		})
	}
	if got := rawHalfClosed(t, m.Addrs()[0], put+"cut"+head+"Content-Length: 11\r\n\r\n{"); strings.Contains(got, "HTTP/1.1 200") || m.stored("cut") {
		t.Errorf("a body cut short was answered %q", got)
	}
}

// rawHalfClosed sends bytes, closes its half of the connection and returns all that comes back. The server may reset a
// connection of which it did not read everything.
func rawHalfClosed(t *testing.T, addr, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, text)
	_ = c.(*net.TCPConn).CloseWrite()
	b, _ := io.ReadAll(c)
	return string(b)
}

const rawPut = "PUT " + bcsapi.Base + podPath + "raw HTTP/1.1\r\nHost: m\r\nContent-Length: 11\r\n\r\n" + `{"data":{}}`

// readAll returns what comes on c until it ends, and when it ended.
func readAll(c net.Conn) <-chan string {
	got := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(c)
		got <- string(b)
	}()
	return got
}

func TestVirtualStopFinishesWhatIsInProgress(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) { c.Latency = "5s" }, func(v *virtual) {
		fresh, busy := v.dial(), v.dial()
		if _, err := io.WriteString(busy, rawPut); err != nil {
			v.t.Fatal(err)
		}
		freshEnd, answer := readAll(fresh), readAll(busy)
		time.Sleep(time.Second)
		v.cancel()
		if got := <-freshEnd; got != "" || time.Since(v.begin) != time.Second {
			v.t.Errorf("the fresh connection got %q, its end after %s", got, time.Since(v.begin))
		}
		got := <-answer
		if !strings.Contains(got, `"result":true`) || !strings.Contains(got, "Connection: close") || time.Since(v.begin) != 5*time.Second {
			v.t.Errorf("the request in progress got %q after %s", got, time.Since(v.begin))
		}
		v.done <- <-v.done
		if took := time.Since(v.begin); took > 6*time.Second {
			v.t.Errorf("stopping took until %s", took)
		}
	})
}

func TestVirtualStopCutsAfterTheGrace(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) { c.Latency = "1m" }, func(v *virtual) {
		busy := v.dial()
		if _, err := io.WriteString(busy, rawPut); err != nil {
			v.t.Fatal(err)
		}
		answer := readAll(busy)
		synctest.Wait()
		v.cancel()
		if got := <-answer; got != "" {
			v.t.Errorf("the request got %q", got)
		}
		v.done <- <-v.done
		if took := time.Since(v.begin); took != 10*time.Second || v.Ledger().Len() != 0 {
			v.t.Errorf("stopped after %s with %d entries, want 10s and none", took, v.Ledger().Len())
		}
	})
}

func TestVirtualStopDoesNotWaitForHungRequests(t *testing.T) {
	for _, fault := range []string{"blackhole", "late(1m)"} {
		inVirtualTime(t, func(c *storagemock.Config) { c.Faults = fault }, func(v *virtual) {
			hung := v.dial()
			if _, err := io.WriteString(hung, rawPut); err != nil {
				v.t.Fatal(err)
			}
			answer := readAll(hung)
			time.Sleep(40 * time.Second) // a hung request has no deadline
			v.cancel()
			if got := <-answer; got != "" || time.Since(v.begin) != 40*time.Second {
				v.t.Errorf("%s: got %q after %s", fault, got, time.Since(v.begin))
			}
			v.done <- <-v.done
			if took := time.Since(v.begin); took > 41*time.Second {
				v.t.Errorf("%s: stopping took until %s", fault, took)
			}
		})
	}
}

func TestVirtualSlowSenderIsCutOff(t *testing.T) {
	inVirtualTime(t, func(*storagemock.Config) {}, func(v *virtual) {
		for _, half := range []string{"GET / HT", rawPut[:len(rawPut)-3]} {
			c := v.dial()
			begin := time.Now()
			if _, err := io.WriteString(c, half); err != nil {
				v.t.Fatal(err)
			}
			if got := <-readAll(c); strings.Contains(got, " 200 ") || time.Since(begin) != 30*time.Second {
				v.t.Errorf("%q: got %q after %s", half, got, time.Since(begin))
			}
		}
		if v.Ledger().Len() != 0 {
			v.t.Errorf("%d entries in the ledger", v.Ledger().Len())
		}
	})
}

func TestVirtualIdleConnectionsStay(t *testing.T) {
	inVirtualTime(t, func(c *storagemock.Config) { c.Latency = "1m" }, func(v *virtual) {
		c := v.dial()
		buf := make([]byte, 4096)
		for i := range 3 {
			if _, err := io.WriteString(c, rawPut); err != nil {
				v.t.Fatal(err)
			}
			if n, err := c.Read(buf); err != nil || !strings.Contains(string(buf[:n]), `"result":true`) {
				v.t.Fatalf("request %d: %q, %v", i, buf[:n], err)
			}
			time.Sleep(10 * time.Minute)
		}
	})
}
