package discovery

import (
	"context"
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/zktest"
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

// The path appears after the watch started, servers come and go, one of them
// writes nonsense, and the watch follows all of it.
func TestFollowsZooKeeper(t *testing.T) {
	addr := zktest.Start(t)
	seen := make(chan []ServerInfo, 16) // more than the test makes changes
	w, err := New(Config{Hosts: addr, Path: PathNetService, OnChange: func(s []ServerInfo) { seen <- s }})
	if err != nil {
		t.Fatal(err)
	}
	w.recheck = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	c := zktest.Client(t, addr)
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
	await := func(want ...string) {
		t.Helper()
		timeout := time.After(10 * time.Second)
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
	await()
	first := add("10.0.0.2")
	await("10.0.0.2")
	add("10.0.0.1")
	await("10.0.0.2", "10.0.0.1")
	if _, err := c.CreateProtectedEphemeralSequential(path.Join(PathNetService, "bad"), []byte("nonsense"), zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	await("10.0.0.2", "10.0.0.1")
	if err := c.Delete(first, -1); err != nil {
		t.Fatal(err)
	}
	await("10.0.0.1")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// No ZooKeeper at the address: Run waits, reports no servers, and ends when asked.
func TestRunEndsWithoutZooKeeper(t *testing.T) {
	w, err := New(Config{Hosts: "127.0.0.1:1", Path: PathStorage, OnChange: func([]ServerInfo) { t.Error("servers out of nowhere") }})
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
	if _, err := New(Config{Hosts: " , ", Path: PathStorage}); err == nil {
		t.Error("accepted no host")
	}
}
