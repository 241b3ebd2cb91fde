package notify_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/setting"
)

// names is a DNS server of a test: each name has its addresses, and each question after the
// first gets those of the next round, as one that rebinds gives them.
type names struct {
	rounds map[string][][]string

	mu    sync.Mutex
	asked map[string]int // guarded by mu
}

// serve starts the server and returns the resolver that asks it.
func (n *names) serve(t *testing.T) *net.Resolver {
	t.Helper()
	n.asked = map[string]int{}
	conn := must(net.ListenPacket("udp", "127.0.0.1:0"))
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
				continue
			}
			n.answer(&m)
			if reply, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) answer(m *dnsmessage.Message) {
	q := m.Questions[0]
	m.Response, m.Authoritative = true, true
	key := strings.TrimSuffix(q.Name.String(), ".")
	rounds := n.rounds[key]
	if len(rounds) == 0 {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	n.mu.Lock()
	round := n.asked[key+q.Type.String()]
	n.asked[key+q.Type.String()]++
	n.mu.Unlock()
	for _, a := range rounds[min(round, len(rounds)-1)] {
		ip := net.ParseIP(a)
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch v4 := ip.To4(); {
		case q.Type == dnsmessage.TypeA && v4 != nil:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: [4]byte(v4)}})
		case q.Type == dnsmessage.TypeAAAA && v4 == nil:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip)}})
		}
	}
}

// listener counts the connections that reach it.
type listener struct {
	net.Listener
	accepted atomic.Int64
}

func listen(t *testing.T, address string) *listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this machine has no %s: %v", address, err)
	}
	n := &listener{Listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.accepted.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return n
}

// TestRefused is F25 at the dial: each of these is refused before a connection is made, and
// those on which somebody listens see none.
func TestRefused(t *testing.T) {
	four, six := listen(t, "127.0.0.1:0"), listen(t, "[::1]:0")
	port4, port6 := four.Addr().(*net.TCPAddr).Port, six.Addr().(*net.TCPAddr).Port
	private := (&names{rounds: map[string][][]string{
		"loopback.example":  {{"127.0.0.1"}},
		"loopback6.example": {{"::1"}},
		"metadata.example":  {{"169.254.169.254"}},
		"mixed.example":     {{"127.0.0.1", "10.0.0.1", "::1", "fd00::1"}},
		"rebind.example":    {{"8.8.8.8"}, {"127.0.0.1"}}, // only the first answer would pass
	}}).serve(t)
	// A look at the name beforehand sees the public address; the dial is what counts.
	if a, err := private.LookupHost(t.Context(), "rebind.example"); err != nil || len(a) != 1 || a[0] != "8.8.8.8" {
		t.Fatalf("rebind.example is %v, %v", a, err)
	}
	plain := notify.NewDialer(notify.Egress{Allow: []string{"192.168.7.0/24", "fd77::/16"}}, private)
	at4, at6 := fmt.Sprint(port4), fmt.Sprint(port6)
	for _, address := range []string{
		"127.0.0.1:" + at4, "127.1.2.3:" + at4, "[::1]:" + at6, "[::ffff:127.0.0.1]:" + at4, "[::ffff:7f00:1]:" + at4, "0.0.0.0:" + at4, "[::]:" + at6,
		"[::127.0.0.1]:" + at4, // the deprecated form
		"localhost:" + at4, "loopback.example:" + at4, "loopback6.example:" + at6, "mixed.example:" + at4, "rebind.example:" + at4,
		"169.254.169.254:80", "metadata.example:80", "[fd00:ec2::254]:80", "[::ffff:169.254.169.254]:80", "100.100.100.200:80",
		"10.0.0.1:80", "172.16.0.1:80", "192.168.0.1:80", "100.64.0.1:80", "[fd00::1]:80", "[fc00::1]:80",
		"[fe80::1]:80", "224.0.0.1:80", "[ff02::1]:80", "255.255.255.255:80", "240.0.0.1:80", "0.1.2.3:80",
		"[64:ff9b::7f00:1]:" + at4, "[64:ff9b::a9fe:a9fe]:80", "[64:ff9b:1::7f00:1]:80", "[2002:7f00:1::]:80", "[2001:0:7f00:1::]:80", "[100::1]:80",
		"192.168.7.1:10250", "192.168.7.1:2379", // allowed networks, guarded ports
	} {
		t.Run(address, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			for how, dial := range map[string]func(context.Context, string, string) (net.Conn, error){"plain": plain.Dial, "TLS": plain.DialTLS} {
				conn, err := dial(ctx, "tcp", address)
				if err == nil {
					_ = conn.Close()
				}
				var blocked *notify.BlockedError
				if !errors.As(err, &blocked) {
					t.Errorf("%s: %v, want that the address is refused", how, err)
				}
			}
		})
	}
	if n := four.accepted.Load() + six.accepted.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// TestAllowed: what an operator names is reached, by address or by name, and only that.
