package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

func TestMain(m *testing.M) {
	apisim.ForBubbles()
	os.Exit(clustertest.Shared(m).Run())
}

// mirror is a Sink that does what a storage would, and notes what no storage should
// be asked to do.
type mirror struct {
	mu       sync.Mutex // guards the rest
	objects  map[string]string
	versions map[string]uint64 // by uid
	gone     map[string]bool   // by uid
	back     int               // puts of an older version, or after the end of their uid
	example  string
}

func newMirror() *mirror {
	return &mirror{objects: map[string]string{}, versions: map[string]uint64{}, gone: map[string]bool{}}
}

func (m *mirror) Enqueue(_ context.Context, e pipeline.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := e.Key.Namespace + "/" + e.Key.Name
	if e.ResourceVersion < m.versions[e.UID] || e.Action == pipeline.Put && m.gone[e.UID] {
		m.back++
		m.example = fmt.Sprintf("%s: version %d of %s after %d", name, e.ResourceVersion, e.UID, m.versions[e.UID])
	}
	m.versions[e.UID] = max(m.versions[e.UID], e.ResourceVersion)
	if e.Action == pipeline.Delete {
		m.gone[e.UID] = true
		delete(m.objects, name)
		return nil
	}
	m.objects[name] = fmt.Sprintf("%s@%d", e.UID, e.ResourceVersion)
	return nil
}

func (m *mirror) snapshot() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]string{}
	for k, v := range m.objects {
		all[k] = v
	}
	return all
}

// collect runs our collector over one kind.
func collect(t *testing.T, cfg *rest.Config, c collector.Config, m *mirror) (*collector.Collector, func()) {
	t.Helper()
	col, err := collector.New(c, collector.Settings{Client: cfg, Sink: m})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- col.Run(ctx) }()
	return col, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// cached is what the collector holds of a kind.
func cached(col *collector.Collector, kind string, keep func(object.Key) bool) map[string]string {
	all := map[string]string{}
	for _, o := range col.List(kind) {
		if keep(o.Key) {
			all[o.Key.Namespace+"/"+o.Key.Name] = fmt.Sprintf("%s@%d", o.UID, o.ResourceVersion)
		}
	}
	return all
}
