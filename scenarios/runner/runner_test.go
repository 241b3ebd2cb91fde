package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func strategies(t *testing.T, sets ...string) *spec.File {
	t.Helper()
	name, data, err := scenarios.Read("strategies")
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Parse(name, data, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOrderIsSeeded(t *testing.T) {
	cells := strategies(t).Cells()
	ids := func(seed uint64) []string {
		var out []string
		for _, j := range order(cells, 2, seed) {
			out = append(out, j.id)
		}
		return out
	}
	a, b, c := ids(1), ids(1), ids(2)
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("the same seed gives another order:\n%s", d)
	}
	if cmp.Equal(a, c) || cmp.Equal(a[:10], a[10:]) {
		t.Error("seeds or repetitions do not change the order")
	}
	seen := map[string]bool{}
	for _, id := range a {
		seen[id] = true
	}
	if len(a) != 20 || len(seen) != 20 || !seen["keyed-heavy-r2"] {
		t.Errorf("%d cells, %d different: %v", len(a), len(seen), a)
	}
}

func TestExpectations(t *testing.T) {
	for _, tc := range []struct {
		expect, verdict string
		cut             bool
		want            string
		valid           bool
	}{
		{spec.ExpectPass, result.Fail, false, result.Fail, true},
		{spec.ExpectPass, result.Pass, false, result.Pass, true},
		{spec.ExpectFailAllowed, result.Fail, false, result.Allowed, true},
		{spec.ExpectFailAllowed, result.Pass, false, result.Pass, true},
		{spec.ExpectFail, result.Fail, false, result.Allowed, true},
		{spec.ExpectFail, result.Pass, false, result.Fail, true},
		{spec.ExpectFail, result.NotJudged, false, result.NotJudged, false},
		{spec.ExpectFail, result.NotJudged, true, result.NotJudged, true},
	} {
		cell := result.Cell{Valid: true, Cut: tc.cut, Checks: map[string]result.Check{"G2": {Verdict: tc.verdict, Judged: 5}}}
		applyExpect(spec.Expect{"G2": {"default": tc.expect}}, "keyed", &cell)
		if got := cell.Checks["G2"].Verdict; got != tc.want || cell.Valid != tc.valid {
			t.Errorf("%s expected, %s found: %s, valid %v; want %s, %v", tc.expect, tc.verdict, got, cell.Valid, tc.want, tc.valid)
		}
	}
}

func TestSplitCommand(t *testing.T) {
	for in, want := range map[string][]string{
		"a -f {config}":           {"a", "-f", "{config}"},
		`  "a b"  'c "d"' e"f g"`: {"a b", `c "d"`, "ef g"},
		`a ""`:                    {"a", ""},
		"":                        nil,
	} {
		if d := cmp.Diff(want, splitCommand(in)); d != "" {
			t.Errorf("%q:\n%s", in, d)
		}
	}
}

func TestRenderedConfig(t *testing.T) {
	dir := t.TempDir()
	w := spec.Default().Watcher
	w.Strategy = "unordered"
	path, err := watcherSetup{
		cell: dir, logs: dir, kubeconfig: "/k", endpoints: []string{"http://a:1", "http://b:2"}, ignore: []string{"kube-system"},
		spec: w, kinds: []string{"Pod", "ConfigMap", "Deployment"},
	}.renderConfig(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		BCS    map[string]any `json:"bcs"`
		K8s    map[string]any `json:"k8s"`
		Filter string         `json:"filterConfigPath"`
		Port   int            `json:"port"`
	}
	read(t, path, &config)
	if config.BCS["custom-storage-endpoints"] != "http://a:1,http://b:2" || config.BCS["allowUnordered"] != true ||
		config.BCS["podQueueNum"] != 30.0 || config.K8s["kubeconfig"] != "/k" || config.Port != 1 {
		t.Errorf("%+v", config)
	}
	var filter map[string]any
	read(t, config.Filter, &filter)
	want := map[string]any{
		"k8sResourceWhiteList": []any{"v1", "apps/v1"},
		"apiResourceSpecification": []any{
			map[string]any{"groupVersion": "v1", "resourceKinds": []any{"Pod", "ConfigMap"}},
			map[string]any{"groupVersion": "apps/v1", "resourceKinds": []any{"Deployment"}},
		},
		"resourceNamespaceFilters": []any{"kube-system"},
		"isFilterManagedFields":    false,
	}
	if d := cmp.Diff(want, filter); d != "" {
		t.Error(d)
	}
	if path, err = (watcherSetup{cell: dir, spec: w, kinds: []string{"Pod"}, customs: []string{"g/v1", "g/v2"}}).renderConfig(1, 2); err != nil {
		t.Fatal(err)
	}
	var follows struct {
		Watch struct {
			NoCRDs bool `json:"disable_crd"`
		} `json:"watch_resource"`
		Filter string `json:"filterConfigPath"`
	}
	read(t, path, &follows)
	filter = nil
	read(t, follows.Filter, &filter)
	if d := cmp.Diff([]any{"g/v1", "g/v2"}, filter["crdResourceWhiteList"]); d != "" || follows.Watch.NoCRDs {
		t.Errorf("custom resources are not followed: disable_crd %v\n%s", follows.Watch.NoCRDs, d)
	}
	_, err = watcherSetup{cell: dir, spec: w, kinds: []string{"Gizmo"}}.renderConfig(1, 2)
	if err == nil || !IsInput(err) {
		t.Errorf("a kind of an unknown group: %v", err)
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

const podJSON = `{"metadata":{"name":"%s","namespace":"ns1","uid":"u-%s","resourceVersion":"%d"},"spec":{}}`

// pages is an apiserver that serves its pods two at a time.
func pages(t *testing.T) *apiserver {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/v1/namespaces/broken/pods":
			http.Error(w, `<html>no</html>`, http.StatusBadGateway)
		case r.URL.Path == "/api/v1/namespaces/html/pods":
			fmt.Fprint(w, "<html>hello</html>")
		case r.URL.Query().Get("continue") == "":
			fmt.Fprintf(w, `{"metadata":{"continue":"2"},"items":[`+podJSON+","+podJSON+`]}`, "a", "a", 1, "b", "b", 2)
		default:
			fmt.Fprintf(w, `{"items":[`+podJSON+`]}`, "c", "c", 3)
		}
	}))
	t.Cleanup(srv.Close)
	client := srv.Client()
	t.Cleanup(client.CloseIdleConnections)
	return &apiserver{base: srv.URL, http: client}
}

