package robustness

import (
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestForged: each address that is reached, and each configuration that is taken, fails a
// fact; listeners out of reach prove nothing.
func TestForged(t *testing.T) {
	const (
		strange = "connections to listeners that no allowed subscription made"
		dialled = "forged addresses that were not refused when dialled"
		started = "configurations with a forged address that were not refused"
		moved   = "redirects that were not counted as failures"
	)
	for _, tc := range []struct {
		name    string
		edit    func(*forgedSeen)
		failed  []string
		vacuous bool
	}{
		{name: "as it should be"},
		{"a connection", func(s *forgedSeen) { s.Listeners[1].Strange = 1 }, []string{strange}, false},
		{"nobody listened", func(s *forgedSeen) { s.Listeners = nil }, []string{strange}, false},
		{"a delivery", func(s *forgedSeen) { s.Subscriptions[0].Delivered = 1 }, []string{dialled}, false},
		{"it failed for another reason", func(s *forgedSeen) { s.Subscriptions[0].Other = 1 }, []string{dialled}, false},
		{"no log of a refusal", func(s *forgedSeen) { s.Subscriptions[1].Refused = 0 }, []string{dialled}, false},
		{"no subscriptions", func(s *forgedSeen) { s.Subscriptions = nil }, []string{dialled}, false},
		{"one started", func(s *forgedSeen) { s.Refusals[0] = forgedRefusal{Name: "file"} }, []string{started}, false},
		{"another exit code", func(s *forgedSeen) { s.Refusals[0].ExitCode = 1 }, []string{started}, false},
		{"another key", func(s *forgedSeen) { s.Refusals[0].NamesKey = false }, []string{started}, false},
		{"no configurations", func(s *forgedSeen) { s.Refusals = nil }, []string{started}, false},
		{"a redirect passed for a delivery", func(s *forgedSeen) { s.Taken = 1 }, []string{moved}, false},
		{"redirects were dropped without a word, or not counted", func(s *forgedSeen) { s.Failed = 0 }, []string{moved}, false},
		{"no redirect", func(s *forgedSeen) { s.Redirects = 0 }, []string{moved}, false},
		{"the listener was out of reach", func(s *forgedSeen) { s.Listeners[0].Deliveries = 0 }, nil, true},
		{"one never tried, or still waits", func(s *forgedSeen) { s.Subscriptions[0] = forgedTries{Name: "loopback"} }, []string{dialled}, false},
	} {
		s := forgedSeen{
			Subscriptions: []forgedTries{{Name: "loopback", Retried: 40, Refused: 2}, {Name: "metadata", Retried: 40, Refused: 1}},
			Refusals:      []forgedRefusal{{Name: "file", Ended: true, ExitCode: 2, NamesKey: true}, {Name: "userinfo", Ended: true, ExitCode: 2, NamesKey: true}},
			Listeners:     []trapSeen{{Address: "127.0.0.1:1", Connections: 1, Deliveries: 80}, {Address: "[::1]:1", Connections: 1, Deliveries: 80}},
			Redirects:     4, Failed: 3,
		}
		if tc.edit != nil {
			tc.edit(&s)
		}
		c := caseOf(&spec.Fault{})
		c.Deeds = []history.Deed{deedOf(t, forgeWebhooks, 7, s)}
		failed, why := failedIn(t, c, (&forgery{}).rules)
		if !slices.Equal(failed, tc.failed) || (why != "") != tc.vacuous {
			t.Errorf("%s: failed %q, want %q; proves nothing: %s", tc.name, failed, tc.failed, why)
		}
	}
}

// TestTrap: a listener tells the connections of the allowed subscription from others, by
// which nothing may be asked.
func TestTrap(t *testing.T) {
	trap, err := newTrap("127.0.0.1:0", allowed4, "")
	if err != nil {
		t.Fatal(err)
	}
	defer trap.Close()
	client := &http.Client{Transport: &http.Transport{}}
	post := func(path string) {
		t.Helper()
		resp, err := client.Post("http://"+trap.address()+path, "application/json", strings.NewReader(`{"type":"ADDED"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		client.CloseIdleConnections()
	}
	post("/" + allowed4)
	if s := trap.seen(); s.Connections != 1 || s.Strange != 0 || s.Deliveries != 1 || string(trap.kept()) != "{\"type\":\"ADDED\"}\n" {
		t.Errorf("allowed: %+v, %q", s, trap.kept())
	}
	post("/loopback")
	conn, err := net.Dial("tcp", trap.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for deadline := time.Now().Add(5 * time.Second); trap.seen().Connections < 3 && time.Now().Before(deadline); {
		runtime.Gosched() // it is accepted a moment later
	}
	if s := trap.seen(); s.Strange != 2 || s.Example != "POST /loopback" || s.Deliveries != 1 {
		t.Errorf("strange: %+v", s)
	}
	if trap.network() != "127.0.0.1/32" {
		t.Error(trap.network())
	}
}

// TestForgedLog: a failure counts as refused only if the log says so.
func TestForgedLog(t *testing.T) {
	log := []byte(`time=x level=WARN msg="delivery failed, it is tried again" subscription=name event=a/b tries=1 error="not reachable: address refused: 127.0.0.1 is loopback" failures=1
time=x level=WARN msg="delivery failed, it is tried again" subscription=name event=a/b tries=9 error="not reachable: connection refused" failures=3
time=x level=WARN msg="delivery failed, it is tried again" subscription=name-2 event=a/b tries=1 error="not reachable: no route" failures=1
`)
	x := forgedTries{Name: "name"}
	x.read(log)
	if x.Refused != 1 || x.Other != 1 || !strings.Contains(x.Example, "connection refused") {
		t.Errorf("%+v", x)
	}
}
