package notify_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/watcher/notify"
)

// startNATS runs a real server with JetStream; port -1 is any.
func startNATS(t *testing.T, dir string, port int, more func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true}
	if more != nil {
		more(o)
	}
	s := must(server.NewServer(o))
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not startNATS")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// makeStream makes the makeStream that has all subjects below k8s.
func makeStream(t *testing.T, s *server.Server, more func(*jetstream.StreamConfig)) jetstream.Stream {
	t.Helper()
	conn := must(client.Connect(s.ClientURL(), client.MaxReconnects(-1), client.ReconnectWait(50*time.Millisecond)))
	t.Cleanup(conn.Close)
	js := must(jetstream.New(conn))
	c := jetstream.StreamConfig{Name: "K8S", Subjects: []string{"k8s.>"}, Storage: jetstream.FileStorage}
	if more != nil {
		more(&c)
	}
	made := must(js.CreateStream(t.Context(), c))
	return made
}

func natsTarget(t *testing.T, s *server.Server, c notify.NATS) *notify.NATSTarget {
	t.Helper()
	if c.Servers == nil {
		c.Servers = []string{s.ClientURL()}
	}
	if c.Allow == nil {
		c.Allow = []string{"127.0.0.0/8"}
	}
	made := must(notify.NewNATS(c))
	t.Cleanup(made.Close)
	return made
}

func natsEvent(name string, version int) notify.Event {
	return notify.Event{
		ID: "u-" + name + ":" + strconv.Itoa(version) + ":MODIFIED", Type: "MODIFIED", Version: "v1", Resource: "pods",
		Namespace: "n", Name: name, UID: "u-" + name, Body: fmt.Appendf(nil, `{"type":"MODIFIED","object":{"v":%d}}`, version),
	}
}

// messages are those that the makeStream has, in order.
func messages(t *testing.T, s jetstream.Stream) (all []*jetstream.RawStreamMsg) {
	t.Helper()
	info := must(s.Info(t.Context()))
	for seq := info.State.FirstSeq; seq > 0 && seq <= info.State.LastSeq; seq++ {
		m := must(s.GetMsg(t.Context(), seq))
		all = append(all, m)
	}
	return all
}

