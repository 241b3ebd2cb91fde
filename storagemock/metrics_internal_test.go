package storagemock

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestLabelsAreBounded: methods and kinds come from requests; however many there are, the mock's metrics stay small.
func TestLabelsAreBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := newMetrics(&Server{}, nil)
	reg.MustRegister(m.requests)
	m.count("PUT", "Pod", "created", time.Millisecond)
	for i := range 1000 {
		m.count("PUT", fmt.Sprint("Kind", i), "created", time.Millisecond)
		m.count(fmt.Sprint("M", i), "", "unrouted", time.Millisecond)
	}
	m.count("PUT", "\xff", "created", time.Millisecond)
	m.count("PUT", "Pod", "created", time.Millisecond)
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, series := range all[0].GetMetric() {
		text := ""
		for _, l := range series.GetLabel() {
			text += l.GetValue() + " "
		}
		counts[text] = series.GetCounter().GetValue()
	}
	// Labels are sorted by name: effect, kind, method.
	if len(counts) != maxKinds+1 || counts["created Pod PUT "] != 2 || counts["created Kind7 PUT "] != 1 ||
		counts["created other PUT "] != 1000-maxKinds+3 || counts["unrouted  other "] != 1000 {
		t.Errorf("%d series; %v", len(counts), counts)
	}
}