func TestAPIServerState(t *testing.T) {
	a := pages(t)
	rules := check.Rules{Kinds: []string{"Pod"}}
	got, err := a.state(t.Context(), []string{"Pod"}, []string{"ns1"}, rules)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, fmt.Sprint(r.Kind, " ", r.Namespace, "/", r.Name, " ", r.UID, " ", r.ResourceVersion))
	}
	if d := cmp.Diff([]string{"Pod ns1/a u-a 1", "Pod ns1/b u-b 2", "Pod ns1/c u-c 3"}, names); d != "" {
		t.Error(d)
	}
	for ns, want := range map[string]string{"broken": "the apiserver answers 502 Bad Gateway: <html>no</html>", "html": "read the answer: invalid character '<'"} {
		if _, err := a.state(t.Context(), []string{"Pod"}, []string{ns}, rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", ns, err, want)
		}
	}
}

func TestSame(t *testing.T) {
	rec := func(name, uid, digest string) history.StateRecord {
		return history.StateRecord{Kind: "Pod", Namespace: "n", Name: name, UID: uid, Digest: digest}
	}
	rules := check.Rules{Kinds: []string{"Pod"}, IgnoreNamespaces: []string{"kube-system"}}
	foreign := rec("x", "u", "d")
	foreign.Namespace = "kube-system"
	for _, tc := range []struct {
		name      string
		api, stor []history.StateRecord
		want      bool
	}{
		{"equal in any order", []history.StateRecord{rec("a", "1", "d"), rec("b", "2", "d")}, []history.StateRecord{rec("b", "2", "d"), rec("a", "1", "d")}, true},
		{"one missing", []history.StateRecord{rec("a", "1", "d")}, nil, false},
		{"one too many", nil, []history.StateRecord{rec("a", "1", "d")}, false},
		{"old content", []history.StateRecord{rec("a", "1", "d")}, []history.StateRecord{rec("a", "1", "e")}, false},
		{"old uid", []history.StateRecord{rec("a", "1", "d")}, []history.StateRecord{rec("a", "2", "d")}, false},
		{"what is ignored need not be there", []history.StateRecord{foreign}, nil, true},
	} {
		if got := same(tc.api, tc.stor, rules); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestProgressLines(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		p := NewProgress(&out, terminal)
		now := time.Unix(0, 0)
		p.now = func() time.Time { return now }
		jobs := order(strategies(t, "matrix.watcher.strategy=keyed").Cells(), 1, 1)
		p.begin(jobs)
		p.line("cluster up")
		for i := range jobs {
			p.cell(i)
			for _, phase := range []string{PhasePrepare, PhaseLoad, PhaseDrain} {
				p.phase(phase)
				now = now.Add(2 * time.Second)
				p.share(0.5)
			}
			qps := 340.0
			p.finished(result.Cell{ID: jobs[i].id, Valid: true, Load: result.Load{QPS: 800}, Storage: result.Storage{QPS: &qps},
				Checks: map[string]result.Check{"G2": {Verdict: result.Fail}}})
		}
		p.end()
		text := out.String()
		for _, want := range []string{"cluster up\n", "[1/2] " + jobs[0].id + ": load", "% of the run", "s left", "[2/2] " + jobs[1].id + ": 800 writes/s, storage 340.0/s, G2 failed\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("terminal %v: %q lacks %q", terminal, text, want)
			}
		}
		if strings.Contains(text, "\r") != terminal {
			t.Errorf("terminal %v: redrawing in %q", terminal, text)
		}
	}
	var silent *Progress
	silent.begin(nil)
	silent.phase(PhaseLoad)
	silent.share(1)
	silent.finished(result.Cell{})
	silent.end()
}

