package relation_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// large is a cluster of 100,000 Pods, 30 below each of 3,334 Deployments by two ReplicaSets.
func large(b *testing.B) *cluster {
	c := newCluster()
	env := make([]string, 24)
	for i := range env {
		env[i] = fmt.Sprintf(`{"name":"SETTING_%02d","value":"value of setting number %d"}`, i, i)
	}
	packer := map[watches.GVR][]view.Difference{}
	put := func(raw string) {
		r, o := read(b, raw)
		packer[r] = append(packer[r], view.Difference{Now: o})
	}
	for i := range 100 {
		put(plain("v1/Node", fmt.Sprintf("node-%d", i), fmt.Sprintf("node-uid-%d", i)))
	}
	for i := range 100_000 {
		d, namespace := i/30, fmt.Sprintf("team-%d", i/30%50)
		if i%30 == 0 {
			put(plain("apps/v1/Deployment", fmt.Sprintf("%s/web-%d", namespace, d), fmt.Sprintf("deployment-uid-%d", d)))
			put(plain("v1/ConfigMap", fmt.Sprintf("%s/web-%d", namespace, d), fmt.Sprintf("config-uid-%d", d)))
			for _, set := range []string{"new", "old"} {
				put(owned("apps/v1/ReplicaSet", fmt.Sprintf("%s/web-%d-%s", namespace, d, set), fmt.Sprintf("set-uid-%d-%s", d, set), fmt.Sprintf("apps/v1/Deployment web-%d deployment-uid-%d", d, d)))
			}
		}
		pod := owned("v1/Pod", fmt.Sprintf("%s/web-%d-new-%d", namespace, d, i), fmt.Sprintf("0b6f4c0e-8c0c-4f0b-9d7e-pod-%d", i), fmt.Sprintf("apps/v1/ReplicaSet web-%d-new set-uid-%d-new", d, d))
		put(strings.TrimSuffix(pod, "}") + fmt.Sprintf(`,"spec":{"nodeName":"node-%d","serviceAccountName":"default","volumes":[{"name":"c","configMap":{"name":"web-%d"}}],"containers":[{"name":"web","env":[%s]}]}}`, i%100, d, strings.Join(env, ",")))
	}
	for r, all := range packer {
		c.views[r] = view.New(view.Config{})
		c.views[r].Replaced(all, 1000, time.Now())
	}
	return c
}

// BenchmarkRelations is a query among 100,000 Pods. Aim: three levels (a Deployment, its
// ReplicaSets, their 30 Pods) in 2 ms.
func BenchmarkRelations(b *testing.B) {
	c := large(b)
	r := relations(b, c, &guard{}, nil)
	for _, q := range []struct {
		name, ask string
		nodes     int
	}{
		{"levels=3", "apps/v1/Deployment team-1/web-1 down 2", 33},
		{"levels=4", "apps/v1/Deployment team-1/web-1 down 3", 33 + 30 + 1 + 1},
		{"up", "v1/Pod team-1/web-1-new-30 up 3", 3},
	} {
		b.Run(q.name, func(b *testing.B) {
			query := question(b, q.ask)
			a, err := r.Graph(b.Context(), query) // makes the indexes
			if err != nil || len(a.Nodes) != q.nodes {
				b.Fatalf("%v, %d nodes", err, len(a.Nodes))
			}
			for b.Loop() {
				if _, err := r.Graph(b.Context(), query); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("http", func(b *testing.B) {
		for b.Loop() {
			w := httptest.NewRecorder()
			r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, relation.Path+"?gvk=apps/v1/Deployment&namespace=team-1&name=web-1&depth=2", nil))
			if w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		}
	})
	b.Run("churn", func(b *testing.B) { // a Pod changes between any two queries
		query := question(b, "apps/v1/Deployment team-1/web-1 down 2")
		v := c.views[podsGVR]
		version := uint64(1000)
		for b.Loop() {
			version++
			n := view.Name{Namespace: "team-1", Name: fmt.Sprintf("web-1-new-%d", 30+version%30)}
			old := c.get(b, v, n)
			now := &object.Object{Key: old.Key, UID: old.UID, ResourceVersion: version, Raw: old.Raw}
			v.Changed(old, now, version, time.Now())
			if _, err := r.Graph(b.Context(), query); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("index", func(b *testing.B) { // the first query: the indexes are made
		query := question(b, "v1/Node node-1 up 1")
		for b.Loop() {
			if _, err := relations(b, c, &guard{}, nil).Graph(b.Context(), query); err != nil {
				b.Fatal(err)
			}
		}
	})
}
