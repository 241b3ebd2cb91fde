package bcs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrdered(t *testing.T) {
	got := ordered([]string{
		"_c_b-10.0.0.2:8080" + "0000000012", "_c_a-10.0.0.1:8080" + "0000000003", "0000000001", "short",
		"_c_c-10.0.0.3:8080" + "0000000012", "_c_d-x00000000zz",
	})
	want := []string{"_c_a-10.0.0.1:80800000000003", "_c_b-10.0.0.2:80800000000012"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		in, internal, external string
		ok                     bool
	}{
		{`{"ip":"10.0.0.5","port":50024,"scheme":"http"}`, "http://10.0.0.5:50024", "http://10.0.0.5:50024", true},
		{`{"ip":"10.0.0.5","port":50024,"scheme":"https","external_ip":"192.0.2.1","external_port":443}`, "https://10.0.0.5:50024", "https://192.0.2.1:443", true},
		{`{"ip":"2001:db8::1","port":1,"scheme":"http"}`, "http://[2001:db8::1]:1", "http://[2001:db8::1]:1", true},
		{`{"ip":"10.0.0.5","port":50024}`, "", "", false},
		{`{"port":50024,"scheme":"http"}`, "", "", false},
		{`{"ip":"10.0.0.5","scheme":"http"}`, "", "", false},
		{`{"ip":"10.0.0.5","port":70000,"scheme":"http"}`, "", "", false},
		{`[]`, "", "", false},
		{``, "", "", false},
	} {
		s, err := parse([]byte(tc.in))
		if (err == nil) != tc.ok {
			t.Errorf("%s: error %v, want ok %v", tc.in, err, tc.ok)
			continue
		}
		if tc.ok && (s.Address(false) != tc.internal || s.Address(true) != tc.external) {
			t.Errorf("%s: got %s and %s", tc.in, s.Address(false), s.Address(true))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"ip":"10.0.0.5","port":50024,"scheme":"http"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parse(b); err == nil && (s.IP == "" || s.Port == 0) {
			t.Errorf("accepted %q", b)
		}
	})
}

