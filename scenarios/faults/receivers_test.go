package faults

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// arranged is a cell before its parties are started.
type arranged struct {
	Cell
	scenario spec.Scenario
	setup    Setup
}

func (a *arranged) Scenario() *spec.Scenario { return &a.scenario }
func (a *arranged) Setup() *Setup            { return &a.setup }

// stated are the facts of the rules that do not hold.
func stated(t *testing.T, rules []matrix.Rule, seen matrix.Seen) (broken []string, all []result.Fact) {
	t.Helper()
	for _, r := range rules {
		for _, f := range r.Facts(seen) {
			if all = append(all, f); !f.OK {
				broken = append(broken, f.Column+" "+f.Name)
			}
		}
	}
	return broken, all
}

// A connection to a listener is counted, and it, a delivery, and an address that was not
// refused each break the row.
func TestForbidden(t *testing.T) {
	c := &arranged{}
	c.scenario.Events = []spec.Event{{What: forbiddenTargets}}
	f := &forbidden{}
	if err := f.Arrange(c); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Remove(t.Context(), c); err != nil {
			t.Error(err)
		}
	}()
	if len(c.setup.Forbidden) < 11 || !strings.HasPrefix(c.setup.Forbidden[0], "http://127.0.0.1:") {
		t.Fatalf("%q", c.setup.Forbidden)
	}
	var log strings.Builder
	for i := range f.targets {
		log.WriteString("level=WARN subscription=" + party.ForbiddenName(i) + ` error="dial tcp x: address refused: y"` + "\n")
	}
	judge := func(delivered float64) []string {
		t.Helper()
		seen, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := f.Rules(&matrix.Case{
			Deeds: []history.Deed{{What: forbiddenTargets, Seen: seen}},
			After: history.Scrape{metric.NotifyDelivered: {{Labels: map[string]string{"subscription": party.ForbiddenName(2)}, Value: delivered}}},
		})
		if err != nil || len(rules) != 1 {
			t.Fatalf("%d rules, %v", len(rules), err)
		}
		broken, _ := stated(t, rules, matrix.Seen{})
		return broken
	}
	f.refused = f.refusals(log.String())
	if broken := judge(0); len(broken) > 0 {
		t.Errorf("%q", broken)
	}
	if broken := judge(1); len(broken) != 1 || broken[0] != "S forbidden subscriptions that delivered" {
		t.Errorf("a delivery: %q", broken)
	}
	f.refused = f.refusals(strings.Replace(log.String(), "address refused", "connection refused", 1))
	if broken := judge(0); len(broken) != 1 || !strings.Contains(broken[0], "that were refused as such") {
		t.Errorf("an attempt: %q", broken)
	}
	f.refused = f.targets
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(f.targets[0], "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Read(make([]byte, 1)) // until it is closed, after it was counted
	_ = conn.Close()
	if broken := judge(0); len(broken) != 1 || broken[0] != "S connections to addresses where no receiver may be" {
		t.Errorf("a connection: %q", broken)
	}
}

// Each thing that a receiver must not do to others breaks its column.
func TestReceivers(t *testing.T) {
	judge := func(spoil func(*result.Cell)) string {
		t.Helper()
		c := &matrix.Case{Cell: &history.Cell{}, Baseline: &result.Cell{Freshness: &result.Quantiles{P99: 0.1}}}
		c.Cell.Scenario.Readers = spec.Readers{Webhooks: 2, WebhookFaults: []string{"huge(64MiB,receiver=2)"}}
		c.Cell.Scenario.Fault = &spec.Fault{Isolation: 1.2}
		cell := &result.Cell{Freshness: &result.Quantiles{P99: 0.11}, Checks: map[string]result.Check{"R3": {Verdict: result.Pass}},
			Readers: &result.Readers{Webhooks: &result.Webhooks{AnswerBytes: 1 << 20}}}
		spoil(cell)
		rules, err := receiverRules{}.Rules(c)
		if err != nil || len(rules) != 1 {
			t.Fatalf("%d rules, %v", len(rules), err)
		}
		broken, all := stated(t, rules, matrix.Seen{Figures: cell})
		if len(all) != 4 {
			t.Errorf("%d facts", len(all))
		}
		return strings.Join(broken, "; ")
	}
	for want, spoil := range map[string]func(*result.Cell){
		"": func(*result.Cell) {},
		"L changes that well receivers were not told of": func(c *result.Cell) {
			c.Readers.Webhooks.Missed = 2
			c.Checks["R3"] = result.Check{Verdict: result.Fail, Violations: 2}
		},
		"O deliveries that were wrong or out of order":     func(c *result.Cell) { c.Checks["R3"] = result.Check{Verdict: result.Fail, Violations: 1} },
		"I freshness p99 of Pods against F0":               func(c *result.Cell) { c.Freshness.P99 = 0.13 },
		"B most that was taken of an answer of 67108864 B": func(c *result.Cell) { c.Readers.Webhooks.AnswerBytes = 64 << 20 },
	} {
		if got := judge(spoil); got != want {
			t.Errorf("broken are %q, want %q", got, want)
		}
	}
}