func TestAllowed(t *testing.T) {
	l := listen(t, "127.0.0.2:0")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	r := (&names{rounds: map[string][][]string{"in.example": {{"127.0.0.2"}}, "out.example": {{"127.0.0.3"}}}}).serve(t)
	d := notify.NewDialer(notify.Egress{Allow: []string{"127.0.0.2/32"}}, r)
	for host, ok := range map[string]bool{"127.0.0.2": true, "::ffff:127.0.0.2": true, "in.example": true, "127.0.0.3": false, "out.example": false} {
		conn, err := d.Dial(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "name its network in allow") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestValidate: what is refused at the start, and that errors name the key.
func TestValidate(t *testing.T) {
	servers, brokers := []string{"nats://h:4222"}, []string{"h:9092"}
	for _, tc := range []struct {
		c    interface{ Validate() error }
		want string
	}{
		{notify.Egress{}, ""},
		{notify.Egress{Allow: []string{"10.96.0.0/12", "fd00::/8"}}, ""},
		{notify.Egress{Allow: []string{"10.0.0.0/8", "kube.local"}}, "allow[1]: "},
		{notify.Egress{Allow: []string{"10.0.0.1"}}, `allow[0]: invalid network "10.0.0.1", want 10.0.0.1/32 `},
		{notify.Egress{Allow: []string{"fd00::1"}}, `allow[0]: invalid network "fd00::1", want fd00::1/128 `},
		{notify.Egress{Allow: []string{"10.0.0.1/8"}}, "allow[0]: "},
		{notify.Egress{Allow: []string{"::ffff:10.0.0.0/104"}}, "allow[0]: "},
		{notify.Egress{CAFile: "/none"}, "caFile: "},
		{notify.Egress{CAFile: "egress_test.go"}, "caFile: "},
		{notify.Webhook{URL: "https://h/"}, ""},
		{notify.Webhook{URL: "ftp://h/"}, "url: "},
		{notify.Webhook{URL: "https://h/", SecretFile: "/none"}, "secretFile: "},
		{notify.Webhook{URL: "https://h/", SecretFile: "webhook_test.go"}, "secretFile: "},
		{notify.Webhook{URL: "https://h/", CAFile: "/none"}, "caFile: "},
		{notify.Webhook{URL: "https://h/", Allow: []string{"h"}}, "allow[0]: "},
		{notify.Webhook{URL: "https://h/", Timeout: -1}, "timeout: "},
		{notify.NATS{Servers: servers}, ""},
		{notify.NATS{Servers: servers, Subject: "a.b"}, ""},
		{notify.NATS{Servers: []string{"tls://h:4222", "http://h:4222"}}, "servers[1]: "},
		{notify.NATS{Servers: []string{"nats://u:p@h:4222"}}, "servers[0]: holds a user"},
		{notify.NATS{Servers: []string{"nats://h"}}, "servers[0]: "},
		{notify.NATS{Servers: []string{"nats://h:10250"}}, "servers[0]: port 10250"},
		{notify.NATS{Servers: []string{"nats://h:4222/x"}}, "servers[0]: "},
		{notify.NATS{Servers: servers, Subject: "a.{name"}, "subject: "},
		{notify.NATS{Servers: servers, CredentialsFile: "/none"}, "credentialsFile: "},
		{notify.NATS{Servers: servers, Timeout: -1}, "timeout: "},
		{notify.NATS{Servers: servers, Allow: []string{"host"}}, "allow[0]: "},
		{notify.Kafka{Brokers: brokers, Topic: "a.b_c-1"}, ""},
		{notify.Kafka{Brokers: []string{"h:9092", "kafka://h:1"}, Topic: "t"}, "brokers[1]: "},
		{notify.Kafka{Brokers: []string{"u@h:9092"}, Topic: "t"}, "brokers[0]: "},
		{notify.Kafka{Brokers: []string{"h:10250"}, Topic: "t"}, "brokers[0]: port 10250"},
		{notify.Kafka{Brokers: brokers}, "topic: "},
		{notify.Kafka{Brokers: brokers, Topic: "a b"}, "topic: "},
		{notify.Kafka{Brokers: brokers, Topic: strings.Repeat("t", 249)}, ""},
		{notify.Kafka{Brokers: brokers, Topic: strings.Repeat("t", 250)}, "topic: "},
		{notify.Kafka{Brokers: brokers, Topic: "t", CAFile: "/x"}, "caFile: has no use"},
		{notify.Kafka{Brokers: brokers, Topic: "t", TLS: true, CAFile: "/none"}, "caFile: "},
		{notify.Kafka{Brokers: brokers, Topic: "t", Timeout: setting.Duration(time.Millisecond)}, "timeout: "},
		{notify.Kafka{Brokers: brokers, Topic: "t", User: "u"}, "sasl: missing"},
		{notify.Kafka{Brokers: brokers, Topic: "t", SASL: "plain", User: "u"}, "sasl: plain shows"},
		{notify.Kafka{Brokers: brokers, Topic: "t", SASL: "md5"}, "sasl: "},
		{notify.Kafka{Brokers: brokers, Topic: "t", SASL: "scram-sha-256"}, "user: "},
		{notify.Kafka{Brokers: brokers, Topic: "t", SASL: "scram-sha-256", User: "u"}, "passwordFile: "},
		{notify.Kafka{Brokers: brokers, Topic: "t", Allow: []string{"10.0.0.1/8"}}, "allow[0]: "},
	} {
		err := tc.c.Validate()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
			t.Errorf("%T %+v: %v, want %q", tc.c, tc.c, err, tc.want)
		}
	}
}

// TestTLS: a server is verified, by a CA that is read again when it was replaced; an old version of TLS is refused.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	caFile := filepath.Join(dir, "ca.pem")
	right := must(certs.NewAuthority("right", time.Hour))
	wrong := must(certs.NewAuthority("wrong", time.Hour))
	serve := func(s certs.Server, version uint16) string {
		cert := must(right.Issue(s))
		l := must(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: version}))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.(*tls.Conn).Handshake()
				_ = c.Close()
			}
		}()
		t.Cleanup(func() { _ = l.Close(); <-done })
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return "localhost:" + port
	}
	good := serve(certs.Server{DNSNames: []string{"localhost"}}, 0)
	other := serve(certs.Server{DNSNames: []string{"other"}}, 0)
	old := serve(certs.Server{DNSNames: []string{"localhost"}}, tls.VersionTLS11)
	expired := serve(certs.Server{DNSNames: []string{"localhost"}, To: time.Now().Add(-time.Minute)}, 0)
	d := notify.NewDialer(notify.Egress{Allow: []string{"127.0.0.0/8", "::1/128"}, CAFile: caFile}, nil)
	write := func(a *certs.Authority, age time.Duration) {
		if err := os.WriteFile(caFile, a.PEM(), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(caFile, at, at); err != nil {
			t.Fatal(err)
		}
	}
	dial := func(address string) error {
		c, err := d.DialTLS(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	write(wrong, time.Minute)
	if err := dial(good); err == nil {
		t.Error("the wrong CA was believed")
	}
	write(right, 0)
	if err := dial(good); err != nil {
		t.Errorf("after the CA's file was replaced: %v", err)
	}
	for what, address := range map[string]string{"another host": other, "TLS 1.1": old, "an expired certificate": expired} {
		if err := dial(address); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// FuzzAllow: whatever is allowed, loopback passes only if it is in there.
func FuzzAllow(f *testing.F) {
	f.Add("10.0.0.0/8")
	f.Add("127.0.0.0/8")
	f.Add("::/0")
	f.Add("::ffff:127.0.0.0/104")
	f.Fuzz(func(t *testing.T, allow string) {
		c := notify.Egress{Allow: []string{allow}}
		if c.Validate() != nil {
			return
		}
		conn, err := notify.NewDialer(c, nil).Dial(t.Context(), "tcp", "127.0.0.1:1")
		if err == nil {
			_ = conn.Close()
		}
		var blocked *notify.BlockedError
		if within := netip.MustParsePrefix(allow).Contains(netip.MustParseAddr("127.0.0.1")); errors.As(err, &blocked) == within {
			t.Errorf("%q: %v", allow, err)
		}
	})
}
