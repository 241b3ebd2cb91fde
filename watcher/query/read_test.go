package query_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var web = map[string]string{"app": "web", "tier": "front"}

// somePods syncs pods of two namespaces, on two nodes.
func somePods(s *server) {
	s.sync(pods,
		s.obj(pods, "a", "one", web, `,"spec":{"nodeName":"n1","priority":3,"hostNetwork":true},"status":{"phase":"Running"}`),
		s.obj(pods, "a", "two", map[string]string{"app": "db"}, `,"spec":{"nodeName":"n2"},"status":{"phase":"Pending"}`),
		s.obj(pods, "a-b", "one", web, `,"spec":{"nodeName":"n1"},"status":{"phase":"Failed"}`),
		s.obj(pods, "b", "three", nil, `,"spec":{},"status":{"phase":"Running"}`),
	)
	s.sync(nodes, s.obj(nodes, "", "n1", nil, ""), s.obj(nodes, "", "n2", nil, `,"spec":{"unschedulable":true}`))
	s.sync(namespaces, s.obj(namespaces, "", "a", nil, ""))
	s.sync(gadgets, s.obj(gadgets, "a", "g", nil, `,"spec":{"size":2,"on":true,"parts":["x"],"none":null,"a.b":"c"}`))
}

func TestGet(t *testing.T) {
	s := start(t)
	somePods(s)
	a := s.ask(t, "/api/v1/namespaces/a/pods/one")
	o := decode[item](t, a)
	if a.code != 200 || o.Kind != "Pod" || o.APIVersion != "v1" || o.Metadata.Name != "one" || !bytes.Equal(bytes.TrimSpace(a.body), s.get(pods, "a", "one").JSON()) {
		t.Errorf("%d %s", a.code, a.body)
	}
	if a.header.Get("Content-Length") != strconv.Itoa(len(a.body)) || a.header.Get("X-Watchbench-Resource-Version") != "100" || a.header.Get("X-Watchbench-Age") != "0" || a.header.Get("Warning") != "" {
		t.Errorf("%v", a.header)
	}
	for path, message := range map[string]string{
		"/api/v1/namespaces/a/pods/none":             `pods "none" not found`,
		"/apis/example.com/v1/namespaces/a/gadgets/": `gadgets.example.com "x" not found`,
	} {
		if strings.HasSuffix(path, "/") {
			path += "x"
		}
		if st := s.ask(t, path).failed(t, 404, message); st.Reason != metav1.StatusReasonNotFound || st.Details.Name == "" {
			t.Errorf("%+v", st)
		}
	}
	if o := decode[item](t, s.ask(t, "/api/v1/nodes/n1")); o.Metadata.Name != "n1" {
		t.Errorf("%+v", o)
	}
	if o := decode[item](t, s.ask(t, "/api/v1/namespaces/a")); o.Kind != "Namespace" || o.Metadata.Name != "a" {
		t.Errorf("%+v", o)
	}
	for _, path := range []string{
		"/api/v1/pods/one", "/api/v1/namespaces/a/nodes/n1", "/api/v1/namespaces/a/nodes", "/api/v1/nothing", "/api/v2/pods", "/apis/none/v1/things", "/api/v1/namespaces/a/pods/one/log",
		"/api/v1/namespaces/a/status", "/apis/example.com/v1/namespaces/a/gadgets/g/status", "/api/v1/namespaces//pods", "/api/v1//pods", "/nothing", "/openapi/v2", "/openapi/v3",
	} {
		s.ask(t, path).failed(t, 404, "the server could not find the requested resource")
	}
}

