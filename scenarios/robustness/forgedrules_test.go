package robustness

import (
	"slices"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestForged: each address that is reached, and each configuration that is taken, fails a fact; listeners out of reach
// prove nothing.
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
		c := matrixtest.Case(&spec.Fault{})
		c.Deeds = []history.Deed{matrixtest.Deed(t, forgeWebhooks, 7, s)}
		failed, why := matrixtest.Failed(t, c, (&forgery{}).rules)
		if !slices.Equal(failed, tc.failed) || (why != "") != tc.vacuous {
			t.Errorf("%s: failed %q, want %q; proves nothing: %s", tc.name, failed, tc.failed, why)
		}
	}
}
