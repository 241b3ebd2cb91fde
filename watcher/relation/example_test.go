package relation_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/watches"
)

var update = flag.Bool("update", false, "write the golden files")

// shop is a small application.
func shop(t testing.TB) *cluster {
	c := newCluster()
	const revision = "apps/v1/ReplicaSet web-7d4b9c 5a1e9a53-62a2-4e0c-a0d8-0d1c62f9e2f3"
	c.put(t, plain("v1/Node", "node-17", "e1d1c9f0-0b62-4c5d-9b0c-7a3f1f0a2b11"))
	c.put(t, plain("v1/ConfigMap", "shop/web", "7f7d2f63-54a4-4e0b-8f57-1d6f3ad6c0de"))
	c.put(t, plain("v1/ServiceAccount", "shop/default", "b6b0d1c7-3f0e-4b5a-9a38-0c8f5e4d3a21"))
	c.put(t, plain("apps/v1/Deployment", "shop/web", "0b6f4c0e-8c0c-4f0b-9d7e-2f1f0a5f7c11"))
	c.put(t, owned("apps/v1/ReplicaSet", "shop/web-7d4b9c", strings.Fields(revision)[2], "apps/v1/Deployment web 0b6f4c0e-8c0c-4f0b-9d7e-2f1f0a5f7c11"))
	pod := owned("v1/Pod", "shop/web-7d4b9c-x2x4z", "9c1c5b0e-53f4-4a39-8f2c-6f1d2e3a4b5c", revision)
	c.put(t, strings.TrimSuffix(pod, "}")+`,"spec":{"nodeName":"node-17","serviceAccountName":"default","containers":[{"name":"web","envFrom":[{"configMapRef":{"name":"web"}},{"secretRef":{"name":"web-password"}}]}],"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"web-cache"}}]}}`)
	return c
}

// TestExample is the example of docs/relations.md.
func TestExample(t *testing.T) {
	text := must(json.Marshal(ask(t, relations(t, shop(t), &guard{}, nil), "apps/v1/Deployment shop/web down 3")))
	// A line for each node and each other member of the answer.
	pretty := regexp.MustCompile(`,("(?:nodes|edges|types|resourceVersions)":)|,(\{"gvk":)`).ReplaceAll(text, []byte(",\n$1$2"))
	const golden = "testdata/example.json"
	pretty = append(pretty, '\n')
	if *update {
		if err := os.WriteFile(golden, pretty, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := must(os.ReadFile(golden))
	if !bytes.Equal(pretty, want) {
		t.Errorf("%s differs; -update writes it:\n%s", golden, pretty)
	}
	if docs, err := os.ReadFile("../../docs/relations.md"); err != nil || !bytes.Contains(docs, want) {
		t.Errorf("docs/relations.md does not have %s as it is: %v", golden, err)
	}
}

// TestRefused: queries that cannot be answered.
func TestRefused(t *testing.T) {
	const start = "gvk=apps/v1/Deployment&namespace=shop&name=web"
	deployments := watches.GVR{Group: "apps", Version: "v1", Resource: "deployments"}
	for _, tt := range []struct {
		query  string
		change func(*cluster)
		reason metav1.StatusReason // of a Status
		err    error               // or this
	}{
		{query: "name=a", reason: metav1.StatusReasonBadRequest},
		{query: "gvk=Pod&name=a", reason: metav1.StatusReasonBadRequest},
		{query: "gvk=v1/pods&name=a", reason: metav1.StatusReasonBadRequest},
		{query: "gvk=/v1/Pod&name=a", reason: metav1.StatusReasonBadRequest},
		{query: "gvk=v1/Pod&namespace=shop", reason: metav1.StatusReasonBadRequest},
		{query: "gvk=v1/Pod&name=a", reason: metav1.StatusReasonBadRequest},
		{query: "gvk=v1/Node&namespace=shop&name=a", reason: metav1.StatusReasonBadRequest},
		{query: start + "&depth=0", reason: metav1.StatusReasonBadRequest},
		{query: start + "&depth=11", reason: metav1.StatusReasonBadRequest},
		{query: start + "&depth=-1", reason: metav1.StatusReasonBadRequest},
		{query: start + "&depth=two", reason: metav1.StatusReasonBadRequest},
		{query: start + "&direction=left", reason: metav1.StatusReasonBadRequest},
		{query: start + "&dept=2", reason: metav1.StatusReasonBadRequest},
		{query: start + "&name=b", reason: metav1.StatusReasonBadRequest},
		{query: "gvk=apps/v1/Deployment&namespace=shop&name=none", reason: metav1.StatusReasonNotFound},
		{query: "gvk=v1/Unknown&name=a", err: watches.ErrNotServed},
		{query: start, change: func(c *cluster) { c.catalogue = &watches.Catalogue{} }, reason: metav1.StatusReasonServiceUnavailable},
		{query: start, change: func(c *cluster) { c.refuse[deployments] = watches.ErrDenied }, err: watches.ErrDenied},
	} {
		c := shop(t)
		if tt.change != nil {
			tt.change(c)
		}
		values := must(url.ParseQuery(tt.query))
		q, err := relation.ParseQuery(values)
		if err == nil {
			_, err = relations(t, c, &guard{}, nil).Graph(t.Context(), q, nil)
		}
		if err == nil || tt.reason != "" && apierrors.ReasonForError(err) != tt.reason || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %s%v", tt.query, err, tt.reason, tt.err)
		}
		if c.held != 0 {
			t.Errorf("%s: %d watches are still held", tt.query, c.held)
		}
	}
}
