package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/storagemock/store"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

const auditCluster = "BCS-K8S-00001"

var (
	replicaSets = apisim.Resource{Group: "apps", Versions: []string{"v1"}, Name: "replicasets", Kind: "ReplicaSet", Namespaced: true}
	definitions = apisim.Resource{Group: "apiextensions.k8s.io", Versions: []string{"v1"}, Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"}
	widgets     = apisim.Resource{Group: "example.com", Versions: []string{"v1"}, Name: "widgets", Kind: "Widget", Namespaced: true, Custom: true}
)

// scene is an API server, a storage and a configuration for both.
type scene struct {
	t       testing.TB
	sim     *apisim.Server
	refuse  func(*http.Request) int // the status with which the API server refuses; 0: not
	storage *storagemock.Server
	api     string
	cfg     string
}

const auditFilter = `{"k8sResourceWhiteList":["v1","apps/v1"],"crdResourceWhiteList":["example.com/v1"],"resourceNamespaceFilters":["hidden"],
"apiResourceException":[{"groupVersion":"v1","resourceKinds":["PersistentVolumeClaim"]}],
"resourceMaskers":[{"kind":"Secret","path":["data"]}]}`

func newScene(t testing.TB, more string) *scene {
	t.Helper()
	s := &scene{t: t, refuse: func(*http.Request) int { return 0 }}
	var err error
	if s.sim, err = apisim.New(apisim.Config{Resources: []apisim.Resource{
		apisim.Namespaces, apisim.Pods, apisim.ConfigMaps, apisim.Secrets, apisim.Nodes, apisim.Deployments, apisim.Events, replicaSets, definitions, widgets,
	}}); err != nil {
		t.Fatal(err)
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := s.refuse(r); code != 0 {
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"no, by the test"}`,
				code, strings.ReplaceAll(http.StatusText(code), " ", ""))
			return
		}
		s.sim.ServeHTTP(w, r)
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
	s.configure("http://"+s.storage.Addrs()[0], api.URL, more)
	return s
}

func (s *scene) configure(storage, api, more string) {
	s.cfg = configFiles(s.t, fmt.Sprintf(`{"default":{"clusterID":%q},"watch_resource":{"disable_netservice":true},"bcs":{"custom-storage-endpoints":%q},
"k8s":{"master":%q},"filterConfigPath":"FILTER","port":0,"metric_port":0%s}`, auditCluster, storage, api, more), auditFilter)
}

func (s *scene) apply(r apisim.Resource, format string, args ...any) {
	s.t.Helper()
	if _, err := s.sim.Apply(r.Key(), fmt.Appendf(nil, format, args...)); err != nil {
		s.t.Fatal(err)
	}
}

// file writes a file of its own.
func (s *scene) file(text string) string {
	file := filepath.Join(s.t.TempDir(), "file.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// pod is one of a ReplicaSet of a Deployment.
func (s *scene) pod(i int, phase string) {
	s.apply(apisim.Pods, `{"metadata":{"namespace":"team-%d","name":"web-%d","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-rs","uid":"r","controller":true}],
"managedFields":[{"manager":"test"}]},"spec":{"nodeName":"n1"},"status":{"phase":%q}}`, i%3, i, phase)
}

// fill makes a small cluster of all kinds.
func (s *scene) fill() {
	s.apply(definitions, `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
"versions":[{"name":"v1","served":true,"storage":true}]},"status":{"conditions":[{"type":"Established","status":"True"}]}}`)
	for ns := range 3 {
		s.apply(apisim.Namespaces, `{"metadata":{"name":"team-%d"}}`, ns)
		s.apply(replicaSets, `{"metadata":{"namespace":"team-%d","name":"web-rs","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d","controller":true}]}}`, ns)
		s.apply(apisim.Deployments, `{"metadata":{"namespace":"team-%d","name":"web"},"spec":{"replicas":1}}`, ns)
	}
	for i := range 60 {
		s.pod(i, "Running")
		s.apply(apisim.ConfigMaps, `{"metadata":{"namespace":"team-%d","name":"cm-%d"},"data":{"n":"%d"}}`, i%3, i, i)
		s.apply(apisim.Secrets, `{"metadata":{"namespace":"team-%d","name":"s-%d"},"data":{"password":"eA=="}}`, i%3, i)
		s.apply(widgets, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"team-%d","name":"w-%d"},"spec":{"size":%d}}`, i%3, i, i)
		s.apply(apisim.ConfigMaps, `{"metadata":{"namespace":"hidden","name":"cm-%d"}}`, i)
		s.apply(apisim.Events, `{"metadata":{"namespace":"team-1","name":"e-%d"},"involvedObject":{"kind":"Pod","namespace":"team-1","name":"web-1"},"type":"Normal"}`, i)
	}
	for i := range 10 {
		s.node(i, 0, "True")
	}
}

