package store_test

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/storagemock/store"
)

func TestFilter(t *testing.T) {
	s := store.New(store.Faithful, 1)
	s.Put(key("a", "web-1"), store.Object{Data: []byte(`{"metadata":{"name":"web-1",` +
		`"labels":{"app":"web","app.kubernetes.io/name":"x","n":"1"}},"spec":{"replicas":3}}`)}, start, ignore)
	pod := s.Get(key("a", "web-1"), nil)
	for _, tc := range []struct {
		path   string
		values string
		want   bool
	}{
		{"resourceName", "web-1", true},
		{"resourceName", "a,web-1", true},
		{"resourceName", "web", false},
		{"data.metadata.labels.app", "web", true},
		{"data.metadata.labels.app", "db", false},
		{"data.metadata.labels.tier", "web", false},
		{"data.metadata.labels.app.kubernetes.io/name", "x", false}, // split at its dots, as on the real server
		{"data.spec.replicas", "3", false},                          // a number is no string
		{"data.metadata", "web-1", false},
		{"resourceName.x", "web-1", false},
		{"nowhere", "x", false},
	} {
		in := store.In{Path: tc.path, Values: strings.Split(tc.values, ",")}
		if got := (store.Filter{in}).Match(pod); got != tc.want {
			t.Errorf("%s in %s: %v, want %v", tc.path, tc.values, got, tc.want)
		}
		both := store.Filter{{Path: "clusterId", Values: []string{"C"}}, in}
		if got := both.Match(pod); got != tc.want {
			t.Errorf("clusterId and %s in %s: %v, want %v", tc.path, tc.values, got, tc.want)
		}
	}
	if !store.Filter(nil).Match(pod) {
		t.Error("no condition selects nothing, want everything")
	}
}
