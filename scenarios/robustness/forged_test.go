package robustness

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// forgeWebhooks has webhooks with addresses that must not be reached. Those that a configuration shows are tried with
// watchers that must refuse to start; to the others the watcher itself has subscriptions from its start on, and must
// refuse each connection.
const forgeWebhooks = "forge-webhooks"

// Subscriptions that are allowed: without them nothing would show that the others could have been delivered to the same
// listeners.
const (
	allowed4 = "allowed-4"
	allowed6 = "allowed-6"
	// redirected may reach its receiver, which sends it to the listener.
	redirected = "redirected"
)

// forgery is the listeners and what is sent to them.
type forgery struct {
	traps      []*trap  // on loopback, IPv4 and, if this machine has it, IPv6
	redirector *trap    // answers 307 to the first trap
	addresses  []forged // of the watcher's subscriptions
	last       *forgedSeen
}

// forged is an address that must not be connected to.
type forged struct{ name, url string }

func forgedAddresses() faults.Family {
	f := &forgery{}
	return faults.Family{Arrange: f.arrange, Finish: f.finish, Remove: f.remove, Rules: f.rules, Failpoints: []faults.Failpoint{
		{Name: forgeWebhooks, Available: secrets, Inject: f.refusals},
	}}
}

// forgedSeen is what became of the addresses.
type forgedSeen struct {
	Subscriptions []forgedTries   `json:"subscriptions"`
	Refusals      []forgedRefusal `json:"refusals"`
	Listeners     []trapSeen      `json:"listeners"`
	// Redirects is how often the watcher was sent elsewhere; Taken is how many events it took for delivered by that, and
	// Failed how many tries it counted as failed.
	Redirects int64 `json:"redirects"`
	Taken     int64 `json:"taken"`
	Failed    int64 `json:"failed"`
}

// forgedTries is one of the watcher's subscriptions.
type forgedTries struct {
	Name      string `json:"name"`
	Delivered int64  `json:"delivered"`
	Retried   int64  `json:"retried"`
	// Refused and Other are lines of the log: that the address was refused, and another failure; Example is one of the
	// latter.
	Refused int64  `json:"refused"`
	Other   int64  `json:"other,omitempty"`
	Example string `json:"example,omitempty"`
}

// forgedRefusal is how a watcher ended that was to refuse its configuration.
type forgedRefusal struct {
	Name     string `json:"name"`
	Ended    bool   `json:"ended"`
	ExitCode int    `json:"exitCode"`
	NamesKey bool   `json:"namesKey"`
	LastLine string `json:"lastLine"`
}

// trapSeen is what a listener saw.
type trapSeen struct {
	Address     string `json:"address"`
	Connections int64  `json:"connections"`
	Strange     int64  `json:"strange"` // that did not belong to the allowed subscription
	Deliveries  int64  `json:"deliveries"`
	Example     string `json:"example,omitempty"` // of a request that was not allowed
}

// arrange opens the listeners and gives the watcher its subscriptions.
func (f *forgery) arrange(c faults.Cell) error {
	if !asks(c.Scenario(), forgeWebhooks) {
		return nil
	}
	for _, x := range []struct{ address, allowed string }{{"127.0.0.1:0", allowed4}, {"[::1]:0", allowed6}} {
		t, err := newTrap(x.address, x.allowed, "")
		if err != nil && len(f.traps) > 0 {
			break // a machine without IPv6
		} else if err != nil {
			return err
		}
		f.traps = append(f.traps, t)
	}
	var err error
	if f.redirector, err = newTrap("127.0.0.1:0", redirected, "http://"+f.traps[0].address()+"/"+redirected); err != nil {
		return err
	}
	f.addresses = forgedOf(f.traps)
	serving := &party.Serving{}
	add := func(name, url string, allow ...string) {
		serving.Subscriptions = append(serving.Subscriptions, subscriptionOf(name, url, allow))
	}
	for _, x := range f.addresses {
		add(x.name, x.url)
	}
	for _, t := range f.traps {
		add(t.allowed, "http://"+t.address()+"/"+t.allowed, t.network())
	}
	add(redirected, "http://"+f.redirector.address()+"/"+redirected, f.redirector.network())
	c.Setup().Serving = serving
	return nil
}