func (s *scene) node(i, beat int, ready string) {
	s.apply(apisim.Nodes, `{"metadata":{"name":"n%d"},"status":{"conditions":[{"type":"Ready","status":%q,"lastHeartbeatTime":"2026-01-01T00:00:%02dZ"}]}}`, i, ready, beat%60)
}

// watch runs a k8s-watch until the test ends.
func (s *scene) watch() {
	cmd, log := program(s.t.Context(), s.t.(*testing.T), "-f", s.cfg), &journal{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	waitFor(s.t.(*testing.T), "all rows", func() bool {
		return len(s.storage.Store().List(auditCluster, "Widget", "")) == 60 && len(s.storage.Store().List(auditCluster, "Pod", "")) == 60
	})
}

type auditOutput struct {
	Verdict                                        string
	Clean                                          bool
	Objects, Rows, Differ, KindsRead, KindsNotRead int
	watcher.Audited
}

// audit runs k8s-watch audit with the report as JSON, and returns what it wrote to standard error.
func (s *scene) audit(args ...string) (code int, out auditOutput, stderr string) {
	cmd := program(s.t.Context(), s.t.(*testing.T), append([]string{"audit", "-f", s.cfg, "--format", "json", "--qps", "1000"}, args...)...)
	var text, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &errs
	_ = cmd.Run()
	_ = json.Unmarshal(text.Bytes(), &out)
	return cmd.ProcessState.ExitCode(), out, errs.String()
}

// rows tampers with rows behind the watcher's back and keeps what an audit should name.
type tampering struct {
	*scene
	want map[string]string // to "problem"
}

func (s *tampering) key(kind, ns, name string) store.Key {
	return store.Key{Cluster: auditCluster, Kind: kind, Namespace: ns, Name: name}
}

func (s *tampering) put(problem, kind, ns, name string, data []byte) {
	s.storage.Store().Put(s.key(kind, ns, name), store.Object{Data: data, Meta: store.ParseMeta(data)}, time.Now(), func(store.Change) {})
	s.want[kind+" "+ns+"/"+name] = problem
}

func (s *tampering) edit(problem, kind, ns, name string, edit func(string) string) {
	s.t.Helper()
	rec := s.storage.Store().Get(s.key(kind, ns, name), nil)
	if rec == nil {
		s.t.Fatalf("no row %s %s/%s", kind, ns, name)
	}
	was := string(rec.Data())
	now := edit(was)
	if now == was {
		s.t.Fatalf("the edit of %s %s/%s changes nothing: %s", kind, ns, name, was)
	}
	s.put(problem, kind, ns, name, []byte(now))
}

func (s *tampering) drop(kind, ns, name string) {
	s.storage.Store().Delete(s.key(kind, ns, name), nil, "", time.Now(), func(store.Change) {})
	s.want[kind+" "+ns+"/"+name] = "missing"
}

var versionIn = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// older edits the version of a row by so much.
func older(by int) func(string) string {
	return func(row string) string {
		return versionIn.ReplaceAllStringFunc(row, func(text string) string {
			v, _ := strconv.Atoi(versionIn.FindStringSubmatch(text)[1])
			return fmt.Sprintf(`"resourceVersion":"%d"`, v+by)
		})
	}
}

func replace(old, now string) func(string) string {
	return func(row string) string { return strings.Replace(row, old, now, 1) }
}

var uidIn = regexp.MustCompile(`"uid":"[^"]*"`)

// tamper does 50 kinds of damage.
func (s *tampering) tamper() {
	const left = `{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"uid":"left-%d","resourceVersion":"1001"}}`
	for i := range 3 {
		ns := fmt.Sprint("team-", i)
		s.drop("Pod", ns, fmt.Sprint("web-", i))
		s.drop("Widget", ns, fmt.Sprint("w-", i))
		s.drop("Secret", ns, fmt.Sprint("s-", i))
		s.edit("stale", "Pod", ns, fmt.Sprint("web-", 3+i), older(-5))
		s.edit("stale", "Widget", ns, fmt.Sprint("w-", 3+i), older(-5))
		s.edit("stale", "ConfigMap", ns, fmt.Sprint("cm-", 3+i), func(row string) string { // of an object before
			return string(uidIn.ReplaceAll([]byte(older(-5)(row)), []byte(`"uid":"before"`)))
		})
		s.edit("altered", "ConfigMap", ns, fmt.Sprint("cm-", 6+i), func(row string) string { return uidIn.ReplaceAllString(row, `"uid":"other"`) })
		s.edit("altered", "Deployment", ns, "web", replace(`"replicas":1`, `"replicas":2`))
		s.edit("altered", "Pod", ns, fmt.Sprint("web-", 6+i), replace(`"Deployment"`, `"ReplicaSet"`)) // its workload
		s.edit("altered", "Secret", ns, fmt.Sprint("s-", 6+i), replace(`"metadata":`, `"data":{"password":"eA=="},"metadata":`))
		s.edit("altered", "Widget", ns, fmt.Sprint("w-", 6+i), older(1_000_000)) // as after a restored backup
		s.put("left over", "Pod", ns, fmt.Sprint("gone-", i), fmt.Appendf(nil, left, "Pod", fmt.Sprint("gone-", i), i))
		s.put("left over", "ConfigMap", "no-such-namespace", fmt.Sprint("gone-", i), fmt.Appendf(nil, left, "ConfigMap", fmt.Sprint("gone-", i), i))
		s.put("left over", "TFJob", ns, fmt.Sprint("job-", i), fmt.Appendf(nil, left, "TFJob", fmt.Sprint("job-", i), i)) // a kind that is gone
		s.put("left over", "Node", "", fmt.Sprint("gone-", i), fmt.Appendf(nil, left, "Node", fmt.Sprint("gone-", i), i))
	}
	s.drop("Node", "", "n1")
	s.edit("altered", "Node", "", "n2", replace(`"True"`, `"False"`))
	s.edit("stale", "Node", "", "n3", func(row string) string { return replace(`"True"`, `"False"`)(older(-1)(row)) })
	s.put("left over", "ConfigMap", "hidden", "cm-1", fmt.Appendf(nil, left, "ConfigMap", "cm-1", 1)) // of a namespace that is filtered
	s.put("left over", "TFJob", "", "cluster-job", fmt.Appendf(nil, left, "TFJob", "cluster-job", 9))
	s.storage.Store().Put(s.key("K8sWatchState", "", "k8s-watch"), store.Object{Data: []byte(
		`{"kind":"K8sWatchState","metadata":{"name":"k8s-watch"},"kinds":["Pod","TFJob","Theirs"],"leaving":[],"rules":""}`)}, time.Now(), func(store.Change) {})
	s.storage.Store().Put(s.key("K8sWatchState", "", "other"), store.Object{Data: []byte(
		`{"kind":"K8sWatchState","metadata":{"name":"other"},"kinds":["Theirs"],"leaving":[]}`)}, time.Now(), func(store.Change) {})
	theirs := fmt.Appendf(nil, left, "Theirs", "t", 1) // which another watcher collects
	s.storage.Store().Put(s.key("Theirs", "team-1", "t"), store.Object{Data: theirs}, time.Now(), func(store.Change) {})
}

// TestAuditNamesEachRow: each of 50 rows that somebody tampered with is named, with its
// problem, and no other, while the cluster changes.
func TestAuditNamesEachRow(t *testing.T) {
	t.Parallel()
	s := &tampering{newScene(t, `,"synchronizer":{"disabled":true}`), map[string]string{}}
	s.fill()
	s.watch()
	for beat := range 3 { // of which no Node's row tells
		for i := 3; i < 10; i++ {
			s.node(i, beat, "True")
		}
	}
	if code, out, stderr := s.audit("--wait", "3s"); code != exitOK || stderr != "" || !out.Clean || out.Objects == 0 || out.Rows != out.Objects {
		t.Fatalf("before: exit code %d, %+v\n%s", code, out, stderr)
	}
	s.tamper()
	if len(s.want) != 50 {
		t.Fatalf("%d rows are tampered with, want 50", len(s.want))
	}
	end := s.churn(20, 40)
	defer end()
	code, out, stderr := s.audit("--wait", "3s")
	got := map[string]string{}
	for _, f := range out.Findings {
		got[f.Kind+" "+f.Namespace+"/"+f.Name] = string(f.Problem)
		if f.Age < 0 || f.Detail == "" {
			t.Errorf("without age or detail: %+v", f)
		}
	}
	if out.Clean || out.Differ != len(s.want) || out.KindsRead == 0 || out.KindsNotRead != 0 {
		t.Errorf("summary: %+v", out)
	}
	if d := cmp.Diff(s.want, got); d != "" || code != exitDiffers || len(out.Findings) != len(s.want) {
		t.Errorf("exit code %d, %s\n%s%s", code, out.Verdict, d, stderr)
	}
	if !slices.ContainsFunc(out.Kinds, func(k synchronizer.KindReport) bool { return k.Kind == "Event" && k.NotCompared != "" }) {
		t.Errorf("nothing says that Events are not compared: %+v", out.Kinds)
	}
}

// churn changes, deletes and makes Pods with numbers of a range until it is ended.
func (s *scene) churn(from, to int) (end func()) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			i := from + random.IntN(to-from)
			switch n % 4 {
			case 0:
				_, _ = s.sim.Delete("pods", fmt.Sprint("team-", i%3), fmt.Sprint("web-", i))
			case 1:
				s.node(5+n%5, n, map[bool]string{true: "True", false: "False"}[n%200 < 100])
			default:
				s.pod(i, []string{"Pending", "Running"}[n%2])
			}
		}
	})
	return sync.OnceFunc(func() { close(stop); running.Wait() })
}

