package kperf

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/trace"
)

const head = `version: 1
description: a rollout
spec: {runnerCount: 1, connsPerRunner: 5, clientsPerRunner: 10, contentType: json}
requests:
`

// life has each verb; the comments say what becomes of it.
const life = head + `
- {timestamp: 0, verb: LIST, resourceKind: Pod, apiPath: /api/v1/pods, labelSelector: app=web} # read
- {timestamp: 10, verb: CREATE, namespace: shop, resourceKind: Pod, apiPath: /api/v1/namespaces/shop/pods, body: '{"metadata":{"name":"web-1","labels":{"app":"web"}},"spec":{"containers":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"}]}}'} # ADDED
- {timestamp: 10, verb: CREATE, namespace: shop, resourceKind: Pod, apiPath: /api/v1/namespaces/shop/pods, body: '{"metadata":{"name":"web-1"}}'} # there already
- {timestamp: 20, verb: PATCH, namespace: shop, resourceKind: Pod, name: web-1, apiPath: /api/v1/namespaces/shop/pods/web-1/status, body: '{"status":{"phase":"Running"}}'} # MODIFIED
- {timestamp: 30, verb: PATCH, namespace: shop, resourceKind: Pod, name: web-1, apiPath: "/api/v1/namespaces/shop/pods/web-1&fieldManager=x", body: '{"spec":{"containers":[{"name":"b","image":"b:2"}]}}'} # MODIFIED, merged by name
- {timestamp: 40, verb: CREATE, namespace: shop, resourceKind: Pod, name: web-1, apiPath: /api/v1/namespaces/shop/pods/web-1/eviction, body: '{}'} # skipped
- timestamp: 50
  verb: APPLY
  namespace: shop
  resourceKind: Invoice
  name: i
  apiPath: /apis/acme.example/v1/namespaces/shop/invoices/i
  body: |
    spec: {sum: 1, items: [1, 2], paid: false}
- {timestamp: 60, verb: PATCH, namespace: shop, resourceKind: Invoice, name: i, apiPath: /apis/acme.example/v1/namespaces/shop/invoices/i, body: '{"spec":{"items":[3],"paid":null}}'} # MODIFIED, a list replaced
- {timestamp: 60, verb: DELETE, namespace: shop, resourceKind: Pod, name: other, apiPath: /api/v1/namespaces/shop/pods/other} # not there
- {timestamp: 70, verb: CREATE, namespace: shop, resourceKind: Pod, apiPath: /api/v1/namespaces/shop/pods, body: '{"metadata":{"generateName":"job-","labels":{"app":"job"}}}'} # ADDED
- {timestamp: 80, verb: DELETECOLLECTION, namespace: shop, resourceKind: Pod, apiPath: /api/v1/namespaces/shop/pods, labelSelector: app=web} # DELETED
- {timestamp: 90, verb: CREATE, resourceKind: Namespace, apiPath: /api/v1/namespaces, body: '{"metadata":{"name":"shop"}}'} # ADDED
- {timestamp: 91, verb: DELETE, resourceKind: Namespace, name: shop, apiPath: /api/v1/namespaces/shop} # DELETED
- {timestamp: 92, verb: WATCH, resourceKind: Pod, apiPath: /api/v1/pods} # read
- {timestamp: 95, verb: GET, namespace: shop, resourceKind: Pod, name: x, apiPath: /api/v1/namespaces/shop/pods/x} # read
`

type memory struct{ bytes.Buffer }

func (*memory) Close() error { return nil }

// traced returns the frames of a profile, as text.
func traced(t testing.TB, p *Profile, anonymise bool) (trace.Header, []string, Counts) {
	t.Helper()
	var m memory
	counts, err := p.Trace(anonymise, func(h trace.Header) (*trace.Writer, error) { return trace.NewWriter(&m, h) })
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(m.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []string
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		if f.Type != trace.Synced {
			all = append(all, fmt.Sprintf("%d %s %s %s", f.At.Milliseconds(), f.Type, r.Header().Resources[f.Resource].Name, f.Object))
		}
	}
	return r.Header(), all, counts
}

