package history

import (
	"bytes"
	"errors"
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

// NextReplica divides the texts of several replicas in one file; their series add up.
const NextReplica = "# EOF\n"

// ParseScrape reads the Prometheus text format.
func ParseScrape(r io.Reader) (Scrape, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxScrape))
	s := Scrape{}
	for one := range bytes.SplitSeq(text, []byte(NextReplica)) {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, perr := parser.TextToMetricFamilies(bytes.NewReader(one))
		if err = errors.Join(err, perr); err != nil {
			return nil, fmt.Errorf("read metrics: %w", err)
		}
		for name, f := range families {
			for _, m := range f.GetMetric() {
				s.add(name, m)
			}
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
	case m.Histogram != nil:
		put(name+"_count", float64(m.Histogram.GetSampleCount()))
		put(name+"_sum", m.Histogram.GetSampleSum())
	case m.Summary != nil:
		put(name+"_count", float64(m.Summary.GetSampleCount()))
		put(name+"_sum", m.Summary.GetSampleSum())
	default: // one of them; the others count as 0
		put(name, m.GetCounter().GetValue()+m.GetGauge().GetValue()+m.GetUntyped().GetValue())
	}
}

// Has reports whether the process exposes a metric at all.
func (s Scrape) Has(name string) bool { return len(s[name]) > 0 }

// Value is Sum; 0 if the metric is not exposed.
func (s Scrape) Value(name string, labels ...string) float64 {
	if v := s.Sum(name, labels...); v != nil {
		return *v
	}
	return 0
}

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

// Names of the parties of a cell.
const (
	PartyGenerator = "generator"
	PartyAPIServer = "apiserver"
	PartyEtcd      = "etcd"
	PartyWatcher   = "watcher"
	PartyStorage   = "storagemock"
	PartyRunner    = "runner"
	PartyProxy     = "watchproxy" // where the watch has faults

	// Replica and a number name one of several watchers that work side by side; PartyWatcher is then their sum.
	Replica = PartyWatcher + "-"

	// In cells with readers.
	PartyReaders = "readers"

	// Where cluster.controllers is set.
	PartyControllerManager = "controller-manager"
	PartyScheduler         = "scheduler"
	PartyKwok              = "kwok"
	PartyWitness           = "witness"
)

// Use is a process's resource use from its start until a sample.
type Use struct {
	CPUSeconds float64 `json:"cpuSeconds"`
	RSSBytes   float64 `json:"rssBytes"`
	// RSSHighestBytes is the most it ever had resident; 0 unknown. Of several watchers, one after the other, it is that of
	// the largest, as of its last reading.
	RSSHighestBytes float64 `json:"rssHighestBytes,omitempty"`

	Read    float64 `json:"read"` // bytes; -1 unknown
	Written float64 `json:"written"`
}

// After adds what a former process of the same party had used.
func (u Use) After(former Use) Use {
	u.CPUSeconds += former.CPUSeconds
	u.RSSHighestBytes = max(u.RSSHighestBytes, former.RSSHighestBytes)
	u.Read += former.Read
	u.Written += former.Written
	return u
}

// CPU is the machine's CPU time since boot, all CPUs together, in seconds. Busy has no stolen time in it.
type CPU struct {
	Busy  float64 `json:"busy"`
	Steal float64 `json:"steal"` // the hypervisor gave it to others
	Total float64 `json:"total"`
}

// Sample is one reading of everything that can be read while a cell runs, one line of samples.ndjson. A nil figure
// could not be read, or was not asked for: reading the watcher's metrics costs it CPU.
type Sample struct {
	Time    int64          `json:"time"`            // Unix nanoseconds
	Until   int64          `json:"until,omitempty"` // when the reading was complete
	CPU     *CPU           `json:"cpu,omitempty"`
	Parties map[string]Use `json:"parties,omitempty"`
	// Asked is how many requests this and other readings had made to the watchers by then.
	Asked *float64 `json:"asked,omitempty"`

	QueueDepth      *float64 `json:"queueDepth,omitempty"` // Pod events accepted and not settled
	WriterDepth     *float64 `json:"writerDepth,omitempty"`
	HandlerDepth    *float64 `json:"handlerDepth,omitempty"`
	StorageInFlight *float64 `json:"storageInFlight,omitempty"`
	Goroutines      *float64 `json:"goroutines,omitempty"`
	Sockets         *float64 `json:"sockets,omitempty"`
}

// Memory is the watcher's resident memory in bytes, nil where it was not read.
func (s *Sample) Memory() *float64 {
	if u, ok := s.Parties[PartyWatcher]; ok {
		return &u.RSSBytes
	}
	return nil
}