func TestList(t *testing.T) {
	s := start(t)
	somePods(s)
	l := decode[list](t, s.ask(t, "/api/v1/pods"))
	// a-b comes before a/: the order of the keys in etcd.
	if l.Kind != "PodList" || l.APIVersion != "v1" || l.Metadata.ResourceVersion != "100" || l.names() != "a-b/one a/one a/two b/three" {
		t.Errorf("%+v", l)
	}
	for path, want := range map[string]string{
		"/api/v1/namespaces/a/pods":            "a/one a/two",
		"/api/v1/namespaces/none/pods":         "",
		"/api/v1/nodes":                        "n1 n2",
		"/api/v1/pods?labelSelector=app%3Dweb": "a-b/one a/one",
		"/api/v1/pods?labelSelector=app%3Dweb&fieldSelector=metadata.namespace%3Da":       "a/one",
		"/api/v1/pods?labelSelector=app+in+(web,db),tier":                                 "a-b/one a/one",
		"/api/v1/pods?labelSelector=!app":                                                 "b/three",
		"/api/v1/pods?labelSelector=app!%3Dweb":                                           "a/two b/three",
		"/api/v1/pods?labelSelector=app%3Dnone":                                           "",
		"/api/v1/pods?fieldSelector=spec.nodeName%3Dn1":                                   "a-b/one a/one",
		"/api/v1/namespaces/a/pods?fieldSelector=spec.nodeName%3Dn1":                      "a/one",
		"/api/v1/pods?fieldSelector=spec.nodeName%3D":                                     "b/three",
		"/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1":                                  "a/two b/three",
		"/api/v1/pods?fieldSelector=status.phase!%3DRunning,status.phase!%3DFailed":       "a/two",
		"/api/v1/pods?fieldSelector=spec.nodeName%3Dnone":                                 "",
		"/api/v1/pods?fieldSelector=status.phase%3DRunning,spec.nodeName%3Dn1":            "a/one",
		"/api/v1/pods?fieldSelector=spec.hostNetwork%3Dtrue":                              "a/one",
		"/api/v1/pods?fieldSelector=spec.hostNetwork%3Dfalse":                             "a-b/one a/two b/three",
		"/api/v1/pods?fieldSelector=metadata.name%3Done":                                  "a-b/one a/one",
		"/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Done":                     "a/one",
		"/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Done,spec.nodeName!%3Dn1": "",
		"/api/v1/nodes?fieldSelector=metadata.name%3Dn2":                                  "n2",
		"/api/v1/nodes?fieldSelector=spec.unschedulable%3Dfalse":                          "n1",
		"/apis/example.com/v1/gadgets":                                                    "a/g",
	} {
		if l := decode[list](t, s.ask(t, path)); l.names() != want || l.Items == nil {
			t.Errorf("%s: %s\nwant %s", path, l.names(), want)
		}
	}
	if s.ask(t, "/api/v1/pods?labelSelector=app%3Dnone").code != 200 {
		t.Error("an empty list is no error")
	}
}

// TestMaskedFieldsCannotBeSelected: what is not cached is not there, whatever it was.
func TestMaskedFieldsCannotBeSelected(t *testing.T) {
	s := start(t)
	s.sync(pods, s.obj(pods, "a", "p", nil, `,"status":{"phase":"Running"}`)) // of {"phase":"Running","podIP":"x"}
	if l := decode[list](t, s.ask(t, "/api/v1/pods?fieldSelector=status.podIP%3Dx")); l.names() != "" {
		t.Errorf("%s", l.names())
	}
	if l := decode[list](t, s.ask(t, "/api/v1/pods?fieldSelector=status.podIP!%3Dx")); l.names() != "a/p" {
		t.Errorf("%s", l.names())
	}
}

