package watcher

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/storage"
)

// testSender sends to a storage that answers everything with data. No ReplicaSet is cached.
func testSender(t *testing.T, data string) *sender {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":`+data+`}`)
	}))
	t.Cleanup(server.Close)
	cfg := storage.Default()
	cfg.ClusterID, cfg.Endpoints = "BCS-K8S-00000", []string{server.URL}
	client, err := storage.New(cfg, storage.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var none collector.Collector
	owners := newOwners()
	owners.collector = &none
	return &sender{unnamed: func(string) bool { return false }, storage: client, owners: owners, workload: workload{cache: &none}}
}

// built is the event of an object as the cache has it, packed.
func built(t *testing.T, p *object.Packer, kind, raw string) pipeline.Event {
	t.Helper()
	m, err := object.Scan([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	recipe := object.Recipe{APIVersion: "v1", Kind: kind, Packer: p}
	o, err := recipe.Build([]byte(raw), &m, kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Event{Action: pipeline.Put, Key: o.Key, UID: o.UID, ResourceVersion: o.ResourceVersion, Object: o}
}

// TestOwnersOutliveBuffers: which ReplicaSet a Pod was sent with is still known when other
// Pods have been sent from the same buffer.
func TestOwnersOutliveBuffers(t *testing.T) {
	s := testSender(t, "{}")
	var packer object.Packer
	for i := range 10 {
		e := built(t, &packer, kindPod, fmt.Sprintf(`{"metadata":{"name":"p%d","namespace":"a","uid":"u","resourceVersion":"1",`+
			`"ownerReferences":[{"kind":"ReplicaSet","name":"r%d","controller":true}]},"spec":{"env":%q}}`, i, i, strings.Repeat("setting=value ", 20)))
		if err := s.Send(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	s.owners.observe(built(t, &packer, kindReplicaSet, `{"metadata":{"name":"r3","namespace":"a","uid":"u","resourceVersion":"2",`+
		`"ownerReferences":[{"kind":"Deployment","name":"web","controller":true}]}}`))
	want := []object.Key{{Kind: kindPod, Namespace: "a", Name: "p3"}}
	if !slices.Equal(s.owners.due, want) {
		t.Errorf("with r3 those are due: %v, want %v", s.owners.due, want)
	}
}

// TestVerifyLooksAtContent: a row of the same version need not be what the request without
// an answer was to write: it may have been written by other masks, or without the workload.
func TestVerifyLooksAtContent(t *testing.T) {
	var packer object.Packer
	const now = `{"metadata":{"name":"p","namespace":"a","uid":"u","resourceVersion":"7"},"data":{"b":1,"a":2.0}}`
	for row, want := range map[string]bool{
		`{"data":{"a":2,"b":1},"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"p","namespace":"a","uid":"u","resourceVersion":"7"}}`:              true,
		`{"data":{"a":2,"b":1,"secret":"x"},"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"p","namespace":"a","uid":"u","resourceVersion":"7"}}`: false,
		`{"data":{"a":2,"b":1},"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"p","namespace":"a","uid":"u","resourceVersion":"6"}}`:              false,
	} {
		s := testSender(t, `{"namespace":"a","resourceName":"p","data":`+row+`}`)
		if got, err := s.Verify(t.Context(), built(t, &packer, "ConfigMap", now)); err != nil || got != want {
			t.Errorf("row %s: %v, %v, want %v", row, got, err, want)
		}
	}
}
