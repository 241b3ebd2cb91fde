package query_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/watches"
)

const (
	tableForm    = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	metadataForm = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

func TestTable(t *testing.T) {
	s := start(t)
	somePods(s)
	l := decode[item](t, s.ask(t, "/api/v1/pods?limit=3", "Accept", tableForm))
	if l.Kind != "Table" || l.APIVersion != "meta.k8s.io/v1" || l.Metadata.ResourceVersion != "100" || len(l.Rows) != 3 || l.Columns[0].Name != "Name" || l.Columns[0].Format != "name" || l.Columns[5].Priority != 1 {
		t.Fatalf("%+v", l)
	}
	if got := fmt.Sprint(l.Rows[1].Cells[:4], l.Rows[1].Cells[5:]); got != "[one 0/0 Running 0] [<none> n1]" {
		t.Errorf("%s", got)
	}
	if age := fmt.Sprint(l.Rows[1].Cells[4]); !regexp.MustCompile(`^\d+[ydh]`).MatchString(age) {
		t.Errorf("age %s", age)
	}
	var inner item
	if err := json.Unmarshal(l.Rows[1].Object, &inner); err != nil || inner.Kind != "PartialObjectMetadata" || inner.Metadata.Namespace != "a" {
		t.Errorf("%v %+v", err, inner)
	}
	for include, want := range map[string]string{"None": "null", "Object": string(s.get(pods, "a", "one").JSON())} {
		one := decode[item](t, s.ask(t, "/api/v1/namespaces/a/pods/one?includeObject="+include, "Accept", tableForm))
		if one.Kind != "Table" || one.Metadata.ResourceVersion != "100" || len(one.Rows) != 1 || string(one.Rows[0].Object) != want {
			t.Errorf("%s: %+v", include, one)
		}
	}
	g := decode[item](t, s.ask(t, "/apis/example.com/v1/gadgets", "Accept", tableForm))
	if len(g.Columns) != 2 || len(g.Rows) != 1 || g.Rows[0].Cells[0] != "g" {
		t.Errorf("%+v", g)
	}
	w := s.watch(t, "/api/v1/pods?watch=true&resourceVersion=100&timeoutSeconds=3&allowWatchBookmarks=true&includeObject=Object", "Accept", tableForm)
	s.put(pods, "a", "two", nil, "")
	e := w.next()
	if e.Type != "MODIFIED" || e.Object.Kind != "Table" || e.Object.Metadata.ResourceVersion != "101" || e.Object.Rows[0].Cells[0] != "two" || len(e.Object.Columns) == 0 || !bytes.Contains(e.Object.Rows[0].Object, []byte(`"kind":"Pod"`)) {
		t.Errorf("%+v", e)
	}
	if e = w.next(); e.Type != "BOOKMARK" || e.Object.Kind != "Table" || e.Object.Metadata.ResourceVersion != "101" || len(e.Object.Rows) != 0 {
		t.Errorf("%+v", e)
	}
}

func TestMetadataOnly(t *testing.T) {
	s := start(t)
	somePods(s)
	a := s.ask(t, "/api/v1/pods?labelSelector=app%3Dweb", "Accept", metadataForm)
	l := decode[list](t, a)
	if l.Kind != "PartialObjectMetadataList" || l.APIVersion != "meta.k8s.io/v1" || l.names() != "a-b/one a/one" || l.Items[0].Kind != "PartialObjectMetadata" || bytes.Contains(a.body, []byte("nodeName")) {
		t.Errorf("%s", a.body)
	}
	one := "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	if o := decode[item](t, s.ask(t, "/api/v1/nodes/n1", "Accept", one)); o.Kind != "PartialObjectMetadata" || o.Metadata.Name != "n1" {
		t.Errorf("%+v", o)
	}
	w := s.watch(t, "/api/v1/nodes?watch=true&allowWatchBookmarks=true", "Accept", one)
	w.expect("ADDED n1@100", "ADDED n2@100", "BOOKMARK @100")
	s.remove(nodes, "", "n1")
	if e := w.next(); e.String() != "DELETED n1@101" || e.Object.Kind != "PartialObjectMetadata" {
		t.Errorf("%+v", e)
	}
}