// TestNATSDeliver: a message has the body, the id and a subject of its own, and one that is
// delivered again is there once.
func TestNATSDeliver(t *testing.T) {
	s := startNATS(t, t.TempDir(), -1, nil)
	st := makeStream(t, s, nil)
	to := natsTarget(t, s, notify.NATS{})
	for _, e := range []notify.Event{natsEvent("a.b", 1), natsEvent("a.b", 1), natsEvent("*", 2)} {
		if err := to.Deliver(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	all := messages(t, st)
	if len(all) != 2 {
		t.Fatalf("%d messages, want 2", len(all))
	}
	if m := all[0]; m.Subject != "k8s._.v1.pods.n.a%2Eb" || m.Header.Get("Nats-Msg-Id") != "u-a.b:1:MODIFIED" || string(m.Data) != `{"type":"MODIFIED","object":{"v":1}}` {
		t.Errorf("message %s %v %s", m.Subject, m.Header, m.Data)
	}
	if all[1].Subject != "k8s._.v1.pods.n.%2A" {
		t.Errorf("subject %s", all[1].Subject)
	}
}

// TestTwoSubjects: an natsEvent that two subscriptions send to one makeStream is there for each, and once.
func TestTwoSubjects(t *testing.T) {
	s := startNATS(t, t.TempDir(), -1, nil)
	st := makeStream(t, s, nil)
	for _, subject := range []string{"", "k8s.own", "", "k8s.own"} {
		if err := natsTarget(t, s, notify.NATS{Subject: subject}).Deliver(t.Context(), natsEvent("a", 1)); err != nil {
			t.Fatal(err)
		}
	}
	all := messages(t, st)
	if len(all) != 2 || all[1].Subject != "k8s.own._.v1.pods.n.a" || all[1].Header.Get("Nats-Msg-Id") != "u-a:1:MODIFIED k8s.own" {
		t.Errorf("%d messages, want 2; %+v", len(all), all)
	}
}

// TestNATSRefusals: what each refusal means for the natsEvent.
func TestNATSRefusals(t *testing.T) {
	s := startNATS(t, t.TempDir(), -1, func(o *server.Options) { o.MaxPayload = 4096 })
	var permanent *notify.PermanentError
	e := natsEvent("a", 1)
	if err := natsTarget(t, s, notify.NATS{}).Deliver(t.Context(), e); err == nil || errors.As(err, &permanent) {
		t.Errorf("no makeStream yet: %v, want an error that is not for ever", err)
	}
	makeStream(t, s, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1024; c.MaxMsgs = 2; c.Discard = jetstream.DiscardNew })
	if err := natsTarget(t, s, notify.NATS{Stream: "OTHER"}).Deliver(t.Context(), e); err == nil || errors.As(err, &permanent) {
		t.Errorf("another makeStream has the subject: %v, want an error that is not permanent", err)
	}
	to := natsTarget(t, s, notify.NATS{})
	for _, size := range []int{2000, 8000} {
		large := natsEvent("large", size)
		large.Body = []byte(strings.Repeat("x", size))
		if err := to.Deliver(t.Context(), large); !errors.As(err, &permanent) || permanent.Reason != notify.TooLarge {
			t.Errorf("%d bytes: %v, want permanent, too large", size, err)
		}
	}
	for v := range 2 {
		if err := to.Deliver(t.Context(), natsEvent("a", v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Deliver(t.Context(), natsEvent("a", 3)); err == nil || errors.As(err, &permanent) {
		t.Errorf("full makeStream: %v, want an error that is not for ever", err)
	}
	// The guard: the address is not allowed, by whatever name.
	var unreachable *notify.UnreachableError
	address := "nats://localhost:" + s.ClientURL()[strings.LastIndex(s.ClientURL(), ":")+1:]
	if err := natsTarget(t, s, notify.NATS{Servers: []string{address}, Allow: []string{"10.0.0.0/8"}}).Deliver(t.Context(), e); !errors.As(err, &unreachable) {
		t.Errorf("loopback: %v, want that it is not reachable", err)
	}
	if n := s.NumClients(); n > 4 {
		t.Errorf("%d clients", n)
	}
}

// TestFullAccount: an account without room takes the natsEvent once there is some (10002, which has the code 400).
func TestFullAccount(t *testing.T) {
	s := startNATS(t, t.TempDir(), -1, nil)
	st := makeStream(t, s, nil)
	to := natsTarget(t, s, notify.NATS{})
	limit := func(store int64) {
		t.Helper()
		l := server.JetStreamAccountLimits{MaxMemory: -1, MaxStore: store, MaxStreams: -1, MaxConsumers: -1}
		if err := s.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": l}); err != nil {
			t.Fatal(err)
		}
	}
	limit(1)
	if err := to.Deliver(t.Context(), natsEvent("fills", 1)); err != nil {
		t.Fatal(err)
	}
	var permanent *notify.PermanentError
	var api *jetstream.APIError
	err := to.Deliver(t.Context(), natsEvent("a", 1))
	if !errors.As(err, &api) || api.Code != 400 || api.ErrorCode != 10002 {
		t.Fatalf("%v, want the account's limit", err)
	}
	if errors.As(err, &permanent) {
		t.Errorf("a full account is permanent: %v", err)
	}
	limit(-1)
	if err := to.Deliver(t.Context(), natsEvent("a", 1)); err != nil || len(messages(t, st)) != 2 {
		t.Errorf("with room again: %v", err)
	}
}

// TestNATSTLS: the server is verified by the CA's file.
func TestNATSTLS(t *testing.T) {
	dir := t.TempDir()
	ours, other := authority(t, filepath.Join(dir, "ca.pem")), authority(t, filepath.Join(dir, "other.pem"))
	_ = other
	cert, err := ours.Issue(certs.Server{Name: "nats", DNSNames: []string{"localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := certs.WriteFiles(cert, certFile, keyFile); err != nil {
		t.Fatal(err)
	}
	s := startNATS(t, filepath.Join(dir, "store"), -1, func(o *server.Options) {
		o.TLS = true
		o.TLSConfig, err = server.GenTLSConfig(&server.TLSConfigOpts{CertFile: certFile, KeyFile: keyFile})
		if err != nil {
			t.Fatal(err)
		}
	})
	address := "tls://localhost:" + s.ClientURL()[strings.LastIndex(s.ClientURL(), ":")+1:]
	deliver := func(ca string) error {
		to := natsTarget(t, s, notify.NATS{Servers: []string{address}, CAFile: filepath.Join(dir, ca), Allow: []string{"127.0.0.0/8", "::1/128"}})
		return to.Deliver(t.Context(), natsEvent("a", 1))
	}
	var unreachable *notify.UnreachableError
	if err := deliver("ca.pem"); err == nil || errors.As(err, &unreachable) {
		t.Errorf("%v, want that only the makeStream is missing", err)
	}
	if err := deliver("other.pem"); !errors.As(err, &unreachable) {
		t.Errorf("another CA: %v, want that it is not reachable", err)
	}
}

func authority(t *testing.T, file string) *certs.Authority {
	t.Helper()
	a := must(certs.NewAuthority("test", time.Hour))
	if err := os.WriteFile(file, a.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}