// follow runs a Discovery until end is called or the test ends; seen has what it reports.
func follow(t *testing.T, c DiscoveryConfig, lookup func(context.Context, string) ([]string, error)) (seen <-chan []ServerInfo, end func()) {
	t.Helper()
	reports := make(chan []ServerInfo, 16) // more than a test makes changes
	c.OnChange = func(s []ServerInfo) { reports <- s }
	w, err := NewDiscovery(c)
	if err != nil {
		t.Fatal(err)
	}
	w.recheck = 100 * time.Millisecond
	if lookup != nil {
		w.lookup = lookup
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return reports, end
}

// await waits for a report of servers with the wanted addresses.
func await(t *testing.T, seen <-chan []ServerInfo, want ...string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	var got []string
	for {
		select {
		case servers := <-seen:
			got = nil
			for _, s := range servers {
				got = append(got, s.IP)
			}
			if slices.Equal(got, want) {
				return
			}
		case <-timeout:
			t.Fatalf("last saw %v, want %v", got, want)
		}
	}
}

// The path appears after the watch started, servers come and go, one of them
// writes nonsense, and the watch follows all of it.
func TestFollowsZooKeeper(t *testing.T) {
	addr := clustertest.ZooKeeper(t)
	seen, _ := follow(t, DiscoveryConfig{Hosts: addr, Path: PathNetService}, nil)
	c := clustertest.ZooKeeperClient(t, addr)
	for _, p := range []string{"/bcs", "/bcs/services", "/bcs/services/endpoints", PathNetService} {
		if _, err := c.Create(p, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	add := func(ip string) string {
		data := fmt.Appendf(nil, `{"ip":%q,"port":8080,"scheme":"http"}`, ip)
		p, err := c.CreateProtectedEphemeralSequential(path.Join(PathNetService, ip), data, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	await(t, seen)
	first := add("10.0.0.2")
	await(t, seen, "10.0.0.2")
	add("10.0.0.1")
	await(t, seen, "10.0.0.2", "10.0.0.1")
	if _, err := c.CreateProtectedEphemeralSequential(path.Join(PathNetService, "bad"), []byte("nonsense"), zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(first, -1); err != nil {
		t.Fatal(err)
	}
	await(t, seen, "10.0.0.1")
}

// Servers register with ACLs of their own: the original's with the digest of an empty
// user and password, which its public source has.
func TestDigestACL(t *testing.T) {
	addr := clustertest.ZooKeeper(t)
	for _, tc := range []struct{ name, user, password string }{
		{"none configured", "", ""},
		{"configured", "bcs", "se:cret"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := clustertest.ZooKeeperClient(t, addr)
			if err := c.AddAuth("digest", []byte(tc.user+":"+tc.password)); err != nil {
				t.Fatal(err)
			}
			dir := "/" + strings.ReplaceAll(tc.name, " ", "-")
			acl := zk.DigestACL(zk.PermAll, tc.user, tc.password)
			if _, err := c.Create(dir, nil, 0, acl); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CreateProtectedEphemeralSequential(dir+"/s", []byte(`{"ip":"10.0.0.2","port":8080,"scheme":"http"}`), acl); err != nil {
				t.Fatal(err)
			}
			seen, _ := follow(t, DiscoveryConfig{Hosts: addr, Path: dir, User: tc.user, Password: tc.password}, nil)
			await(t, seen, "10.0.0.2")

			var log bytes.Buffer
			seen, end := follow(t, DiscoveryConfig{Hosts: addr, Path: dir, User: "somebody", Password: "hush-hush",
				Logger: slog.New(slog.NewTextHandler(&log, nil))}, nil)
			time.Sleep(time.Second)
			end()
			if len(seen) > 0 || !strings.Contains(log.String(), "bcs.zkUser") || strings.Contains(log.String(), "hush-hush") {
				t.Errorf("with another user: %d reports, log %s", len(seen), &log)
			}
		})
	}
}

// relay stands for a host of ZooKeeper, whose connections freeze or end when told.
type relay struct {
	net.Listener
	to    string
	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newRelay(t *testing.T, at, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, to: to}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, in, out)
			r.mu.Unlock()
			go func() { _, _ = io.Copy(out, in) }()
			go func() { _, _ = io.Copy(in, out) }()
		}
	}()
	t.Cleanup(r.end)
	return r
}

func (r *relay) end() {
	_ = r.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
}

// A name that does not resolve is waited for. One that later means another machine, with
// a ZooKeeper that was set up anew and so is behind the first, is followed.
func TestServersMove(t *testing.T) {
	first, second := clustertest.ZooKeeper(t), clustertest.ZooKeeper(t)
	for addr, ip := range map[string]string{first: "10.0.0.1", second: "10.0.0.2"} {
		c := clustertest.ZooKeeperClient(t, addr)
		if addr == first { // make it the one that has seen more
			for range 50 {
				if _, err := c.Set("/", nil, -1); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := c.Create("/m", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateProtectedEphemeralSequential("/m/s", fmt.Appendf(nil, `{"ip":%q,"port":8080,"scheme":"http"}`, ip), zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	was := newRelay(t, "127.0.0.1:0", first)
	_, port, _ := net.SplitHostPort(was.Addr().String())
	var is atomic.Pointer[string]
	lookup := func(_ context.Context, host string) ([]string, error) {
		if ip := is.Load(); ip != nil && host == "zk.example" {
			return []string{*ip}, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	seen, _ := follow(t, DiscoveryConfig{Hosts: "zk.example:" + port + ",gone.example", Path: "/m"}, lookup)
	time.Sleep(300 * time.Millisecond) // a few lookups fail
	one, two := "127.0.0.1", "127.0.0.2"
	is.Store(&one)
	await(t, seen, "10.0.0.1")

	newRelay(t, net.JoinHostPort(two, port), second)
	is.Store(&two)
	was.end()
	await(t, seen, "10.0.0.2")
}

// A server that takes connections and answers nothing, or nonsense, holds nobody up.
func TestServerThatHangs(t *testing.T) {
	for name, reply := range map[string]string{"silent": "", "no ZooKeeper": "HTTP/1.1 400 Bad Request\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			dialed := make(chan net.Conn, 16) // more than there are tries
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(c, reply)
					dialed <- c
				}
			}()
			follow(t, DiscoveryConfig{Hosts: l.Addr().String(), Path: "/m"}, nil)
			for range 2 {
				select {
				case c := <-dialed:
					defer func() { _ = c.Close() }()
				case <-time.After(20 * time.Second):
					t.Fatal("not tried again within 20 s")
				}
			}
		})
	}
}

// No ZooKeeper at the address: Run waits, reports no servers, and ends when asked.
func TestRunEndsWithoutZooKeeper(t *testing.T) {
	w, err := NewDiscovery(DiscoveryConfig{Hosts: "127.0.0.1:1", Path: PathStorage, OnChange: func([]ServerInfo) { t.Error("servers out of nowhere") }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := w.Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestNoHost(t *testing.T) {
	if _, err := NewDiscovery(DiscoveryConfig{Hosts: " , ", Path: PathStorage}); err == nil {
		t.Error("accepted no host")
	}
}
