package store_test

import (
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/storagemock/store"
)

// doc is a document from its JSON.
type doc string

func (d doc) Fields() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, v := range jsonscan.Members([]byte(d)) {
			if !yield(jsonscan.Unquote(key), v) {
				return
			}
		}
	}
}

const pod = doc(`{"_id":"66","resourceName":"web-1","updateTime":"2024-05-01T08:00:00.12Z","data":{"metadata":{"name":"web-1",` +
	`"labels":{"app":"web","app.kubernetes.io/name":"x","n":"1"},"owners":[{"kind":"RS","uid":"u1"},{"kind":"X"}]},` +
	`"spec":{"replicas":3,"on":true,"args":["a","b"],"none":null,"cost$":5}}}`)

func TestFilter(t *testing.T) {
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
		both := store.Filter{{Path: "_id", Values: []string{"66"}}, in}
		if got := both.Match(pod); got != tc.want {
			t.Errorf("_id and %s in %s: %v, want %v", tc.path, tc.values, got, tc.want)
		}
	}
	if !store.Filter(nil).Match(pod) {
		t.Error("no condition selects nothing, want everything")
	}
}

func TestAppendTime(t *testing.T) {
	at := time.Date(2024, 5, 1, 16, 0, 0, 120_456_000, time.FixedZone("", 8*3600))
	if got := string(store.AppendTime(nil, at)); got != `"2024-05-01T08:00:00.12Z"` {
		t.Errorf("got %s", got)
	}
}
