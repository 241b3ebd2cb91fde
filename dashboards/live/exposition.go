package live

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/watchbench/watchbench/internal/metric"
)

const goProcs = "go_sched_gomaxprocs_threads"

var errNoWatcher = errors.New("its answer has no metric of k8s-watch or bcs-k8s-watch")

type families map[string]*dto.MetricFamily

func parse(text []byte) (families, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	f, err := parser.TextToMetricFamilies(io.MultiReader(bytes.NewReader(text), strings.NewReader("\n")))
	if err != nil {
		return nil, fmt.Errorf("read its metrics: %w", err)
	}
	if f[metric.HandlerQueue] == nil && f[metric.StorageRequests] == nil && f[metric.EventsReceived] == nil &&
		f[metric.QueueDepth] == nil {
		return nil, errNoWatcher
	}
	return f, nil
}

// each visits the finite values of a metric other than a histogram.
func (f families) each(name string, visit func(label func(string) string, v float64)) {
	for _, m := range f[name].GetMetric() {
		var v float64
		switch {
		case m.Counter != nil:
			v = m.Counter.GetValue()
		case m.Gauge != nil:
			v = m.Gauge.GetValue()
		case m.Untyped != nil:
			v = m.Untyped.GetValue()
		default:
			continue
		}
		if finite(&v) != nil {
			visit(func(l string) string { return label(m, l) }, v)
		}
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// sum adds up a metric's series with a label's value, or all for ""; nil where none is exposed.
func (f families) sum(name, by, value string) *float64 {
	var total *float64
	f.each(name, func(label func(string) string, v float64) {
		if total == nil {
			total = new(float64)
		}
		if by == "" || label(by) == value {
			*total += v
		}
	})
	return finite(total)
}

func (f families) largest(name string) (v *float64, kind string) {
	f.each(name, func(label func(string) string, x float64) {
		if v == nil || x > *v || x == *v && label("kind") < kind {
			v, kind = new(x), label("kind")
		}
	})
	return v, plain(kind)
}

// finite is v, or nil where a sum overflowed.
func finite(v *float64) *float64 {
	if v == nil || math.IsInf(*v, 0) || math.IsNaN(*v) {
		return nil
	}
	return v
}

// queues lists the queues with their capacities, the Writer first, then in the order of their numbers.
func (f families) queues() []Queue {
	name, by := metric.QueueDepth, "queue"
	if f[name] == nil {
		name, by = metric.HandlerQueue, "handler"
	}
	depth, capacity := map[string]float64{}, map[string]float64{}
	f.each(name, func(label func(string) string, v float64) { depth[label(by)] += max(0, v) })
	f.each(metric.QueueCapacity, func(label func(string) string, v float64) { capacity[label("queue")] += v })
	all := make([]Queue, 0, len(depth))
	for _, n := range slices.SortedFunc(maps.Keys(depth), byNumber) {
		d := depth[n]
		if finite(&d) == nil {
			continue
		}
		q := Queue{Name: n, Depth: d}
		if c, ok := capacity[n]; ok && c > 0 && finite(&c) != nil {
			q.Capacity = new(c)
		}
		all = append(all, q)
	}
	return all
}

// byNumber puts the Writer first and Pod_2 before Pod_10.
func byNumber(a, b string) int {
	first := func(name string) string {
		if name == metric.WriterQueueHandler {
			return ""
		}
		return name
	}
	sa, na := stem(first(a))
	sb, nb := stem(first(b))
	return cmp.Or(strings.Compare(sa, sb), cmp.Compare(len(na), len(nb)), strings.Compare(a, b))
}

// stem splits the number off the name of a queue: Pod_12 is one of the queues Pod.
func stem(name string) (kind, number string) {
	i := strings.LastIndexByte(name, '_')
	if i < 0 || i+1 == len(name) || strings.Trim(name[i+1:], "0123456789") != "" {
		return name, ""
	}
	return name[:i], name[i+1:]
}
