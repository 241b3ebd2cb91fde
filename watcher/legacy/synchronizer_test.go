package legacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// mirror is both sides of a comparison.
type mirror struct {
	resources []collector.Resource
	synced    map[string]time.Duration // kinds that sync later than at the start
	cached    []object.Key
	filtered  []object.Key // cached, and not to be sent
	stored    []object.Key
	broken    string // a namespace whose list fails
	start     time.Time

	lists   []string
	repairs []string
}

func (m *mirror) Get(k object.Key) (*object.Object, bool) {
	return nil, slices.Contains(m.cached, k) || slices.Contains(m.filtered, k)
}
func (m *mirror) Resources() []collector.Resource { return m.resources }
func (m *mirror) KindSynced(kind string) bool     { return time.Since(m.start) >= m.synced[kind] }
func (m *mirror) ExpectedKeys(kind string) (keys []object.Key) {
	for _, k := range m.cached {
		if k.Kind == kind {
			keys = append(keys, k)
		}
	}
	return keys
}

func (m *mirror) Repair(_ context.Context, k object.Key) error {
	m.repairs = append(m.repairs, fmt.Sprintf("%s %s", time.Since(m.start), k))
	return nil
}

func (m *mirror) List(_ context.Context, kind, namespace, fields string, limit, offset int) ([]storage.Record, error) {
	m.lists = append(m.lists, fmt.Sprintf("%s/%s %s %d+%d", namespace, kind, fields, offset, limit))
	if namespace == m.broken {
		return nil, errors.New("broken")
	}
	var out []storage.Record
	for _, k := range m.stored {
		if k.Kind == kind && k.Namespace == namespace {
			out = append(out, storage.Record{Name: k.Name})
		}
	}
	return out[min(offset, len(out)):min(offset+limit, len(out))], nil
}

func key(kind, namespace, name string) object.Key {
	return object.Key{Kind: kind, Namespace: namespace, Name: name}
}

func TestSynchronizer(t *testing.T) {
	namespace := collector.Resource{Version: "v1", Name: "namespaces", Kind: "Namespace"}
	node := collector.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
	pods := collector.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	events := collector.Resource{Version: "v1", Name: "events", Kind: "Event", Namespaced: true}
	for _, tc := range []struct {
		name    string
		only    string // the one namespace
		m       mirror
		repairs []string
		lists   []string
	}{
		{
			name: "what one side has alone",
			m: mirror{
				resources: []collector.Resource{namespace, node, pods, events},
				synced:    map[string]time.Duration{"Pod": 40 * time.Second},
				cached:    []object.Key{key("Namespace", "", "a"), key("Node", "", "n1"), key("Pod", "a", "both"), key("Pod", "a", "new"), key("Event", "a", "new")},
				filtered:  []object.Key{key("Pod", "a", "filtered")},
				stored:    []object.Key{key("Namespace", "", "a"), key("Node", "", "n0"), key("Pod", "a", "both"), key("Pod", "a", "old"), key("Pod", "a", "filtered"), key("Event", "a", "old"), key("Pod", "gone", "orphan")},
				broken:    "none",
			},
			// Nothing looks into the namespace that has gone, and Events are not deleted.
			repairs: []string{"1m0s Pod/a/new", "1m0s Pod/a/old", "30s Event/a/new", "30s Node/n0", "30s Node/n1"},
			lists:   []string{"/Namespace resourceName 0+3000", "/Node resourceName 0+3000", "a/Event resourceName 0+500", "a/Pod resourceName 0+500"},
		},
		{
			name: "without the kind Namespace everything seems to be missing",
			m: mirror{
				resources: []collector.Resource{pods},
				cached:    []object.Key{key("Pod", "a", "both")},
				stored:    []object.Key{key("Pod", "a", "both"), key("Pod", "a", "old")},
				broken:    "none",
			},
			repairs: []string{"30s Pod/a/both"},
		},
		{
			name: "a namespace that cannot be listed", only: "a",
			m: mirror{
				resources: []collector.Resource{pods},
				cached:    []object.Key{key("Pod", "a", "both")},
				stored:    []object.Key{key("Pod", "a", "both"), key("Pod", "a", "old")},
				broken:    "a",
			},
			repairs: []string{"30s Pod/a/both"},
			lists:   []string{"a/Pod resourceName 0+500"},
		},
		{
			name: "a cluster kind that cannot be listed",
			m:    mirror{resources: []collector.Resource{node}, cached: []object.Key{key("Node", "", "n1")}},
			// broken is "", the cluster scope: the kind is left alone.
			lists: []string{"/Node resourceName 0+3000"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := tc.m
				m.start = time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := NewSynchronizer(tc.only, &m, &m, nil).Run(ctx); err != nil {
					t.Error(err)
				}
				slices.Sort(m.repairs)
				slices.Sort(m.lists)
				if d := gocmp.Diff(tc.repairs, m.repairs); d != "" {
					t.Error("repairs:", d)
				}
				if d := gocmp.Diff(tc.lists, m.lists); d != "" {
					t.Error("lists:", d)
				}
			})
		})
	}
}

func TestSynchronizerPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mirror{start: time.Now(), broken: "none", resources: []collector.Resource{{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}}}
		for i := range 2 * syncPageSize {
			m.stored = append(m.stored, key("Pod", "a", fmt.Sprint(i)))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := NewSynchronizer("a", &m, &m, nil).Run(ctx); err != nil {
			t.Error(err)
		}
		if len(m.repairs) != 2*syncPageSize || len(m.lists) != 3 {
			t.Errorf("%d repairs after %d pages, want %d and 3", len(m.repairs), len(m.lists), 2*syncPageSize)
		}
	})
}
