package virtual

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/watcher/config"
)

// stage runs a test in a world without a load of its own. Every process that the test
// leaves is stopped.
func stage(t *testing.T, period time.Duration, test func(t *testing.T, w *world)) {
	t.Helper()
	stageAt(t, period, "", test)
}

// stageAt is stage with a latency of storage.
func stageAt(t *testing.T, period time.Duration, latency string, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{edit: synced(period), latency: latency})
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- w.mock.Run(ctx) }()
		defer func() {
			for _, p := range w.procs {
				p.stop()
			}
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
			for _, p := range w.problems {
				t.Error(p)
			}
			if t.Failed() {
				t.Log(w.logs.String())
			}
		}()
		for _, ns := range []string{"a", "b"} {
			w.apply(apisim.Namespaces, "", ns)
		}
		test(t, w)
	})
}

// apply creates an object, or changes it.
func (w *world) apply(r apisim.Resource, ns, name string) {
	w.t.Helper()
	w.do(op{id: int64(len(w.ops) + 1), typ: oplog.TypePatch, resource: r, ns: ns, name: name}, oplog.PhasePrepare)
}

// launch starts a watcher whose configuration is changed, and waits for its first lists.
func (w *world) launch(change func(*config.Config, *config.Filter)) *process {
	w.t.Helper()
	cfg, filter := w.cfg, w.filt
	change(&w.cfg, &w.filt)
	p := w.start()
	w.cfg, w.filt = cfg, filter
	if err := p.ready(time.Minute); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// only has a watcher collect those kinds of the core group.
func only(f *config.Filter, kinds ...string) {
	f.K8sResourceWhiteList, f.CRDResourceWhiteList = []string{"v1"}, nil
	f.APIResourceSpecification = []config.GroupKinds{{GroupVersion: "v1", ResourceKinds: kinds}}
	f.APIResourceException = []config.GroupKinds{{GroupVersion: "v1", ResourceKinds: []string{"Event"}}}
}

// row puts a record into storage that no watcher wrote, in the labels of its name.
func (w *world) row(kind, ns, name string) {
	rec := httptest.NewRecorder()
	url := fmt.Sprintf("/state?cluster=%s&kind=%s&namespace=%s&name=%s", cluster, kind, ns, name)
	body := fmt.Sprintf(`{"kind":%q,"metadata":{"namespace":%q,"name":%q,"uid":"left-%s","labels":{"app":%q}}}`, kind, ns, name, ns, name)
	w.admin.ServeHTTP(rec, httptest.NewRequest(http.MethodPut, url, strings.NewReader(body)))
	if rec.Code >= 300 {
		w.t.Fatalf("adding %s/%s/%s: %d %s", kind, ns, name, rec.Code, rec.Body)
	}
}

// rows are storage's, by kind, sorted.
func (w *world) rows() map[string][]string {
	all := map[string][]string{}
	for _, d := range w.mock.Store().All() {
		all[d.Kind] = append(all[d.Kind], d.Namespace+"/"+d.Name)
	}
	for _, names := range all {
		slices.Sort(names)
	}
	return all
}

// removed are the records that requests removed, and puts the PUTs of a kind, from the
// ledger's entry on.
func (w *world) removed(kind string, from uint64) (gone []string, puts int) {
	for e := range w.mock.Ledger().From(from) {
		switch {
		case e.Kind != kind || e.Fault != "":
		case e.Method == http.MethodPut:
			puts++
		case e.Effect == ledger.EffectDeleted:
			gone = append(gone, e.Namespace+"/"+e.Name)
		}
	}
	return gone, puts
}

// TestShardsByLabel: two watchers of one cluster, each with its half of the ConfigMaps by
// their label. Neither removes what the other wrote; each removes its own leftovers.
func TestShardsByLabel(t *testing.T) {
	stage(t, 10*time.Second, func(t *testing.T, w *world) {
		for _, ns := range []string{"a", "b"} {
			for i := range 4 {
				w.apply(apisim.ConfigMaps, ns, fmt.Sprint("c", i))
			}
		}
		for _, selector := range []string{"app in (c0,c1)", "app notin (c0,c1)"} {
			w.launch(func(c *config.Config, f *config.Filter) {
				only(f, "ConfigMap")
				c.WatchResource.LabelSelectors = map[string]string{"ConfigMap": selector}
			})
		}
		time.Sleep(5 * time.Second)
		from := w.mock.Ledger().Len() + 1
		time.Sleep(time.Minute)
		if gone, puts := w.removed("ConfigMap", from); len(gone) > 0 || puts > 0 {
			t.Errorf("in six periods without a change %d rows were written and removed: %v", puts, gone)
		}
		w.row("ConfigMap", "gone", "c1")
		w.row("ConfigMap", "gone", "c2")
		time.Sleep(12 * time.Second)
		if rows := w.rows()["ConfigMap"]; len(rows) != 8 {
			t.Errorf("rows %v, want the 8 that the cluster has", rows)
		}
		if gone, _ := w.removed("ConfigMap", from); len(gone) != 2 {
			t.Errorf("removed %v, want the two leftovers, once each", gone)
		}
	})
}

// TestScopeChange: a kind that once had no namespaces has left a record in the cluster
// scope, one that once had them has left some in namespaces. They go, and no other
// record of the kind goes with them.
func TestScopeChange(t *testing.T) {
	stage(t, 10*time.Second, func(t *testing.T, w *world) {
		for _, ns := range []string{"a", "b"} {
			w.apply(apisim.ConfigMaps, ns, "x")
		}
		w.apply(apisim.Nodes, "", "n")
		w.row("ConfigMap", "", "x")
		w.launch(func(_ *config.Config, f *config.Filter) { only(f, "ConfigMap", "Node") })
		w.row("Node", "a", "n")
		time.Sleep(25 * time.Second)
		if gone, _ := w.removed("ConfigMap", 1); fmt.Sprint(gone) != "[/x]" {
			t.Errorf("ConfigMaps removed: %v, want the one of the cluster scope", gone)
		}
		if gone, _ := w.removed("Node", 1); fmt.Sprint(gone) != "[a/n]" {
			t.Errorf("Nodes removed: %v, want the one in a namespace", gone)
		}
		rows := w.rows()
		if fmt.Sprint(rows["ConfigMap"], rows["Node"]) != "[a/x b/x] [/n]" {
			t.Errorf("rows %v", rows)
		}
	})
}

// TestKindsRemovedWhileDown: while no watcher runs, a definition is deleted and a kind
// taken off the white list. What they left goes, and nothing else.
func TestKindsRemovedWhileDown(t *testing.T) {
	stage(t, 10*time.Second, func(t *testing.T, w *world) {
		w.define(things, true)
		w.apply(apisim.ConfigMaps, "a", "c0")
		w.apply(apisim.Secrets, "a", "s0")
		w.apply(things, "a", "t0")
		w.apply(things, "b", "t0")
		first := w.launch(func(*config.Config, *config.Filter) {})
		time.Sleep(15 * time.Second) // one comparison
		if rows := w.rows(); len(rows["Secret"]) != 1 || len(rows["Thing"]) != 2 {
			t.Fatalf("rows %v", rows)
		}
		first.stop()
		if _, err := w.api.Delete(definitions.Key(), "", things.Name+".example.com"); err != nil {
			t.Fatal(err)
		}
		if err := w.api.RemoveResource(things.Key()); err != nil {
			t.Fatal(err)
		}
		second := func(_ *config.Config, f *config.Filter) {
			f.APIResourceException = []config.GroupKinds{{GroupVersion: "v1", ResourceKinds: []string{"Secret"}}}
		}
		p := w.launch(second)
		time.Sleep(5 * time.Second)
		p.stop() // before anything is removed: the next one knows
		w.launch(second)
		time.Sleep(time.Minute)
		rows := w.rows()
		if len(rows["Secret"])+len(rows["Thing"]) != 0 {
			t.Errorf("left after six comparisons: Secrets %v, Things %v", rows["Secret"], rows["Thing"])
		}
		if len(rows["ConfigMap"]) != 1 || len(rows["Namespace"]) != 2 {
			t.Errorf("of what is watched there is %v", rows)
		}
	})
}

// TestShardsByKind: two watchers of one name, each with a kind of its own. None removes
// what the other collects, also when one starts again.
func TestShardsByKind(t *testing.T) {
	stage(t, 10*time.Second, func(t *testing.T, w *world) {
		w.apply(apisim.ConfigMaps, "a", "c0")
		w.apply(apisim.Secrets, "a", "s0")
		w.launch(func(_ *config.Config, f *config.Filter) { only(f, "ConfigMap") })
		time.Sleep(15 * time.Second)
		for range 2 {
			p := w.launch(func(_ *config.Config, f *config.Filter) { only(f, "Secret") })
			time.Sleep(2 * time.Minute)
			p.stop()
		}
		for _, kind := range []string{"ConfigMap", "Secret"} {
			if gone, _ := w.removed(kind, 1); len(gone) > 0 {
				t.Errorf("%s removed: %v", kind, gone)
			}
		}
	})
}

// TestHeartbeatsAreNoDifference: what a Node's heartbeat changes is not sent, and is
// repaired no more; what a person changes in the row is.
func TestHeartbeatsAreNoDifference(t *testing.T) {
	nodes := 5000
	if testing.Short() {
		nodes = 200
	}
	stage(t, 5*time.Minute, func(t *testing.T, w *world) {
		name := func(i int) string { return fmt.Sprintf("n%04d", i) }
		for i := range nodes {
			w.apply(apisim.Nodes, "", name(i))
		}
		p := w.launch(func(_ *config.Config, f *config.Filter) { only(f, "Node") })
		time.Sleep(time.Minute)
		from := w.mock.Ledger().Len() + 1
		for minute := range 30 {
			for i := range nodes / 5 { // each Node every five minutes
				w.do(op{id: int64(100_000 + minute*nodes + i), typ: oplog.TypeHeartbeat, resource: apisim.Nodes, name: name(i*5 + minute%5)}, oplog.PhaseLoad)
			}
			time.Sleep(time.Minute)
		}
		s, err := p.scrape()
		if err != nil {
			t.Fatal(err)
		}
		_, puts := w.removed("Node", from)
		if n := value(s, metric.SyncRepairs); n != 0 || puts != 0 {
			t.Errorf("%g repairs and %d PUTs of %d Nodes in 30 minutes of heartbeats", n, puts, nodes)
		}
		if n := value(s, metric.SyncRuns, "result", "success"); n < 6 {
			t.Errorf("%g comparisons, want 6", n)
		}
		w.tamper(http.MethodPut, "Node", "", name(7), `{"kind":"Node","metadata":{"name":"`+name(7)+`"}}`)
		time.Sleep(5*time.Minute + time.Second)
		if _, puts := w.removed("Node", from); puts != 1 {
			t.Errorf("%d PUTs of a row that was edited, want 1", puts)
		}
	})
}