func TestLife(t *testing.T) {
	p, err := Parse("life.yaml", []byte(life))
	if err != nil {
		t.Fatal(err)
	}
	header, frames, counts := traced(t, p, false)
	want := []struct {
		begin string
		parts []string
	}{
		{"10 ADDED pods ", []string{`"apiVersion":"v1"`, `"kind":"Pod"`, `"name":"web-1"`, `"namespace":"shop"`, `"resourceVersion":"2"`, `"creationTimestamp":"2026-01-01T00:00:00Z"`, `"uid":"00000000-0000-4000-8000-000000000002"`}},
		{"20 MODIFIED pods ", []string{`"phase":"Running"`, `"image":"a:1"`, `"resourceVersion":"3"`, `"uid":"00000000-0000-4000-8000-000000000002"`}},
		{"30 MODIFIED pods ", []string{`"image":"a:1"`, `"image":"b:2"`, `"phase":"Running"`}},
		{"50 ADDED invoices ", []string{`"apiVersion":"acme.example/v1"`, `"name":"i"`, `"paid":false`}},
		{"60 MODIFIED invoices ", []string{`"spec":{"items":[3],"sum":1}`}},
		{"70 ADDED pods ", []string{`"name":"job-`, `"generateName":"job-"`}},
		{"80 DELETED pods ", []string{`"name":"web-1"`, `"resourceVersion":"8"`}},
		{"90 ADDED namespaces ", []string{`"name":"shop"`}},
		{"91 DELETED namespaces ", nil},
	}
	if len(frames) != len(want) {
		t.Fatalf("%d frames: %s", len(frames), strings.Join(frames, "\n"))
	}
	for i, w := range want {
		for _, part := range append(w.parts, w.begin) {
			if !strings.Contains(frames[i], part) {
				t.Errorf("frame %d lacks %s: %s", i, part, frames[i])
			}
		}
	}
	if (counts != Counts{Events: 9, Reads: 3, Refused: 2, Skipped: 1}) || !strings.Contains(counts.String(), "9 events; left out are 3 reads") {
		t.Errorf("%+v", counts)
	}
	if len(header.Resources) != 3 || !header.Resources[0].Namespaced || header.Resources[2].Namespaced {
		t.Errorf("%+v", header.Resources)
	}
	_, hidden, _ := traced(t, p, true)
	if text := strings.Join(hidden, ""); len(hidden) != len(frames) || strings.Contains(text, "shop") || strings.Contains(text, "nvoice") {
		t.Errorf("anonymised: %s", text)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(life))
	_ = z.Close()
	asJSON, err := json.Marshal(map[string]any{"version": 1, "spec": map[string]any{"runnerCount": 1, "connsPerRunner": 1, "contentType": "json"}, "requests": []map[string]any{
		{"timestamp": 1, "verb": "CREATE", "resourceKind": "Node", "apiPath": "/api/v1/nodes", "body": `{"metadata":{"name":"n"}}`}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		data []byte
		want string // of the error
	}{
		"plain": {[]byte(life), ""}, "gzip": {packed.Bytes(), ""}, "json": {asJSON, ""},
		"cut": {packed.Bytes()[:100], "cut: gzip: unexpected EOF; copy the file anew"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, tc.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); (err == nil) != (tc.want == "") || err != nil && !strings.HasSuffix(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadFile(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestMistakes: each is refused with its line and what would be right.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "p.yaml: "},
		{"a: b\n", "p.yaml:1: a: unknown field"},
		{"version: 2\nspec: {runnerCount: 1, connsPerRunner: 1}\nrequests: []\n", "p.yaml:1: version: 2 is not known; use 1"},
		{"version: 1\nspec: {runnerCount: 0, connsPerRunner: 1}\nrequests: []\n", "p.yaml:2: spec.runnerCount: 0 is out of range; use at least 1"},
		{"version: 1\nspec: {runnerCount: 1, connsPerRunner: 1}\nrequests: []\n", "p.yaml:3: requests: there are none"},
		{head + "- {timestamp: 1, verb: PUSH, resourceKind: Pod, apiPath: /api/v1/pods}\n", `p.yaml:5: requests[0].verb: "PUSH" is not known; use one of CREATE, APPLY`},
		{head + "- {timestamp: -1, verb: GET, resourceKind: Pod, apiPath: /api/v1/pods}\n", "p.yaml:5: requests[0].timestamp: -1 is out of range"},
		{head + "- {timestamp: 5, verb: LIST, resourceKind: Pod, apiPath: /api/v1/pods}\n- {timestamp: 4, verb: LIST, resourceKind: Pod, apiPath: /api/v1/pods}\n", "p.yaml:6: requests[1].timestamp: 4 comes after 5; sort the requests by time"},
		{head + "- {timestamp: 5, verb: LIST, apiPath: /api/v1/pods}\n", "p.yaml:5: requests[0].resourceKind: it is missing"},
		{head + "- {timestamp: 5, verb: LIST, resourceKind: Pod}\n", "p.yaml:5: requests[0].apiPath: it is missing"},
		{head + "- {timestamp: 5, verb: DELETE, resourceKind: Pod, apiPath: /api/v1/pods}\n", "p.yaml:5: requests[0].name: DELETE needs one"},
		{head + "- {timestamp: 5, verb: CREATE, resourceKind: Pod, apiPath: /api/v1/pods}\n", "p.yaml:5: requests[0].body: CREATE needs one"},
		{head + "- {timestamp: 5, verb: CREATE, resourceKind: Pod, apiPath: /api/v1/pods, body: '[1]'}\n", "p.yaml:5: requests[0].body: it is no object; write one object, in JSON or YAML"},
		{head + "- {timestamp: 5, verb: CREATE, resourceKind: Pod, apiPath: /api/v1/pods, body: '{}'}\n", "p.yaml:5: requests[0].body: the object has no name; give it metadata.name"},
		{head + "- {timestamp: 5, verb: LIST, resourceKind: Pod, apiPath: /healthz}\n", `p.yaml:5: requests[0].apiPath: "/healthz" is no path of a resource; write it like /api/v1/`},
		{head + "- {timestamp: 5, verb: DELETE, resourceKind: Pod, name: a, apiPath: /api/v1/namespaces/x/pods/b}\n", `p.yaml:5: requests[0].name: "a", and the path has "b"; make them agree`},
		{head + "- {timestamp: 5, verb: DELETE, resourceKind: Pod, namespace: y, name: b, apiPath: /api/v1/namespaces/x/pods/b}\n", `p.yaml:5: requests[0].namespace: "y", and the path has "x"`},
		{head + "- {timestamp: 5, verb: LIST, resourceKind: Pod, apiPath: /api/v1/pods}\n", "p.yaml:5: requests: none of them changes anything"},
		{head + "- {timestamp: 5, verb: DELETECOLLECTION, resourceKind: Pod, apiPath: /api/v1/pods, labelSelector: '=='}\n", "p.yaml:5: requests[0].labelSelector: "},
		{head + "- {timestamp: 5, verb: DELETE, resourceKind: Pod, name: a, apiPath: /api/v1/pods/a}\n- {timestamp: 5, verb: DELETE, resourceKind: Pods, name: a, apiPath: /api/v1/pods/a}\n",
			"p.yaml:6: requests[1].resourceKind: Pods of pods, which was Pod before; make them agree"},
	} {
		if _, err := Parse("p.yaml", []byte(tc.text)); err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", tc.text, err, tc.want)
		}
	}
	p, err := Parse("p.yaml", []byte(head+"- {timestamp: 5, verb: CREATE, resourceKind: Pod, apiPath: /api/v1/namespaces/a/pods, body: '{metadata: {name: a}, spec: {containers: [{name: a}]}}'}\n"+
		"- {timestamp: 5, verb: PATCH, name: a, resourceKind: Pod, apiPath: /api/v1/namespaces/a/pods/a, body: '{spec: {containers: [{image: b}]}}'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Trace(false, func(h trace.Header) (*trace.Writer, error) { return trace.NewWriter(&memory{}, h) }); err == nil || !strings.HasPrefix(err.Error(), "p.yaml:6: requests[1].body: the patch of a cannot be applied: ") {
		t.Error(err)
	}
}

// TestSecretsByAnyKind: data are masked by the path; a kind is what somebody called it.
func TestSecretsByAnyKind(t *testing.T) {
	for _, kind := range []string{"Secret", "secret", "Secrets", "ConfigMap"} {
		for _, path := range []string{"secrets", "configmaps"} {
			p, err := Parse("p.yaml", []byte(head+"- {timestamp: 1, verb: CREATE, resourceKind: "+kind+", apiPath: /api/v1/namespaces/a/"+path+`, body: '{"metadata":{"name":"s"},"data":{"zqjz":"aHVudGVyMg=="}}'}`+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			if _, frames, _ := traced(t, p, false); strings.Contains(frames[0], "aHVudGVyMg") || strings.Contains(frames[0], `"zqjz"`) != (path == "configmaps") {
				t.Errorf("%s of %s: %s", kind, path, frames[0])
			}
		}
	}
}

// TestVersionsAreOneResource: what was made by one version of a group is changed and
// removed by another, and a replay serves it once. Subresources have kinds of their own.
func TestVersionsAreOneResource(t *testing.T) {
	p, err := Parse("p.yaml", []byte(head+`
- {timestamp: 1, verb: CREATE, resourceKind: Deployment, apiPath: /apis/apps/v1/namespaces/a/deployments, body: '{"metadata":{"name":"d"},"spec":{"replicas":1}}'}
- {timestamp: 2, verb: PATCH, resourceKind: Scale, name: d, apiPath: /apis/apps/v1/namespaces/a/deployments/d/scale, body: '{"spec":{"replicas":3}}'}
- {timestamp: 3, verb: PATCH, resourceKind: Deployment, name: d, apiPath: /apis/apps/v1beta2/namespaces/a/deployments/d, body: '{"spec":{"paused":true}}'}
- {timestamp: 4, verb: CREATE, resourceKind: Binding, name: p, apiPath: /api/v1/namespaces/a/pods/p/binding, body: '{"target":{"name":"n"}}'}
- {timestamp: 5, verb: PATCH, resourceKind: Scale, name: s, apiPath: /apis/apps/v1/namespaces/a/statefulsets/s/scale, body: '{"spec":{"replicas":3}}'}
- {timestamp: 6, verb: DELETE, resourceKind: Deployment, name: d, apiPath: /apis/apps/v1beta2/namespaces/a/deployments/d}
`))
	if err != nil {
		t.Fatal(err)
	}
	h, frames, counts := traced(t, p, false)
	if len(h.Resources) != 1 || len(frames) != 4 || (counts != Counts{Events: 4, Refused: 1, Skipped: 1}) {
		t.Fatalf("%+v %q %+v", h.Resources, frames, counts)
	}
	for i, part := range []string{"1 ADDED", `"replicas":3`, `"paused":true`, "6 DELETED"} {
		if !strings.Contains(frames[i], part) || !strings.Contains(frames[i], `"apiVersion":"apps/v1","kind":"Deployment"`) {
			t.Errorf("frame %d: %s", i, frames[i])
		}
	}
}

// TestTooDeep: what no trace takes is a mistake of the profile, with its line.
func TestTooDeep(t *testing.T) {
	p, err := Parse("p.yaml", []byte(head+`- {timestamp: 1, verb: CREATE, resourceKind: Node, apiPath: /api/v1/nodes, body: '{"metadata":{"name":"n"},"a":`+strings.Repeat("[", 1500)+strings.Repeat("]", 1500)+"}'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Trace(false, func(h trace.Header) (*trace.Writer, error) { return trace.NewWriter(&memory{}, h) }); err == nil || !strings.HasPrefix(err.Error(), "p.yaml:5: requests[0].body: ") {
		t.Error(err)
	}
}

// FuzzParse: a profile is refused, or it gives a trace or an error with its place.
func FuzzParse(f *testing.F) {
	f.Add([]byte(life))
	f.Add([]byte(head))
	for _, line := range strings.Split(strings.TrimPrefix(life, head), "\n- ") {
		f.Add([]byte(head + "- " + line + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("p.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "p.yaml") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		if _, err = p.Trace(false, func(h trace.Header) (*trace.Writer, error) { return trace.NewWriter(&memory{}, h) }); err != nil && !strings.HasPrefix(err.Error(), "p.yaml") {
			t.Fatal(err)
		}
	})
}