// forgedOf are the addresses that must be refused when they are dialled.
func forgedOf(traps []*trap) []forged {
	_, port4, _ := net.SplitHostPort(traps[0].address())
	all := []forged{
		{"loopback", "http://127.0.0.1:" + port4 + "/loopback"},
		{"loopback-tls", "https://127.0.0.1:" + port4 + "/loopback-tls"},
		{"unspecified", "http://0.0.0.0:" + port4 + "/unspecified"},
		{"mapped", "http://[::ffff:127.0.0.1]:" + port4 + "/mapped"},
		{"name", "http://localhost:" + port4 + "/name"},
		{"metadata", "http://169.254.169.254/latest/meta-data/"},
		{"metadata-mapped", "http://[::ffff:169.254.169.254]/latest/meta-data/"},
		{"private", "http://10.0.0.1/private"},
	}
	if len(traps) > 1 {
		_, port6, _ := net.SplitHostPort(traps[1].address())
		all = append(all, forged{"loopback-6", "http://[::1]:" + port6 + "/loopback-6"}, forged{"unspecified-6", "http://[::]:" + port6 + "/unspecified-6"})
	}
	return all
}

// subscriptionOf is to ConfigMaps, of which there are few. One worker opens no connection that it does not use.
func subscriptionOf(name, url string, allow []string) map[string]any {
	hook := map[string]any{"url": url}
	if allow != nil {
		hook["allow"] = allow
	}
	return map[string]any{
		"name": name, "resource": "v1/configmaps", "workers": 1, "initial": "list",
		"retry":  map[string]any{"initial": "100ms", "max": "1s"},
		"target": map[string]any{"webhook": hook},
	}
}

// openly are the addresses that the configuration itself shows to be wrong. Networks are allowed as far as they can be.
var openly = []forged{
	{"file", "file:///etc/hostname"},
	{"gopher", "gopher://127.0.0.1:70/"},
	{"userinfo", "http://user:pass@127.0.0.1:8080/"},
	{"kubelet", "https://127.0.0.1:10250/run"},
	{"etcd", "http://127.0.0.1:2379/v3/kv/range"},
	{"port-0", "http://127.0.0.1:0/"},
	{"no-host", "http:///etc/hostname"},
}

// forgedKey is the key that a refusal must name.
const forgedKey = "resourceWatcher.notify.subscriptions[0].target.webhook.url"

// refusals starts a watcher with each of the addresses that must be refused at once.
func (f *forgery) refusals(ctx context.Context, c faults.Cell, _ spec.Event) (faults.Done, error) {
	f.last = &forgedSeen{}
	for _, x := range openly {
		r, err := c.Refuses(ctx, &party.Serving{Subscriptions: []map[string]any{subscriptionOf(x.name, x.url, []string{"127.0.0.0/8"})}})
		if err != nil {
			return faults.Done{}, err
		}
		f.last.Refusals = append(f.last.Refusals, forgedRefusal{
			Name: x.name, Ended: r.Ended, ExitCode: r.ExitCode, NamesKey: strings.Contains(r.LastLine, forgedKey), LastLine: r.LastLine,
		})
	}
	return faults.Done{Keys: int64(len(openly)), Seen: f.last}, nil
}

// finish reads what the watcher counted and logged of its subscriptions, and what the listeners saw.
func (f *forgery) finish(ctx context.Context, c faults.Cell) error {
	if f.last == nil || c.Watcher().Ended() { // a cut cell's watcher has no more to say
		return nil
	}
	f.last.Redirects = f.redirector.seen().Deliveries // before the figures, which may count more
	s, err := c.Watcher().Scrape(ctx)
	if err != nil {
		return c.Watcher().Lost(ctx, err)
	}
	log, err := os.ReadFile(c.Watcher().Log)
	if err != nil {
		return fmt.Errorf("read the watcher's log: %w", err)
	}
	delivered, retried := s.By(metric.NotifyDelivered, "subscription"), s.By(metric.NotifyRetried, "subscription")
	for _, x := range f.addresses {
		tries := forgedTries{Name: x.name, Delivered: int64(delivered[x.name]), Retried: int64(retried[x.name])}
		tries.read(log)
		f.last.Subscriptions = append(f.last.Subscriptions, tries)
	}
	f.last.Taken = int64(delivered[redirected])
	f.last.Failed = int64(retried[redirected] + s.By(metric.NotifyDeadLettered, "subscription")[redirected])
	var bodies bytes.Buffer
	for _, t := range append(f.traps, f.redirector) {
		bodies.Write(t.kept())
		if t != f.redirector {
			f.last.Listeners = append(f.last.Listeners, t.seen())
		}
	}
	return keepCaptured(c, "deliveries.ndjson", bodies.Bytes())
}

