package watcher

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

func newReloads(r prometheus.Registerer) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: metric.ConfigReloads, Help: "Configurations read again, by what became of them.",
	}, []string{"result"})
	for _, result := range []string{metric.ReloadOK, metric.ReloadFailed} {
		c.WithLabelValues(result)
	}
	r.MustRegister(c)
	return c
}

// Reload reads the configuration again and applies what may change at run time: the
// number of queues and their lengths; other keys need a restart. A configuration that cannot be
// read or is wrong changes nothing. What became of it is logged and counted here; the error is
// for other callers.
//
// Calls must not overlap.
func (w *Watcher) Reload(read func() (config.Config, config.Filter, error)) error {
	err := w.reload(read)
	result := metric.ReloadOK
	if err != nil {
		result = metric.ReloadFailed
		w.log.Error("configuration not reloaded, keeping the current one", "error", err)
	}
	w.reloads.WithLabelValues(result).Inc()
	return err
}

func (w *Watcher) reload(read func() (config.Config, config.Filter, error)) error {
	cfg, _, err := read()
	if err != nil {
		return err
	}
	// What podQueueNum means depends on the strategy, which stays what it is.
	next := w.cfg
	next.BCS.PodQueueNum = cfg.BCS.PodQueueNum
	next.BCS.HandlerQueueLen, next.BCS.WriterQueueLen = cfg.BCS.HandlerQueueLen, cfg.BCS.WriterQueueLen
	c := next.Pipeline()
	to := pipeline.Queues{PodQueueNum: c.PodQueueNum, HandlerQueueLen: c.HandlerQueueLen, WriterQueueLen: c.WriterQueueLen}
	err = w.copying.pipeline.Resize(to)
	if err == nil && w.sharing != nil {
		err = w.sharing.resize(next.BCS, to)
	}
	if err != nil {
		return &InputError{Key: "bcs", Err: err}
	}
	w.log.Info("configuration reloaded; other keys need a restart", "strategy", c.Strategy,
		"podQueueNum", to.PodQueueNum, "handlerQueueLen", to.HandlerQueueLen, "writerQueueLen", to.WriterQueueLen)
	return nil
}
