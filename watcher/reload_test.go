package watcher

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// reloading makes a watcher that is never run, and what it logs.
func reloading(t *testing.T, edit func(*config.Config)) (*Watcher, config.Config, *bytes.Buffer) {
	t.Helper()
	cfg := config.Default()
	cfg.Default.ClusterID = "c"
	cfg.WatchResource.DisableNetService = true
	cfg.BCS.CustomStorageEndpoints = config.List{"http://127.0.0.1:1"}
	edit(&cfg)
	var log bytes.Buffer
	w, err := New(cfg, config.Filter{}, Settings{Kube: &rest.Config{Host: "http://127.0.0.1:1"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return w, cfg, &log
}

// count is how many reloads had a result.
func count(t *testing.T, w *Watcher, result string) float64 {
	t.Helper()
	return testutil.ToFloat64(w.reloads.WithLabelValues(result))
}

func TestReload(t *testing.T) {
	w, cfg, log := reloading(t, func(c *config.Config) { c.BCS.Strategy = pipeline.Partitioned })
	w.copying.pipeline.AddKind("Pod")
	queues := func() float64 { return metricSum(t, w, metric.QueueCapacity) - float64(cfg.BCS.WriterQueueLen) }
	if ok, failed := count(t, w, "ok"), count(t, w, "failed"); ok != 0 || failed != 0 {
		t.Errorf("%g and %g reloads before the first", ok, failed)
	}

	next := cfg
	next.BCS.PodQueueNum, next.BCS.HandlerQueueLen = 16, 10
	filter := config.Filter{}
	read := func() (config.Config, config.Filter, error) { return next, filter, nil }
	if err := w.Reload(read); err != nil {
		t.Fatal(err)
	}
	if got := queues(); got != 160 {
		t.Errorf("the queues hold %g events, want 16 of 10", got)
	}
	if text := log.String(); !strings.Contains(text, `msg="configuration reloaded; other keys need a restart"`) || !strings.Contains(text, "podQueueNum=16") {
		t.Errorf("logged: %s", text)
	}
	log.Reset()

	// The strategy stays, and the number of queues means what it means under it.
	next.BCS.Strategy, next.BCS.PodQueueNum, next.Verbosity = pipeline.Keyed, 2, 4
	filter.CRDResourceWhiteList = []string{"example.com/v1"}
	if err := w.Reload(read); err != nil {
		t.Fatal(err)
	}
	if got := queues(); got != 20 {
		t.Errorf("the queues hold %g events, want 2 of 10", got)
	}
	log.Reset()

	wrong := &config.Error{File: "config.json", Line: 7, Key: "bcs.podQueueNum", Msg: "-1 is negative, want 0 or more"}
	if err := w.Reload(func() (config.Config, config.Filter, error) { return next, filter, wrong }); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	next.BCS.PodQueueNum = -1 // where nobody has looked at it
	if err := w.Reload(read); err == nil || !strings.Contains(err.Error(), "bcs: pipeline: resize: podQueueNum: -1") {
		t.Errorf("%v", err)
	}
	if text := log.String(); strings.Count(text, "level=ERROR") != 2 || strings.Count(text, "\n") != 2 || !strings.Contains(text, "config.json:7: bcs.podQueueNum: -1 is negative") {
		t.Errorf("logged: %s", text)
	}
	if got := queues(); got != 20 {
		t.Errorf("a wrong configuration changed the queues: they hold %g events", got)
	}
	if ok, failed, all := count(t, w, "ok"), count(t, w, "failed"), metricSum(t, w, metric.ConfigReloads); ok != 2 || failed != 2 || all != 4 {
		t.Errorf("%g ok, %g failed, %g exposed, want 2 of each", ok, failed, all)
	}
}

// podQueueNum 0 leaves the number to the watcher, also when it is read again.
func TestReloadToZero(t *testing.T) {
	w, cfg, log := reloading(t, func(c *config.Config) { c.BCS.Strategy, c.BCS.PodQueueNum = pipeline.Keyed, 4 })
	cfg.BCS.PodQueueNum = 0
	if err := w.Reload(func() (config.Config, config.Filter, error) { return cfg, config.Filter{}, nil }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "podQueueNum=30") {
		t.Errorf("logged: %s", log)
	}
}
