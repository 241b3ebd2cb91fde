package virtual

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/watcher/config"
)

// stage runs a test in a world without a load of its own. Every process that the test leaves is stopped.
func stage(t *testing.T, period time.Duration, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{edit: synced(period)})
		end := w.serve()
		defer func() {
			end()
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

// removed are the records that requests removed, and puts the PUTs of a kind, from the ledger's entry on.
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
