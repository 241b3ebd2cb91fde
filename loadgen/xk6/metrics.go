package xk6

import (
	"time"

	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/metrics"

	"github.com/watchbench/watchbench/loadgen/churn"
)

// opMetrics are k6's metrics of operations. Their tags, op and kind, have about twenty values in all.
type opMetrics struct {
	duration   *metrics.Metric // answer minus dispatch
	fromIntent *metrics.Metric // answer minus intended dispatch
	lag        *metrics.Metric // dispatch minus intended dispatch
	ops        *metrics.Metric
	failed     *metrics.Metric
}

func registerMetrics(r *metrics.Registry) (*opMetrics, error) {
	m := &opMetrics{}
	for _, d := range []struct {
		to   **metrics.Metric
		name string
		kind metrics.MetricType
		of   []metrics.ValueType
	}{
		{&m.duration, "podchurn_op_duration", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.fromIntent, "podchurn_op_from_intended", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.lag, "podchurn_lag", metrics.Trend, []metrics.ValueType{metrics.Time}},
		{&m.ops, "podchurn_ops", metrics.Counter, nil},
		{&m.failed, "podchurn_op_failed", metrics.Rate, nil},
	} {
		var err error
		if *d.to, err = r.NewMetric(d.name, d.kind, d.of...); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// push gives k6 the figures of one operation; of one that was not sent, only that it failed.
func (m *opMetrics) push(vu modules.VU, s churn.Sent) {
	state := vu.State()
	if state == nil {
		return
	}
	now := time.Now()
	tags := state.Tags.GetCurrentValues()
	set := tags.Tags.With("op", s.Op.Type).With("kind", s.Op.Target.Kind)
	var all []metrics.Sample
	add := func(metric *metrics.Metric, value float64) {
		all = append(all, metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: set}, Time: now, Value: value,
			Metadata: tags.Metadata})
	}
	add(m.failed, metrics.B(s.Err != nil))
	if s.Started != 0 {
		const ms = 1e6
		took, lag := float64(s.Finished-s.Started)/ms, float64(max(0, s.Started-s.Intended))/ms
		add(m.duration, took)
		add(m.fromIntent, lag+took)
		add(m.lag, lag)
		add(m.ops, 1)
	}
	metrics.PushIfNotDone(vu.Context(), state.Samples, metrics.ConnectedSamples{Samples: all, Tags: set, Time: now})
}
