package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/storagemock/store"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// scene is an API server and a storage that hold the same.
type scene struct {
	t         *testing.T
	api       string
	forbidden atomic.Pointer[string] // the end of paths that the API server refuses
	writes    atomic.Int64           // requests to the API server that are no GET
	storage   *storagemock.Server
}

var auditKinds = []apisim.Resource{apisim.Namespaces, apisim.Pods, apisim.ConfigMaps, apisim.Nodes}

func newScene(t *testing.T) *scene {
	s := &scene{t: t}
	sim, err := apisim.New(apisim.Config{Resources: auditKinds})
	if err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			s.writes.Add(1)
		}
		if end := s.forbidden.Load(); end != nil && strings.HasSuffix(r.URL.Path, *end) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"no"}`)
			return
		}
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(api.Close)
	s.api = api.URL
	if s.storage, err = storagemock.New(storagemock.DefaultConfig(), storagemock.Settings{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running errgroup.Group
	running.Go(func() error { return s.storage.Run(ctx) })
	t.Cleanup(func() { cancel(); _ = running.Wait() })
	for i := range 6 {
		for r, object := range map[*apisim.Resource]string{
			&auditKinds[0]: `{"metadata":{"name":"team-%d"}}`,
			&auditKinds[1]: `{"metadata":{"namespace":"team","name":"web-%d"},"spec":{"nodeName":"n1"}}`,
			&auditKinds[2]: `{"metadata":{"namespace":"team","name":"cm-%d"},"data":{"key":"value"}}`,
			&auditKinds[3]: `{"metadata":{"name":"n%d"},"status":{"conditions":[{"type":"Ready","lastHeartbeatTime":"2026-01-01T00:00:00Z"}]}}`,
		} {
			if _, err := sim.Apply(r.Key(), fmt.Appendf(nil, object, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, r := range auditKinds {
		for _, o := range sim.Objects(r.Key()) {
			s.put(r.Kind, o.Namespace, o.Name, string(o.JSON()))
		}
	}
	return s
}

func (s *scene) put(kind, ns, name, row string) {
	s.storage.Store().Put(store.Key{Cluster: "c", Kind: kind, Namespace: ns, Name: name},
		store.Object{Data: []byte(row), Meta: store.ParseMeta([]byte(row))}, time.Now(), func(store.Change) {})
}

// edit changes a row behind the watcher's back.
func (s *scene) edit(kind, ns, name, pattern, now string) {
	s.t.Helper()
	was := string(s.storage.Store().Get(store.Key{Cluster: "c", Kind: kind, Namespace: ns, Name: name}, nil).Data())
	row := regexp.MustCompile(pattern).ReplaceAllString(was, now)
	if row == was {
		s.t.Fatalf("%s changes nothing in %s", pattern, was)
	}
	s.put(kind, ns, name, row)
}

// audit is the exit code and the lines of an audit.
func (s *scene) audit(storage, api, filter string, flags ...string) (int, []string) {
	file := configFiles(s.t, fmt.Sprintf(`{"default":{"clusterID":"c"},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":%q},
"k8s":{"master":%q},"filterConfigPath":"FILTER","leaderElection":{"enabled":true}}`, storage, api), filter)
	code, _, all := command(s.t, append([]string{"audit", "-f", file, "--wait=1s"}, flags...)...)
	return code, strings.Split(strings.TrimSpace(all), "\n")
}

// TestAudit: an audit of equal sides finds nothing, one of damaged rows names each, and neither
// writes anything.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	storage, filter := "http://"+s.storage.Addrs()[0], `{"k8sResourceWhiteList":["v1"]}`
	s.edit("Node", "", "n3", `"resourceVersion":"\d+"`, `"resourceVersion":"1"`) // before a heartbeat
	if code, lines := s.audit(storage, s.api, filter); code != exitOK || len(lines) != 1 || lines[0] != "0 differences, of 24 objects of 4 kinds" {
		t.Errorf("equal: exit code %d\n%s", code, strings.Join(lines, "\n"))
	}
	s.storage.Store().Delete(store.Key{Cluster: "c", Kind: "Pod", Namespace: "team", Name: "web-1"}, nil, "", time.Now(), func(store.Change) {})
	s.edit("Pod", "team", "web-2", `"resourceVersion":"\d+"`, `"resourceVersion":"1"`)
	s.edit("ConfigMap", "team", "cm-3", `"value"`, `"other"`)
	s.put("ConfigMap", "gone", "cm-1", `{"kind":"ConfigMap","metadata":{"name":"cm-1","namespace":"gone","uid":"u","resourceVersion":"5"}}`)
	s.put("Node", "", "gone", `{"kind":"Node","metadata":{"name":"gone","uid":"u","resourceVersion":"5"}}`)
	s.put("TFJob", "team", "job", `{"kind":"TFJob","metadata":{"name":"job","namespace":"team","uid":"u","resourceVersion":"5"}}`)
	s.put(synchronizer.StateKind, "", "k8s-watch", `{"kind":"K8sWatchState","metadata":{"name":"k8s-watch"},"kinds":["Pod","TFJob"]}`)
	want := []string{
		"ConfigMap gone/cm-1: not in the cluster", "ConfigMap team/cm-3: contents differ", "Node gone: not in the cluster",
		"Pod team/web-1: missing in storage", "Pod team/web-2: older version", "TFJob team/job: not in the cluster",
		"6 differences, 1 contents differ, 1 missing in storage, 3 not in the cluster, 1 older version, of 24 objects of 5 kinds",
	}
	code, lines := s.audit(storage, s.api, filter)
	slices.Sort(lines[:len(lines)-1])
	if d := cmp.Diff(want, lines); code != exitDiffers || d != "" {
		t.Errorf("exit code %d, want %d\n%s", code, exitDiffers, d)
	}
	code, lines = s.audit(storage, s.api, filter, "--format=json")
	var out synchronizer.Audited
	if err := json.Unmarshal([]byte(strings.Join(lines, "\n")), &out); err != nil || code != exitDiffers || len(out.Differences) != 6 {
		t.Errorf("JSON: exit code %d, %v, %+v", code, err, out)
	}
	if written, asked := s.storage.Ledger().Len(), s.writes.Load(); written != 0 || asked != 0 {
		t.Errorf("%d writes to storage, %d to the API server", written, asked)
	}
}

// TestAuditFailures: what cannot be compared is said, with its own exit code.
func TestAuditFailures(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	storage, nowhere, filter := "http://"+s.storage.Addrs()[0], "http://"+freeAddress(t), `{"k8sResourceWhiteList":["v1"]}`
	for _, tc := range []struct {
		name, storage, api, filter, forbidden string
		flags                                 []string
		code                                  int
		want                                  string
	}{
		{"storage down", nowhere, s.api, filter, "", nil, exitIncomplete, "storage (key bcs.custom-storage-endpoints) cannot be read"},
		{"not storage", s.api, s.api, filter, "", nil, exitIncomplete, "something else than bcs-storage answers there"},
		{"API server down", storage, nowhere, filter, "", nil, exitIncomplete, "the apiserver at " + nowhere},
		{"kind forbidden", storage, s.api, filter, "/pods", nil, exitIncomplete, "Pod: could not be compared: "},
		{"unknown kind", storage, s.api, `{"k8sResourceWhiteList":["v1"],"resourceMaskers":[{"kind":"pods","path":["data"]}]}`, "", nil, exitBadInput, `did you mean "Pod"?`},
		{"no kind", storage, s.api, `{}`, "", nil, exitBadInput, "nothing is compared: the filter file lets no kind through"},
		{"format", storage, s.api, filter, "", []string{"--format=xml"}, exitBadInput, `--format "xml": want text or json`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.forbidden.Store(nil)
			if tc.forbidden != "" {
				s.forbidden.Store(&tc.forbidden)
			}
			code, lines := s.audit(tc.storage, tc.api, tc.filter, tc.flags...)
			if all := strings.Join(lines, "\n"); code != tc.code || !strings.Contains(all, tc.want) || tc.code == exitBadInput && len(lines) != 1 {
				t.Errorf("exit code %d, want %d and %s:\n%s", code, tc.code, tc.want, all)
			}
		})
	}
}