// TestAuditOfChurnIsClean: under churn at 200 changes a second that a k8s-watch follows, no
// run finds anything. AUDIT_RUNS=100 has it run so often.
func TestAuditOfChurnIsClean(t *testing.T) {
	t.Parallel()
	runs, _ := strconv.Atoi(os.Getenv("AUDIT_RUNS"))
	runs = max(runs, 6)
	s := newScene(t, "")
	s.fill()
	s.watch()
	defer s.churn(0, 60)()
	var g errgroup.Group
	g.SetLimit(3)
	for i := range runs {
		g.Go(func() error {
			if code, out, stderr := s.audit("--wait", "5s"); code != exitOK {
				t.Errorf("run %d: exit code %d, %s\n%+v\n%s", i, code, out.Verdict, out.Findings, stderr)
			}
			return nil
		})
	}
	_ = g.Wait()
}

// TestAuditMistakes: each is one clear line, and the right exit code.
func TestAuditMistakes(t *testing.T) {
	t.Parallel()
	s := newScene(t, "")
	s.fill()
	api, storage := s.api, "http://"+s.storage.Addrs()[0]
	nowhere := "http://" + freeAddress(t)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.CloseClientConnections)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	with := func(storage, api, more string) []string {
		s.configure(storage, api, more)
		return []string{"-f", s.cfg}
	}
	refuse := func(code int, parts ...string) func(*http.Request) int {
		return func(r *http.Request) int {
			if slices.ContainsFunc(parts, func(p string) bool { return strings.HasSuffix(r.URL.Path, p) }) {
				return code
			}
			return 0
		}
	}
	for _, tc := range []struct {
		name   string
		args   []string
		refuse func(*http.Request) int
		code   int
		want   []string // parts of the output
	}{
		{"filter of nothing", append(with(storage, api, ""), "--filterConfigPath", s.file("{}")), nil, 2, []string{"nothing is compared: the filter file lets no kind through"}},
		{"a mask that applies to nothing", append(with(storage, api, ""), "--filterConfigPath", s.file(`{"k8sResourceWhiteList":["v1"],"resourceMaskers":[{"kind":"secrets","path":["data"]}]}`)), nil, 2,
			[]string{`did you mean "Secret"?`}},
		{"API server down", with(storage, nowhere, ""), nil, 5, []string{"the apiserver at " + nowhere, "connection refused"}},
		{"storage down", with(nowhere, api, ""), nil, 5, []string{"storage (key bcs.custom-storage-endpoints) cannot be read", "connection refused"}},
		{"storage hangs", with(silent.URL, api, ""), nil, 5, []string{"storage (key bcs.custom-storage-endpoints) cannot be read", "timeout"}},
		{"storage is something else", with(api, api, ""), nil, 5, []string{"something else than bcs-storage answers there"}},
		{"storage is not trusted", with(secure.URL, api, ""), nil, 2, []string{"bcs.custom-storage-endpoints: ", "certificate"}},
		{"token wrong", with(storage, api, ""), func(*http.Request) int { return 401 }, 5, []string{"check the address and the rights", "no, by the test"}},
		{"half of the kinds forbidden", with(storage, api, ""), refuse(403, "/pods", "/secrets", "/nodes"), 5,
			[]string{"incomplete: 3 of 8 kinds could not be read whole", "not read: cluster: list v1/Pod", `"k8s-watch rbac" prints the rights`}},
		{"definitions forbidden", with(storage, api, ""), refuse(403, "/customresourcedefinitions"), 5, []string{"incomplete: 1 of", "CustomResourceDefinition", "not read"}},
		{"API server fails", with(storage, api, ""), refuse(500, "/configmaps"), 5, []string{"incomplete: 1 of", "not read: cluster: list v1/ConfigMap"}},
		{"no rows", with(storage, api, ""), nil, 3, []string{`storage holds no row at all of cluster "BCS-K8S-00001": is default.clusterID right`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if s.refuse = tc.refuse; s.refuse == nil {
				s.refuse = func(*http.Request) int { return 0 }
			}
			code, _, all := command(t, append([]string{"audit", "--qps=1000", "--wait=1s"}, tc.args...)...)
			for _, part := range tc.want {
				if !strings.Contains(all, part) {
					t.Errorf("lacks %q", part)
				}
			}
			if lines := strings.Count(all, "\n"); code != tc.code || code == exitBadInput && lines != 1 || strings.Contains(all, "goroutine ") {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if t.Failed() {
				t.Log(all[max(0, len(all)-4000):])
			}
		})
	}
}

