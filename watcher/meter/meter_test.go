package meter

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func TestStatsBalance(t *testing.T) {
	s := Stats{Received: 21, Sent: 1, Coalesced: 2, Dropped: 3, Retried: 99, Parked: 4, Queued: 5, InFlight: 2}
	if s.Balanced() {
		t.Error("6 events are missing, and it balances")
	}
	s.Queued += 6
	if !s.Balanced() {
		t.Error("does not balance")
	}
	twice := Stats{Received: 42, Sent: 2, Coalesced: 4, Dropped: 6, Retried: 198, Parked: 8, Queued: 22, InFlight: 4}
	if got := s.Plus(s); got != twice {
		t.Errorf("got %+v, want %+v", got, twice)
	}
}

func TestQueueObeysLittlesLaw(t *testing.T) {
	var q Queue
	q.Account(0, 10) // one enters at 10, another at 30; they leave at 60 and 100
	q.Account(1, 30)
	q.Account(2, 60)
	q.Left(50)
	q.Account(1, 100)
	q.Left(70)
	if q.Area != 120 || q.Wait != 120 {
		t.Errorf("area %g, wait %g; want 120 of both", q.Area, q.Wait)
	}
}

func TestHistogram(t *testing.T) {
	h := NewLatency()
	for _, nanos := range []int64{1, 5e5, 5e5 + 1, 3e9, 4e9} {
		h.Observe(nanos)
	}
	var m dto.Metric
	if err := h.Metric(prometheus.NewDesc("x", "", nil, nil)).Write(&m); err != nil {
		t.Fatal(err)
	}
	got := m.GetHistogram()
	if got.GetSampleCount() != 5 || got.GetSampleSum() < 7.001 || got.GetSampleSum() > 7.0011 {
		t.Errorf("%d samples, sum %g", got.GetSampleCount(), got.GetSampleSum())
	}
	bounds := LatencySeconds()
	for i, want := range map[int]uint64{0: 2, 1: 3, len(bounds) - 2: 3, len(bounds) - 1: 4} {
		if b := got.GetBucket()[i]; b.GetCumulativeCount() != want || b.GetUpperBound() != bounds[i] {
			t.Errorf("bucket %d: %d up to %g, want %d up to %g", i, b.GetCumulativeCount(), b.GetUpperBound(), want, bounds[i])
		}
	}
}

func TestAbandonedIsOneLine(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	var none, some Abandoned
	none.Add("Pod", 0)
	none.Log(logger, "x")
	if out.Len() > 0 {
		t.Errorf("nothing was dropped: %s", out.String())
	}
	some.Add("Node", 2)
	some.Add("Pod", 3)
	some.Log(logger, "no time", "after", "1s")
	if want := `level=WARN msg="events dropped" reason="no time" after=1s events=5 kinds.Node=2 kinds.Pod=3`; !strings.Contains(out.String(), want) {
		t.Errorf("got %s want %s", out.String(), want)
	}
}
