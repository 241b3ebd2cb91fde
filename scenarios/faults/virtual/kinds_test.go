package virtual

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/watcher/config"
)

// versions are the apiVersions of a kind's rows, each once, sorted.
func (w *world) versions(kind string) []string {
	var all []string
	for _, d := range w.mock.Store().All() {
		if d.Kind == kind {
			_, after, _ := strings.Cut(string(d.Data()), `"apiVersion":"`)
			version, _, _ := strings.Cut(after, `"`)
			all = append(all, version)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// said counts how often the watcher's log has a text.
func (w *world) said(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.logs.String(), text)
}

// listed has things collected because the white list of API resources names them.
func listed(_ *config.Config, f *config.Filter) {
	f.K8sResourceWhiteList = []string{"v1", "apps/v1", "example.com/v1", "example.com/v2"}
	f.CRDResourceWhiteList = nil
}

func withVersions(r apisim.Resource, versions ...string) apisim.Resource {
	r.Versions = versions
	return r
}

// TestVersionGone: the version of a kind that is watched is not served any more, and another one is, as after an
// upgrade of the apiserver. The kind moves at once, and nothing that still exists leaves storage.
func TestVersionGone(t *testing.T) {
	stage(t, 10*time.Minute, func(t *testing.T, w *world) {
		for i := range 5 {
			w.apply(things, "a", fmt.Sprint("t", i))
		}
		p := w.launch(listed)
		time.Sleep(15 * time.Second)
		if got := w.versions("Thing"); !slices.Equal(got, []string{"example.com/v1"}) {
			t.Fatalf("rows of %v", got)
		}
		if err := w.api.SetResource(withVersions(things, "v2")); err != nil {
			t.Fatal(err)
		}
		w.do(op{id: 900, typ: "delete", resource: things, ns: "a", name: "t4"}, "drain")
		time.Sleep(10 * time.Second)
		if got, n := w.versions("Thing"), len(w.rows()["Thing"]); !slices.Equal(got, []string{"example.com/v2"}) || n != 4 {
			t.Errorf("after 10 s %d rows of %v, want 4 of example.com/v2", n, got)
		}
		if gone, _ := w.removed("Thing", 1); !slices.Equal(gone, []string{"a/t4"}) {
			t.Errorf("removed %v, want what was deleted meanwhile", gone)
		}
		w.apply(things, "a", "t5")
		time.Sleep(time.Second)
		if n := len(w.rows()["Thing"]); n != 5 {
			t.Errorf("%d rows, want the new one too", n)
		}
		if err := p.ready(time.Second); err != nil {
			t.Error(err)
		}
	})
}

// TestResourceGone: a kind that no version serves any more leaves nothing in storage, but
// not while discovery fails, nor before it is certain.
func TestResourceGone(t *testing.T) {
	stage(t, 10*time.Minute, func(t *testing.T, w *world) {
		w.apply(things, "a", "t0")
		w.apply(apisim.ConfigMaps, "a", "c0")
		p := w.launch(listed)
		time.Sleep(15 * time.Second)
		// For a minute nothing answers but 404, as with a front end in the apiserver's place.
		if err := w.api.Faults().Add("404()"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if rows := w.rows(); len(rows["Thing"]) != 1 || len(rows["ConfigMap"]) != 1 {
			t.Fatalf("rows %v while nothing is served", rows)
		}
		if err := p.ready(time.Second); err == nil || !strings.Contains(err.Error(), "has been silent for") || !strings.Contains(err.Error(), "could not find") {
			t.Errorf("readiness says %v, want that the watches are dead, and why", err)
		}
		w.heal()
		time.Sleep(90 * time.Second)
		if err := p.ready(time.Second); err != nil {
			t.Fatal(err)
		}
		if err := w.api.RemoveResource(things.Key()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if rows := w.rows(); len(rows["Thing"]) != 0 || len(rows["ConfigMap"]) != 1 {
			t.Errorf("rows %v, want no Thing", rows)
		}
		if err := p.ready(time.Second); err != nil {
			t.Error(err)
		}
	})
}

// TestKeyKindsDoNotDependOnOrder: two definitions have a kind of the same name. Whichever
// comes first, and with a restart before, between or after, they are stored under the same
// kinds in the end, and nothing is left under the others.
func TestKeyKindsDoNotDependOnOrder(t *testing.T) {
	groups := []string{"a.example", "b.example"}
	for first := range groups {
		for _, restart := range []string{"none", "between", "after"} {
			t.Run(groups[first]+" first, restart "+restart, func(t *testing.T) {
				stage(t, 10*time.Second, func(t *testing.T, w *world) {
					both := func(_ *config.Config, f *config.Filter) {
						f.CRDResourceWhiteList = []string{"a.example/v1", "b.example/v1"}
					}
					p := w.launch(both)
					again := func(at string) {
						if restart == at {
							p.stop()
							p = w.launch(both)
						}
					}
					for i, g := range []string{groups[first], groups[1-first]} {
						r := apisim.Resource{Group: g, Versions: []string{"v1"}, Name: "games", Kind: "Game", Namespaced: true, Custom: true}
						if err := w.api.SetResource(r); err != nil {
							t.Fatal(err)
						}
						w.apply(r, "a", "of-"+g)
						w.apply(r, "a", "same")
						w.define(r, true)
						time.Sleep(30 * time.Second)
						if i == 0 {
							again("between")
							time.Sleep(30 * time.Second)
						}
					}
					again("after")
					time.Sleep(30 * time.Second)
					rows := w.rows()
					want := "[a/of-a.example a/same] [a/of-b.example a/same] []"
					if got := fmt.Sprint(rows["Game"], rows["Game.b.example"], rows["Game.a.example"]); got != want {
						t.Errorf("Game, Game.b.example and Game.a.example hold %s, want %s", got, want)
					}
					if n := w.said("two groups have a kind of the same name"); n < 1 || n > 2 {
						t.Errorf("%d warnings about the collision", n)
					}
					if s, err := p.scrape(); err != nil || s.Value(metric.KindCollisions) != 1 {
						t.Errorf("collisions: %v, %v", s.Value(metric.KindCollisions), err)
					}
				})
			})
		}
	}
}

// TestInBothWhiteLists: a group-version that both white lists name is watched once.
func TestInBothWhiteLists(t *testing.T) {
	stage(t, 10*time.Second, func(t *testing.T, w *world) {
		w.apply(things, "a", "t0")
		w.define(things, true)
		w.launch(func(c *config.Config, f *config.Filter) {
			listed(c, f)
			f.CRDResourceWhiteList = []string{"example.com/v1"}
		})
		time.Sleep(2 * time.Minute)
		rows := w.rows()
		if got := fmt.Sprint(rows["Thing"], rows["Thing.example.com"]); got != "[a/t0] []" {
			t.Errorf("Thing and Thing.example.com hold %s", got)
		}
		if n := w.api.Stats(things.Key()).Streams; n != 1 { // its Lists ask for the version
			t.Errorf("%d lists of Things, want 1", n)
		}
		if _, err := w.api.Delete(definitions.Key(), "", things.Name+".example.com"); err != nil {
			t.Fatal(err)
		}
		if err := w.api.RemoveResource(things.Key()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if rows := w.rows(); len(rows["Thing"]) != 0 {
			t.Errorf("left of a definition that is gone: %v", rows["Thing"])
		}
	})
}