// TestAuditMemory: an audit takes no more than 150 MiB for 100,000 Pods, whether their rows
// agree or are all missing, and no more requests than there are pages. It has 20,000, which
// may take 100 MiB, unless AUDIT_PODS says otherwise.
func TestAuditMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	pods, most := 20_000, 100<<10
	if n, err := strconv.Atoi(os.Getenv("AUDIT_PODS")); err == nil {
		pods, most = n, 150<<10
	}
	s := newScene(t, "")
	var requests atomic.Int64
	s.refuse = func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			requests.Add(1)
		}
		return 0
	}
	filler := strings.Repeat(`{"name":"VARIABLE","value":"of some length, as they are"},`, 40)
	s.apply(replicaSets, `{"metadata":{"namespace":"team-1","name":"web-rs","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d","controller":true}]}}`)
	for i := range pods {
		s.apply(apisim.Pods, `{"metadata":{"namespace":"team-1","name":"web-7d9c5b8f6d-%06d","uid":"0e6f5f3e-6f0f-4a51-8f7c-%012d","annotations":{"workload.bkbcs.tencent.com/kind":"Deployment",
"workload.bkbcs.tencent.com/name":"web"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-rs","uid":"r","controller":true}]},"spec":{"containers":[{"name":"c","env":[%s{"name":"n","value":"%d"}]}]}}`, i, i, filler, i)
	}
	for _, tc := range []struct {
		name  string
		code  int
		lists int64
	}{
		{"all are missing", exitDiffers, int64(2*pods/500 + 3)},
		{"clean", exitOK, int64(pods/500 + 2)},
	} {
		if tc.name == "clean" {
			for _, r := range []struct{ resource, kind string }{{"pods", "Pod"}, {"replicasets.apps", "ReplicaSet"}} {
				for _, o := range s.sim.Objects(r.resource) {
					s.storage.Store().Put(store.Key{Cluster: auditCluster, Kind: r.kind, Namespace: o.Namespace, Name: o.Name},
						store.Object{Data: o.JSON(), Meta: store.ParseMeta(o.JSON())}, time.Now(), func(store.Change) {})
				}
			}
		}
		requests.Store(0)
		began := time.Now()
		cmd := program(t.Context(), t, "audit", "-f", s.cfg, "--qps", "1000", "--wait", "1s")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		peak := make(chan int)
		go func() { peak <- peakMemory(cmd.Process.Pid) }()
		_ = cmd.Wait()
		used := <-peak
		t.Logf("%s: %d KiB, %d lists, %s", tc.name, used, requests.Load(), time.Since(began).Round(time.Second))
		if code := cmd.ProcessState.ExitCode(); code != tc.code || used == 0 || used > most || requests.Load() > tc.lists {
			t.Errorf("%s: exit code %d, %d KiB, %d lists of Pods", tc.name, code, used, requests.Load())
		}
	}
}

// peakMemory is the most resident memory that a process had, in KiB, once it has ended.
func peakMemory(pid int) (peak int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, after, found := strings.Cut(string(status), "VmHWM:")
		if err != nil || !found { // a zombie has none
			return peak
		}
		peak, _ = strconv.Atoi(strings.Fields(after)[0])
		time.Sleep(10 * time.Millisecond)
	}
}
