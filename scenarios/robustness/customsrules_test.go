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

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
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

// TestCustomFacts: the longest time of each event counts, and one that storage did not follow fails C.
func TestCustomFacts(t *testing.T) {
	facts := func(deeds ...history.Deed) (missed result.Fact, times map[string]float64) {
		c := caseOf(&spec.Fault{}, spec.Event{What: crdAdd})
		c.Deeds = deeds
		all, times := factsOf(t, c, (&customs{}).rules, nil, nil), map[string]float64{}
		for _, f := range all[1:] {
			times[f.Name] = f.Value
		}
		return all[0], times
	}
	missed, times := facts(deedOf(t, crdSwitch, 3, follow{Seconds: 1}), deedOf(t, crdSwitch, 3, follow{Seconds: 3}), deedOf(t, crdAdd, 6, follow{Seconds: 2}))
	if want := map[string]float64{"until storage followed crd-switch": 3, "until storage followed crd-add": 2}; !missed.OK || !cmp.Equal(times, want) {
		t.Errorf("%+v, %v", missed, times)
	}
	missed, _ = facts(deedOf(t, crdAdd, 0, follow{}), deedOf(t, crdRemove, 0, follow{Behind: "a is in storage"}))
	if missed.OK || missed.Value != 1 || !strings.Contains(missed.Detail, "crd-remove: a is in storage") {
		t.Errorf("%+v", missed)
	}
	if missed, _ = facts(); missed.OK {
		t.Errorf("nothing was waited for: %+v", missed)
	}
	if rules, err := (&customs{}).rules(caseOf(&spec.Fault{})); err != nil || len(rules) != 0 {
		t.Errorf("a cell without custom resources: %d rules, %v", len(rules), err)
	}
}
