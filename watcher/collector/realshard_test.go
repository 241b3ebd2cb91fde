package collector_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/collector"
)

var configMaps = collector.Resource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true}

// TestShardsOfARealServer: of every object exactly one shard has the latest state, with the feature gate and without,
// by streaming and plain lists, and the metric says who filters.
func TestShardsOfARealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	for _, gate := range []bool{true, false} {
		t.Run(fmt.Sprintf("gate=%t", gate), func(t *testing.T) {
			var opts cluster.EmbeddedOptions
			if gate {
				opts.Gates = []string{"ShardedListAndWatch"}
			}
			cfg := realServer(t, opts)
			for _, by := range []kubeapi.By{kubeapi.ByUID, kubeapi.ByNamespace, kubeapi.ByName} {
				for _, plain := range []bool{false, true} {
					t.Run(fmt.Sprintf("by=%s,plain=%t", by, plain), func(t *testing.T) {
						filters := 0.0
						if gate && by != kubeapi.ByName {
							filters = 1
						}
						shardsOf(t, cfg, by, collector.Config{PlainList: plain}, filters)
					})
				}
			}
		})
	}
}

func realServer(t *testing.T, opts cluster.EmbeddedOptions) *rest.Config {
	t.Helper()
	p, err := cluster.New(cluster.Embedded, cluster.Options{Embedded: opts})
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Up(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// shardsOf runs a collector for each half while objects change, two of which are made again under their names.
func shardsOf(t *testing.T, cfg *rest.Config, by kubeapi.By, c collector.Config, filters float64) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ns := []string{clustertest.Namespace(t, cfg), clustertest.Namespace(t, cfg), clustertest.Namespace(t, cfg)}
	in := func(i int) string { return ns[i%len(ns)] }
	create := func(i int) {
		_, err := client.CoreV1().ConfigMaps(in(i)).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o", i)}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	remove := func(i int) {
		if err := client.CoreV1().ConfigMaps(in(i)).Delete(t.Context(), fmt.Sprint("o", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		create(i)
	}
	c.Resources = []collector.Resource{configMaps}
	var shards []*collector.Collector
	var registries []*harness
	for i := range halves {
		c.Shard = &kubeapi.Split(2, by)[i]
		h := &harness{t: t, api: &fakeAPI{}, reg: prometheus.NewRegistry()}
		col, err := collector.New(c, collector.Settings{Client: cfg, Sink: collector.Discard, Registry: h.reg, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		collector.FastRetry(col)
		runs(t, col)
		h.eventually("sync", func() bool { return len(col.Unsynced()) == 0 })
		shards, registries = append(shards, col), append(registries, h)
	}
	for i := range 4 { // in the first list, then by the watch
		remove(i)
	}
	for i := range 2 {
		create(i)
	}
	create(12)
	want := func() (all []string) {
		list, err := client.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			all = append(all, o.Namespace+"/"+o.Name+" "+string(o.UID)+" "+o.ResourceVersion)
		}
		return slices.Sorted(slices.Values(all))
	}
	var got []string
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got = got[:0]
		for _, s := range shards {
			for _, o := range s.List("ConfigMap") {
				got = append(got, fmt.Sprintf("%s/%s %s %d", o.Key.Namespace, o.Key.Name, o.UID, o.ResourceVersion))
			}
		}
		slices.Sort(got)
		if now := want(); slices.Equal(now, got) {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the shards have\n%q, the server\n%q", got, now)
		}
	}
	for i, h := range registries {
		if filters == 0 && len(shards[1-i].List("ConfigMap")) == 0 {
			continue // nothing to leave out: no namespace is of the other one
		}
		h.eventually(fmt.Sprintf("shard %d: the server filters: %v", i, filters), func() bool { return h.metric(metric.ServerSharded, "kind=ConfigMap") == filters })
		foreign := h.metric("k8swatch_events_filtered_total", "kind=ConfigMap", "reason="+collector.ReasonShard)
		if all := float64(len(got)); filters == 1 && foreign > 0 || filters == 0 && i == 1 && foreign == 0 && len(shards[0].List("ConfigMap")) > 0 {
			t.Errorf("shard %d left out %v objects, there are %v", i, foreign, all)
		}
	}
}