func TestEstimateLearns(t *testing.T) {
	p := NewProgress(&bytes.Buffer{}, false)
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	p.begin(order(strategies(t, "matrix.load=light", "watcher.strategy=keyed", "repeat=3").Cells(), 3, 1))
	p.cell(0)
	_, before := p.estimate()
	now = now.Add(3 * p.expected[0])
	p.finished(result.Cell{})
	if _, after := p.estimate(); after < before || (after-6*p.expected[0]).Abs() > time.Millisecond {
		t.Errorf("cells take three times what was guessed; %s left of three became %s of two, want %s", before, after, 6*p.expected[0])
	}
}

func TestMakeDir(t *testing.T) {
	out := t.TempDir()
	_, a, err := makeDir(out, "x")
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := makeDir(out, "x")
	if err != nil || a != "x" || b != "x-2" {
		t.Errorf("%s, %s: %v", a, b, err)
	}
	file := out + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := makeDir(file, "x"); err == nil || !IsInput(err) || !strings.Contains(err.Error(), "--out "+file) {
		t.Errorf("a file for a folder: %v", err)
	}
}

func TestRecheckInput(t *testing.T) {
	empty := t.TempDir()
	for dir, want := range map[string]string{
		empty + "/nowhere": "is no folder",
		empty:              "has neither results.json nor history.json",
	} {
		if _, err := Recheck(t.Context(), dir); err == nil || !IsInput(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
}