func TestBadRequests(t *testing.T) {
	s := start(t)
	somePods(s)
	for query, message := range map[string]string{
		"labelSelector=!!":                "unable to parse requirement",
		"labelSelector=a%3D%3D%3Db":       "found '='",
		"fieldSelector=a":                 "invalid selector",
		"fieldSelector=spec.nodename%3Da": "field label not supported: spec.nodename; supported are metadata.name, metadata.namespace, spec.hostNetwork, spec.nodeName",
		"limit=x":                         "invalid syntax",
		"resourceVersion=x":               `Invalid value: "x"`,
		"resourceVersion=-1":              `Invalid value: "-1"`,
		"continue=x":                      "invalid continue token",
		"continue=e30":                    "invalid continue token",
		"continue=eyJydiI6MTAwLCJuYW1lIjoiYSIsImxlZnQiOjAsIngiOjF9": "invalid continue token", // a member x
		"labelSelector=%zz":                          "cannot be read",
		"includeObject=All":                          "includeObject",
		"shardSelector=x":                            "shardSelector",
		"labelSelector=" + strings.Repeat("a", 5000): "the most are 4096",
	} {
		s.ask(t, "/api/v1/pods?"+query).failed(t, 400, message)
	}
	for query, message := range map[string]string{
		"resourceVersionMatch=Exact":                                     "forbidden unless resourceVersion is provided",
		"resourceVersionMatch=x&resourceVersion=1":                       "supported values",
		"resourceVersionMatch=Exact&resourceVersion=0":                   "is forbidden for resourceVersion",
		"sendInitialEvents=true":                                         "sendInitialEvents is forbidden for list",
		"watch=true&sendInitialEvents=true":                              "sendInitialEvents requires setting resourceVersionMatch",
		"watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1": "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
	} {
		s.ask(t, "/api/v1/pods?"+query).failed(t, 422, message)
	}
	s.ask(t, "/api/v1/pods?a="+strings.Repeat("x", 9000)).failed(t, 414, "URL")
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		a := s.do(t, method, "/api/v1/namespaces/a/pods", "{}")
		a.failed(t, 405, "not supported on resources of kind \"pods\"")
		if a.header.Get("Allow") != "GET" {
			t.Errorf("%v", a.header)
		}
		s.do(t, method, "/apis", "{}").failed(t, 405, "can only be read")
	}
	s.ask(t, "/api/v1/pods", "Accept", "application/vnd.kubernetes.protobuf").failed(t, 406, "only the following media types")
	s.ask(t, "/api/v1/pods", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v2").failed(t, 406, "only the following media types")
	for _, accept := range []string{"application/vnd.kubernetes.protobuf,application/json", "application/cbor, */*", "application/json;as=Table;g=meta.k8s.io;v=v2,application/json"} {
		if a := s.ask(t, "/api/v1/pods", "Accept", accept); a.code != 200 || decode[list](t, a).Kind != "PodList" {
			t.Errorf("%s: %d %s", accept, a.code, a.body)
		}
	}
}

