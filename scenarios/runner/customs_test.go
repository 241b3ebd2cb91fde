package runner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// TestVersions: one version is always the stored one, as an apiserver demands.
func TestVersions(t *testing.T) {
	d := newDefinition(3)
	text := func() string {
		var words []string
		for _, v := range d.versions() {
			m := v.(map[string]any)
			words = append(words, fmt.Sprintf("%s served %v stored %v", m["name"], m["served"], m["storage"]))
		}
		return strings.Join(words, ", ")
	}
	for _, step := range []struct {
		edit func()
		want string
	}{
		{func() {}, "v1 served true stored true, v2 served true stored false"},
		{func() { d.served = false }, "v1 served false stored true, v2 served false stored false"},
		{func() { d.served, d.version = true, "v2" }, "v1 served false stored false, v2 served true stored true"},
		{func() { d.served = false }, "v1 served false stored false, v2 served false stored true"},
	} {
		step.edit()
		if got := text(); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	if d.kind != "Custom3" || d.plural != "custom3s" || !slices.Equal(customKinds(2), []string{"Custom0", "Custom1"}) {
		t.Errorf("%+v, %v", d, customKinds(2))
	}
}

// TestRemoveSparesOthers: only definitions of the run's group that carry its label go,
// and only while they are the ones that were looked at.
func TestRemoveSparesOthers(t *testing.T) {
	var mu sync.Mutex
	var selector string
	deleted := map[string]string{} // name to the uid it was deleted with
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := strings.TrimPrefix(r.URL.Path, definitionsPath+"/")
		switch {
		case r.URL.Path == definitionsPath:
			selector = r.URL.Query().Get("labelSelector")
			fmt.Fprint(w, `{"items":[{"metadata":{"name":"custom0s.r-1.customs.watchbench.dev","uid":"u0"}},`+
				`{"metadata":{"name":"widgets.example.com","uid":"u1"}},{"metadata":{"name":"custom1s.other-r-1.customs.watchbench.dev","uid":"u2"}}]}`)
		case r.Method == http.MethodDelete:
			var o struct{ Preconditions struct{ UID string } }
			if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
				t.Error(err)
			}
			deleted[name] = o.Preconditions.UID
			fmt.Fprint(w, `{}`)
		default: // it is gone
			http.Error(w, `{}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(srv.Close)
	client := srv.Client()
	t.Cleanup(client.CloseIdleConnections)
	u := newCustoms(&apiserver{base: srv.URL, http: client}, "r-1", "ns")
	if err := u.remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"custom0s.r-1.customs.watchbench.dev": "u0"}, deleted); d != "" || selector != runLabel+"=r-1" {
		t.Errorf("asked for %s, deleted\n%s", selector, d)
	}
}

func TestDifference(t *testing.T) {
	rec := func(name, uid, digest string) history.StateRecord {
		return history.StateRecord{Kind: "Custom0", Namespace: "n", Name: name, UID: uid, Digest: digest}
	}
	all := func(r ...history.StateRecord) []history.StateRecord { return r }
	for _, tc := range []struct {
		name      string
		api, have []history.StateRecord
		want      string
	}{
		{"equal in any order", all(rec("a", "1", "d"), rec("b", "2", "d")), all(rec("b", "2", "d"), rec("a", "1", "d")), ""},
		{"nothing", nil, nil, ""},
		{"missing", all(rec("a", "1", "d")), nil, "Custom0/n/a is not in storage"},
		{"other content of one version, as after a switch", all(rec("a", "1", "d")), all(rec("a", "1", "e")), "or another content"},
		{"an older object", all(rec("a", "2", "d")), all(rec("a", "1", "d")), "storage holds uid 1"},
		{"left behind", nil, all(rec("b", "1", "d"), rec("a", "1", "d")), "Custom0/n/a is in storage, the apiserver serves no such object"},
	} {
		if got := difference(tc.api, tc.have); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// customsOf is a cell with two definitions that came and went, and the ledger of it.
func customsOf(follows ...follow) *cellRun {
	at := func(s float64) int64 { return int64(s * 1e9) }
	u := newCustoms(nil, "r", "ns")
	u.all = []*definition{
		{kind: "Custom0", established: at(1), first: at(3), gone: at(9)},
		{kind: "Custom1", established: at(2), first: at(4), gone: at(10)},
		{kind: "Custom2"},
	}
	u.follows = follows
	entry := func(method, kind, effect string, s float64) ledger.Entry {
		return ledger.Entry{Method: method, Kind: kind, Effect: effect, Applied: at(s)}
	}
	return &cellRun{customs: u, evidence: evidence{entries: []ledger.Entry{
		entry("PUT", "Custom0", ledger.EffectRejected, 3.1), entry("PUT", "Custom0", ledger.EffectCreated, 3.5), entry("PUT", "Custom0", ledger.EffectReplaced, 5),
		entry("PUT", "Custom1", ledger.EffectCreated, 4.2), entry("PUT", "Pod", ledger.EffectCreated, 8),
		entry("DELETE", "Custom0", ledger.EffectDeleted, 6), entry("DELETE", "Custom1", ledger.EffectDeleted, 9), entry("DELETE", "Custom0", ledger.EffectDeleted, 10.5),
	}}}
}

func TestCustomFacts(t *testing.T) {
	facts := func(c *cellRun) map[string]result.Fact {
		out := map[string]result.Fact{}
		within := func(col, name, unit string, v, _ float64) result.Fact {
			return result.Fact{Column: col, Name: name, Value: round3(v), OK: true}
		}
		c.customFacts(within, func(f result.Fact) { out[f.Name] = f }, 0)
		return out
	}
	got := facts(customsOf(follow{what: spec.EventCRDSwitch, took: time.Second}, follow{what: spec.EventCRDSwitch, took: 3 * time.Second}))
	for name, want := range map[string]float64{
		"definition established until its first object is in storage": 2.5,
		"first object of a definition made until it is in storage":    0.5,
		"definition removed until its last row is gone":               1.5,
		"until storage followed crd-switch":                           3,
		"events that storage did not follow":                          0,
	} {
		if f, ok := got[name]; !ok || f.Value != want || !f.OK {
			t.Errorf("%s: %+v, want %v", name, f, want)
		}
	}
	if f := facts(customsOf(follow{what: spec.EventCRDAdd}, follow{what: spec.EventCRDRemove, behind: "a is in storage"}))["events that storage did not follow"]; f.OK || f.Value != 1 || f.Detail != "crd-remove: a is in storage; 2 waited for" {
		t.Errorf("%+v", f)
	}
	if f := facts(customsOf())["events that storage did not follow"]; f.OK {
		t.Errorf("nothing was waited for: %+v", f)
	}
	if got := facts(&cellRun{}); len(got) != 0 {
		t.Errorf("a cell without custom resources: %v", got)
	}
}

func TestCustomVacuous(t *testing.T) {
	events := []spec.Event{{What: spec.EventCRDAdd}, {What: spec.EventCRDAdd}, {What: spec.EventCRDRemove}, {What: spec.EventKill}}
	for _, tc := range []struct {
		fired, keys map[string]int64
		want        []string
	}{
		{map[string]int64{"crd-add": 2, "crd-remove": 1}, map[string]int64{"crd-add": 6, "crd-remove": 3}, nil},
		{map[string]int64{"crd-add": 1, "crd-remove": 1}, map[string]int64{"crd-add": 6, "crd-remove": 2},
			[]string{"the event crd-add happened 1 times instead of 2", "the event crd-remove concerned 2 custom objects; at least 3 are needed"}},
	} {
		got := (&timeline{fired: tc.fired, keys: tc.keys}).customVacuous(events)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Error(d)
		}
	}
}