// TestCells of the kinds that have columns of their own.
func TestCells(t *testing.T) {
	old := time.Now().Add(-50 * time.Hour).UTC().Format(time.RFC3339)
	meta := fmt.Sprintf(`"metadata":{"name":"x","creationTimestamp":%q,"labels":{"node-role.kubernetes.io/worker":"","kubernetes.io/role":"db"}}`, old)
	gone := strings.Replace(meta, `"name"`, fmt.Sprintf(`"deletionTimestamp":%q,"name"`, old), 1)
	for _, c := range []struct{ group, resource, object, want string }{
		{"", "nodes", `{` + meta + `,"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1"},"addresses":[{"type":"Hostname","address":"h"},{"type":"InternalIP","address":"1.2.3.4"}]}}`, "x|Ready|2d2h"},
		{"", "nodes", `{"metadata":{"name":"x"},"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`, "x|NotReady,SchedulingDisabled|<unknown>"},
		{"", "nodes", `{` + meta + `}`, "x|Unknown|2d2h"},
		{"", "configmaps", `{` + meta + `,"data":{"a":"b","c":"d"},"binaryData":{"e":"ZQ=="}}`, "x|2d2h"},
		{"", "pods", `{` + meta + `,"spec":{"nodeName":"n","containers":[{},{}]},"status":{"phase":"Running","podIP":"1.1.1.1","containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}},"lastState":{"terminated":{"finishedAt":"` + old + `"}}},{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`, "x|1/2|CrashLoopBackOff|2 (2d2h ago)|2d2h|1.1.1.1|n"},
		{"", "pods", `{` + meta + `,"spec":{"containers":[{}],"initContainers":[{"name":"a"},{"name":"b","restartPolicy":"Always"}]},"status":{"phase":"Pending","initContainerStatuses":[{"name":"a","state":{"running":{}}}]}}`, "x|0/2|Init:0/2|0|2d2h|<none>|<none>"},
		{"", "pods", `{` + gone + `,"spec":{"containers":[{}]},"status":{"phase":"Running"}}`, "x|0/1|Terminating|0|2d2h|<none>|<none>"},
		{"", "pods", `{` + meta + `,"spec":{"containers":[{}]},"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]}}`, "x|0/1|ExitCode:3|0|2d2h|<none>|<none>"},
		{"", "pods", `{"metadata":{"name":"odd"},"spec":"no object"}`, "odd|<unknown>"},
		{"x.io", "things", `{` + meta + `}`, "x|2d2h"},
	} {
		cells, err := query.Cells(kind(watches.GVR{Group: c.group, Version: "v1", Resource: c.resource}, "X", true), []byte(c.object))
		var text []string
		for _, cell := range cells {
			text = append(text, fmt.Sprint(cell))
		}
		if got := strings.Join(text, "|"); err != nil || got != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.resource, got, err, c.want)
		}
	}
}

func TestDiscovery(t *testing.T) {
	s := start(t)
	v := decode[metav1.APIVersions](t, s.ask(t, "/api"))
	if v.Kind != "APIVersions" || fmt.Sprint(v.Versions) != "[v1]" {
		t.Errorf("%+v", v)
	}
	g := decode[metav1.APIGroupList](t, s.ask(t, "/apis"))
	if g.Kind != "APIGroupList" || len(g.Groups) != 1 || g.Groups[0].Name != "example.com" || g.Groups[0].PreferredVersion.GroupVersion != "example.com/v1" {
		t.Errorf("%+v", g)
	}
	if g := decode[metav1.APIGroup](t, s.ask(t, "/apis/example.com")); g.Kind != "APIGroup" || g.Name != "example.com" {
		t.Errorf("%+v", g)
	}
	for path, want := range map[string]string{"/api/v1": "namespaces,nodes,pods", "/apis/example.com/v1": "gadgets"} {
		l := decode[metav1.APIResourceList](t, s.ask(t, path))
		var names []string
		for _, r := range l.APIResources {
			names = append(names, r.Name)
			if fmt.Sprint(r.Verbs) != "[get list watch]" || r.SingularName == "" {
				t.Errorf("%+v", r)
			}
		}
		if got := strings.Join(names, ","); got != want || "/apis/"+l.GroupVersion != path && "/api/"+l.GroupVersion != path {
			t.Errorf("%s: %s %s", path, l.GroupVersion, got)
		}
	}
	all := "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
	for path, want := range map[string]string{"/api": `"resource":"pods"`, "/apis": `"resource":"gadgets"`} {
		a := s.ask(t, path, "Accept", all)
		if !strings.Contains(a.header.Get("Content-Type"), "as=APIGroupDiscoveryList") || !bytes.Contains(a.body, []byte(`"kind":"APIGroupDiscoveryList"`)) || !bytes.Contains(a.body, []byte(want)) {
			t.Errorf("%v %s", a.header, a.body)
		}
	}
	for _, path := range []string{"/api/v2", "/apis/none", "/apis/example.com/v2"} {
		s.ask(t, path).failed(t, 404, "could not find")
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		if a := s.ask(t, path); a.code != 200 || string(a.body) != "ok" {
			t.Errorf("%s: %d %s", path, a.code, a.body)
		}
	}
	if a := s.ask(t, "/version"); !bytes.Contains(a.body, []byte(`"major":"1","minor":"36"`)) || !bytes.Contains(a.body, []byte(`"gitVersion":"v1.36.3"`)) {
		t.Errorf("%s", a.body)
	}
	s.served = &watches.Catalogue{}
	s.ask(t, "/readyz").failed(t, 503, "not known yet")
	s.ask(t, "/apis").failed(t, 503, "not known yet")
	s.served = &watches.Catalogue{Groups: []collector.APIGroup{{Versions: []collector.APIVersion{{Name: "v1"}}}}}
	if g := decode[metav1.APIGroupList](t, s.ask(t, "/apis")); g.Groups == nil || len(g.Groups) != 0 {
		t.Errorf("%+v", g)
	}
}
