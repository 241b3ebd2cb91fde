package robustness

import (
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestReceivers: each way in which a watcher may fail its receivers fails a fact, and so does what the record does not
// tell.
func TestReceivers(t *testing.T) {
	const (
		queue         = "events queued for one receiver"
		lost          = "events dropped for receivers without faults"
		reply         = "most of an answer that a receiver could send"
		missed, wrong = "changes that receivers without faults were not told of", "deliveries that were wrong or out of order"
		late          = "delivery p99 to receivers without faults"
	)
	type story struct {
		seen    queueReadings
		dropped [1]float64
		figures *result.Readers
		metrics bool
		r3      result.Check
	}
	for _, tc := range []struct {
		name    string
		edit    func(*story)
		failed  []string
		vacuous bool
	}{
		{name: "as it should be"},
		{"a queue beyond its bound", func(s *story) { s.seen.Most["hangs"] = 257 }, []string{queue}, false},
		{"nobody looked", func(s *story) { s.seen = queueReadings{} }, []string{queue, reply}, true},
		{"one was not seen", func(s *story) { delete(s.seen.Most, "receiver-1") }, []string{queue}, false},
		{"nothing waited", func(s *story) { s.seen.Most["hangs"] = 100 }, nil, true},
		{"only one without faults waited", func(s *story) { s.seen.Most["receiver-1"], s.seen.Most["hangs"] = 256, 1 }, nil, true},
		{"another pays", func(s *story) { s.dropped[0] = 3 }, []string{lost}, false},
		{"no counters", func(s *story) { s.metrics = false }, []string{lost}, false},
		{"the whole answer is read", func(s *story) { s.seen.Reply = 64 << 20 }, []string{reply}, false},
		{"no answer was read", func(s *story) { s.seen.Reply = 0 }, []string{reply}, false},
		{"one waits for another", func(s *story) { s.figures.Webhooks.LagMs.P99 = 1500 }, []string{late}, false},
		{"a change is lost", func(s *story) {
			s.figures.Webhooks.Missed, s.r3 = 1, result.Check{Verdict: result.Fail, Violations: 1}
		}, []string{missed}, false},
		{"two came in another order", func(s *story) { s.r3 = result.Check{Verdict: result.Fail, Violations: 1} }, []string{wrong}, false},
		{"nobody judged it", func(s *story) { s.r3 = result.Check{} }, []string{missed, wrong}, false},
		{"no record", func(s *story) { s.figures = nil }, []string{missed, wrong, late}, false},
	} {
		s := story{
			seen:    queueReadings{Readings: 9, Reply: 90 << 10, Most: map[string]int64{"receiver-1": 5, "hangs": 256, "fails": 40, "slow": 9, "huge": 1}},
			dropped: [1]float64{0}, metrics: true, r3: result.Check{Verdict: result.Pass},
			figures: &result.Readers{Webhooks: &result.Webhooks{LagMs: &result.Quantiles{P99: 80}}},
		}
		if tc.edit != nil {
			tc.edit(&s)
		}
		c := matrixtest.Case(&spec.Fault{})
		c.Cell.Scenario.Readers = spec.Readers{Webhooks: 1, WebhookQueue: 256}
		c.Deeds = []history.Deed{matrixtest.Deed(t, readQueues, 0, s.seen)}
		if s.metrics {
			c.After = history.Scrape{}
			for i, n := range s.dropped {
				for reason, v := range map[string]float64{"full": n, "abandoned": 0} {
					c.After[metric.NotifyDropped] = append(c.After[metric.NotifyDropped], history.Point{Labels: map[string]string{"subscription": receiverName(i + 1), "reason": reason}, Value: v})
				}
			}
		}
		rules := matrixtest.Witness(t, c, receiverRules, nil, nil)
		var failed []string
		for _, f := range rules[0].Facts(matrix.Seen{Figures: &result.Cell{Readers: s.figures, Checks: map[string]result.Check{"R3": s.r3}}}) {
			if !f.OK {
				failed = append(failed, f.Name)
			}
		}
		if !slices.Equal(failed, tc.failed) || (matrixtest.Vacuous(rules) != "") != tc.vacuous {
			t.Errorf("%s: failed %q, want %q; proves nothing: %s", tc.name, failed, tc.failed, matrixtest.Vacuous(rules))
		}
	}
	if rules, err := receiverRules(matrixtest.Case(&spec.Fault{})); err != nil || len(rules) != 0 {
		t.Errorf("without receivers: %v, %v", rules, err)
	}
	if !strings.HasPrefix(receiverName(1), "receiver-") {
		t.Error("the names are those of party.Serving")
	}
}
