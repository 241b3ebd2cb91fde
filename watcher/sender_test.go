package watcher

import (
	"io"
	"net/http"
	"net/http/httptest"
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
	return &sender{storage: client, owners: &owners{collector: &none}, workload: workload{cache: &none}}
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