// keepCaptured writes a file that is searched for secrets.
func keepCaptured(c faults.Cell, name string, data []byte) error {
	dir := filepath.Join(c.Dir(), history.DirCaptured)
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep what was captured: %w", err)
	}
	return nil
}

// read counts the lines about the subscription's failed deliveries.
func (t *forgedTries) read(log []byte) {
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, "delivery failed") || !strings.Contains(line, "subscription="+t.Name+" ") {
			continue
		}
		if strings.Contains(line, "address refused") {
			t.Refused++
			continue
		}
		t.Other++
		t.Example = strings.TrimSpace(line)
	}
}

// remove closes the listeners.
func (f *forgery) remove(context.Context, faults.Cell) error {
	for _, t := range append(f.traps, f.redirector) {
		if t != nil {
			t.Close()
		}
	}
	return nil
}

// badConfig is the exit code of a watcher that refuses its configuration.
const badConfig = 2

// rules: no forged address was connected to, and what shows in the configuration refused the start.
func (*forgery) rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[forgedSeen](c.Deeds, forgeWebhooks)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	seen := &all[len(all)-1]
	return []matrix.Rule{{Facts: func(matrix.Seen) []result.Fact { return seen.facts() }, Vacuous: func(matrix.Seen) []string { return seen.vacuous() }}}, nil
}

func (s *forgedSeen) facts() []result.Fact {
	return []result.Fact{s.strange(), s.dialled(), s.started(), s.elsewhere()}
}

// strange: somebody listens on some of the addresses, and nobody came.
func (s *forgedSeen) strange() result.Fact {
	return noneOf("connections to listeners that no allowed subscription made", "nobody listened", s.Listeners, func(l trapSeen) (int64, string) {
		return l.Strange, l.Address + " " + l.Example
	})
}

// noneOf is that nothing is wrong with any of all; empty says that there are none, wrong how much is wrong with one,
// and what.
func noneOf[T any](name, empty string, all []T, wrong func(T) (int64, string)) result.Fact {
	if len(all) == 0 {
		return matrix.Missing("S", name, "", empty)
	}
	total, example := int64(0), ""
	for _, one := range all {
		if n, text := wrong(one); n > 0 {
			total, example = total+n, text
		}
	}
	return matrix.None("S", name, total, example)
}

// dialled: each forged address was refused when it was dialled, and failed for no other reason.
func (s *forgedSeen) dialled() result.Fact {
	return noneOf("forged addresses that were not refused when dialled", "there were none", s.Subscriptions, func(x forgedTries) (int64, string) {
		if x.Refused > 0 && x.Other == 0 && x.Delivered == 0 {
			return 0, ""
		}
		return 1, fmt.Sprintf("%s: %d delivered, %d times refused, %d other failures %s", x.Name, x.Delivered, x.Refused, x.Other, x.Example)
	})
}

// started: a configuration that shows its fault is refused, by exit code and key.
func (s *forgedSeen) started() result.Fact {
	return noneOf("configurations with a forged address that were not refused", "none was tried", s.Refusals, func(r forgedRefusal) (int64, string) {
		if r.Ended && r.ExitCode == badConfig && r.NamesKey {
			return 0, ""
		}
		return 1, fmt.Sprintf("%s: ended %t, exit code %d, %s", r.Name, r.Ended, r.ExitCode, r.LastLine)
	})
}

// elsewhere: each redirect is a try that failed, but for the one that may be under way. That none is followed, strange
// says.
func (s *forgedSeen) elsewhere() result.Fact {
	const name = "redirects that were not counted as failures"
	if s.Redirects == 0 {
		return matrix.Missing("S", name, "", "there was no redirect")
	}
	return matrix.None("S", name, s.Taken+max(0, s.Redirects-s.Failed-1), "")
}

// vacuous: the listeners must have been within reach. A subscription that never tried was never refused, which fails.
func (s *forgedSeen) vacuous() (why []string) {
	for _, l := range s.Listeners {
		if l.Deliveries < matrix.MinKeys {
			why = append(why, fmt.Sprintf("%d events reached %s by the subscription that is allowed to; at least %d are needed", l.Deliveries, l.Address, matrix.MinKeys))
		}
	}
	return why
}