// TestPages are of one state whatever changes meanwhile.
func TestPages(t *testing.T) {
	s := start(t, func(c *cfg) { c.MaxPage = 4 })
	var want []string
	s.sync(pods)
	for i := range 10 {
		s.put(pods, "a", fmt.Sprintf("p%d", i), map[string]string{"even": fmt.Sprint(i%2 == 0)}, "")
		want = append(want, fmt.Sprintf("a/p%d", i))
	}
	s.put(pods, "b", "other", nil, "")
	at := s.rv
	for _, limit := range []int{1, 3, 100} {
		var got []string
		next, left := "", int64(10)
		for page := 0; page == 0 || next != ""; page++ {
			l := decode[list](t, s.ask(t, fmt.Sprintf("/api/v1/namespaces/a/pods?limit=%d&continue=%s", limit, next)))
			if l.Metadata.ResourceVersion != rv(at) || len(l.Items) > min(limit, 4) {
				t.Fatalf("%+v", l.Metadata)
			}
			left -= int64(len(l.Items))
			switch r := l.Metadata.RemainingItemCount; {
			case left == 0 && (r != nil || l.Metadata.Continue != ""), left > 0 && (r == nil || *r != left):
				t.Errorf("limit %d: %d remain, want %d", limit, r, left)
			}
			for _, i := range l.Items {
				got = append(got, i.Metadata.Namespace+"/"+i.Metadata.Name)
			}
			next = l.Metadata.Continue
			if page == 0 && next != "" {
				s.put(pods, "a", "p50", nil, "")
				s.remove(pods, "a", "p9")
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("limit %d: %v\nwant %v", limit, got, want)
		}
		s.remove(pods, "a", "p50")
		s.put(pods, "a", "p9", map[string]string{"even": "false"}, "")
		at = s.rv
	}
	l := decode[list](t, s.ask(t, "/api/v1/pods?limit=2&labelSelector=even%3Dtrue"))
	if l.names() != "a/p0 a/p2" || l.Metadata.RemainingItemCount != nil || l.Metadata.Continue == "" {
		t.Errorf("%+v", l)
	}
	if l = decode[list](t, s.ask(t, "/api/v1/pods?limit=3&labelSelector=even%3Dtrue&continue="+l.Metadata.Continue)); l.names() != "a/p4 a/p6 a/p8" || l.Metadata.Continue != "" {
		t.Errorf("%+v", l)
	}
	token := decode[list](t, s.ask(t, "/api/v1/pods?limit=1")).Metadata.Continue
	s.ask(t, "/api/v1/namespaces/b/pods?limit=1&continue="+token).failed(t, 400, "another namespace")
	s.ask(t, "/api/v1/pods?limit=1&resourceVersion=5&continue="+token).failed(t, 400, "not allowed when using continue")
}

// TestExpiredToken is 410 with a token that goes on with the latest state.
func TestExpiredToken(t *testing.T) {
	s := start(t)
	somePods(s)
	l := decode[list](t, s.ask(t, "/api/v1/pods?limit=2"))
	s.put(pods, "b", "two", nil, "")
	s.views[pods].Replaced([]diff{{Old: s.get(pods, "b", "two")}}, s.rv+1, time.Now()) // a list expires what was before
	st := s.ask(t, "/api/v1/pods?limit=2&continue="+l.Metadata.Continue).failed(t, 410, "continue")
	if st.Reason != metav1.StatusReasonExpired || st.Continue == "" {
		t.Fatalf("%+v", st)
	}
	if l := decode[list](t, s.ask(t, "/api/v1/pods?limit=2&continue="+st.Continue)); l.names() != "a/two b/three" || l.Metadata.ResourceVersion != rv(s.rv+1) {
		t.Errorf("%+v", l)
	}
}

func TestVersions(t *testing.T) {
	s := start(t)
	somePods(s)
	s.put(pods, "c", "new", nil, "") // 101
	s.put(pods, "c", "newer", nil, "")
	for query, want := range map[string]string{
		"resourceVersion=100&resourceVersionMatch=Exact":                                "100: a-b/one a/one a/two b/three",
		"resourceVersion=101&resourceVersionMatch=Exact":                                "101: a-b/one a/one a/two b/three c/new",
		"resourceVersion=100&limit=50":                                                  "100: a-b/one a/one a/two b/three",
		"resourceVersion=100&resourceVersionMatch=NotOlderThan":                         "102: a-b/one a/one a/two b/three c/new c/newer",
		"resourceVersion=100":                                                           "102: a-b/one a/one a/two b/three c/new c/newer",
		"resourceVersion=0":                                                             "102: a-b/one a/one a/two b/three c/new c/newer",
		"resourceVersion=101&resourceVersionMatch=Exact&fieldSelector=spec.nodeName%3D": "101: b/three c/new",
	} {
		l := decode[list](t, s.ask(t, "/api/v1/pods?"+query))
		if got := l.Metadata.ResourceVersion + ": " + l.names(); got != want {
			t.Errorf("%s: %s\nwant %s", query, got, want)
		}
	}
	if st := s.ask(t, "/api/v1/pods?resourceVersion=99&resourceVersionMatch=Exact").failed(t, 410, "too old"); st.Reason != metav1.StatusReasonExpired {
		t.Errorf("%+v", st)
	}
}

// TestFutureVersion waits for the version, and 504 tells the client that it is still to come.
func TestFutureVersion(t *testing.T) {
	s := start(t)
	somePods(s)
	done := make(chan answer)
	go func() { done <- s.ask(t, "/api/v1/pods?resourceVersion=105") }()
	go func() { done <- s.ask(t, "/api/v1/namespaces/a/pods/one?resourceVersion=105") }()
	time.Sleep(50 * time.Millisecond)
	if len(done) != 0 {
		t.Error("answered before the version came")
	}
	s.views[pods].Advance(105)
	for range 2 {
		if a := <-done; a.code != 200 || a.header.Get("X-Watchbench-Resource-Version") != "105" {
			t.Errorf("%d %s", a.code, a.body)
		}
	}
	began := time.Now()
	for _, path := range []string{"/api/v1/pods?resourceVersion=106", "/api/v1/pods?resourceVersion=106&resourceVersionMatch=Exact", "/api/v1/namespaces/a/pods/one?resourceVersion=106"} {
		go func() { done <- s.ask(t, path) }()
	}
	for range 3 {
		a := <-done
		if st := a.failed(t, 504, "Too large resource version: 106, current: 105"); st.Reason != metav1.StatusReasonTimeout || len(st.Details.Causes) != 1 || st.Details.Causes[0].Type != metav1.CauseTypeResourceVersionTooLarge || a.header.Get("Retry-After") != "1" {
			t.Errorf("%+v", st)
		}
	}
	if took := time.Since(began); took < 2900*time.Millisecond || took > 6*time.Second {
		t.Errorf("waited %s", took)
	}
}
