package history

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const maxScrape = 16 << 20

// Point is one series of a metric at one time.
type Point struct {
	Labels map[string]string
	Value  float64
}

// Scrape is one reading of a /metrics endpoint. Histograms and summaries are there as <name>_count and <name>_sum. A
// nil Scrape knows nothing.
type Scrape map[string][]Point

// ParseScrape reads the Prometheus text format.
func ParseScrape(r io.Reader) (Scrape, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(r, maxScrape))
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	s := make(Scrape, len(families))
	for name, f := range families {
		for _, m := range f.GetMetric() {
			s.add(name, m)
		}
	}
	return s, nil
}

func (s Scrape) add(name string, m *dto.Metric) {
	labels := make(map[string]string, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	put := func(name string, v float64) { s[name] = append(s[name], Point{labels, v}) }
	switch {
	case m.Counter != nil:
		put(name, m.Counter.GetValue())
	case m.Gauge != nil:
		put(name, m.Gauge.GetValue())
	case m.Untyped != nil:
		put(name, m.Untyped.GetValue())
	case m.Histogram != nil:
		put(name+"_count", float64(m.Histogram.GetSampleCount()))
		put(name+"_sum", m.Histogram.GetSampleSum())
	case m.Summary != nil:
		put(name+"_count", float64(m.Summary.GetSampleCount()))
		put(name+"_sum", m.Summary.GetSampleSum())
	}
}

// Has reports whether the process exposes a metric at all.
func (s Scrape) Has(name string) bool { return len(s[name]) > 0 }

// Sum adds up the series of a metric that carry the given labels, written as alternating names and values. It is nil
// when the metric is not exposed.
func (s Scrape) Sum(name string, labels ...string) *float64 {
	if !s.Has(name) {
		return nil
	}
	total := 0.0
points:
	for _, p := range s[name] {
		for i := 0; i+1 < len(labels); i += 2 {
			if p.Labels[labels[i]] != labels[i+1] {
				continue points
			}
		}
		total += p.Value
	}
	return &total
}

// By sums a metric per value of one label.
func (s Scrape) By(name, label string) map[string]float64 {
	if !s.Has(name) {
		return nil
	}
	out := map[string]float64{}
	for _, p := range s[name] {
		out[p.Labels[label]] += p.Value
	}
	return out
}

// QueueNames lists the handler queues of a kind: the one named after it and those with a number, as the original names
// them.
func QueueNames(by map[string]float64, kind string) []string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(by)) {
		if n == kind || strings.HasPrefix(n, kind+"_") {
			names = append(names, n)
		}
	}
	return names
}

// HandlerDepth is the number of events in the handler queues of a kind.
func (s Scrape) HandlerDepth(name, kind string) *float64 {
	by := s.By(name, "queue")
	if by == nil {
		return nil
	}
	total := 0.0
	for _, n := range QueueNames(by, kind) {
		total += by[n]
	}
	return &total
}
