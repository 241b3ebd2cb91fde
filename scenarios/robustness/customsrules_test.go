package robustness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// apiserverAt is a client of a test's server.
func apiserverAt(t *testing.T, url string) *party.APIServer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`, url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	api, err := party.NewAPIServer(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return api
}

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
	u := &customs{api: apiserverAt(t, srv.URL)}
	u.belong("r-1", "ns")
	if err := u.removeAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"custom0s.r-1.customs.watchbench.dev": "u0"}, deleted); d != "" || selector != party.RunLabel+"=r-1" {
		t.Errorf("asked for %s, deleted\n%s", selector, d)
	}
}

// customCase is a cell with two definitions that came and went, and the ledger of it.
func customCase(t *testing.T, deeds ...history.Deed) (*matrix.Case, []ledger.Entry) {
	t.Helper()
	at := func(s float64) int64 { return int64(s * 1e9) }
	c := caseOf(&spec.Fault{Row: "F22", Title: "x", Assert: []string{"C"}}, spec.Event{What: crdAdd}, spec.Event{What: crdAdd}, spec.Event{What: crdRemove})
	c.Deeds = deeds
	entry := func(method, kind, effect string, s float64) ledger.Entry {
		return ledger.Entry{Method: method, Kind: kind, Effect: effect, Applied: at(s)}
	}
	return c, []ledger.Entry{
		entry("PUT", "Custom0", ledger.EffectRejected, 3.1), entry("PUT", "Custom0", ledger.EffectCreated, 3.5), entry("PUT", "Custom0", ledger.EffectReplaced, 5),
		entry("PUT", "Custom1", ledger.EffectCreated, 4.2), entry("PUT", "Pod", ledger.EffectCreated, 8),
		entry("DELETE", "Custom0", ledger.EffectDeleted, 6), entry("DELETE", "Custom1", ledger.EffectDeleted, 9), entry("DELETE", "Custom0", ledger.EffectDeleted, 10.5),
	}
}

func TestCustomFacts(t *testing.T) {
	const s = int64(time.Second)
	added := deedOf(t, crdAdd, 6, follow{Cached: 9, Defined: []defined{{Kind: "Custom0", Established: s, First: 3 * s}, {Kind: "Custom1", Established: 2 * s, First: 4 * s}, {Kind: "Custom2"}}})
	gone := deedOf(t, crdRemove, 6, follow{Defined: []defined{{Kind: "Custom0", Gone: 9 * s}, {Kind: "Custom1", Gone: 10 * s}}})
	facts := func(deeds ...history.Deed) map[string]result.Fact {
		c, entries := customCase(t, deeds...)
		out := map[string]result.Fact{}
		for _, f := range factsOf(t, c, (&customs{}).rules, nil, entries) {
			out[f.Name] = f
		}
		return out
	}
	got := facts(added, deedOf(t, crdSwitch, 3, follow{Seconds: 1}), deedOf(t, crdSwitch, 3, follow{Seconds: 3}), gone)
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
	const missed = "events that storage did not follow"
	if f := facts(deedOf(t, crdAdd, 0, follow{}), deedOf(t, crdRemove, 0, follow{Behind: "a is in storage"}))[missed]; f.OK || f.Value != 1 || !strings.Contains(f.Detail, "crd-remove: a is in storage") {
		t.Errorf("%+v", f)
	}
	if f := facts()[missed]; f.OK {
		t.Errorf("nothing was waited for: %+v", f)
	}
	if rules, err := (&customs{}).rules(caseOf(&spec.Fault{})); err != nil || len(rules) != 0 {
		t.Errorf("a cell without custom resources: %d rules, %v", len(rules), err)
	}
}

func TestCustomVacuous(t *testing.T) {
	for _, tc := range []struct {
		deeds []history.Deed
		want  []string
	}{
		{[]history.Deed{{What: crdAdd, Keys: 3}, {What: crdAdd, Keys: 3}, {What: crdRemove, Keys: 3}}, nil},
		{[]history.Deed{{What: crdAdd, Keys: 6}, {What: crdRemove, Keys: 2}},
			[]string{"the event crd-add happened 1 times instead of 2", "the event crd-remove concerned 2 custom objects; at least 3 are needed"}},
	} {
		c, _ := customCase(t, tc.deeds...)
		if d := cmp.Diff(tc.want, customVacuous(c)); d != "" {
			t.Error(d)
		}
	}
}
