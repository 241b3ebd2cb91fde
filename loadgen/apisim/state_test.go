package apisim_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

func TestApplyFillsWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{Seed: 7})
		raw := `{"apiVersion":"v9","kind":"Wrong","metadata":{"name":"p","namespace":"a","resourceVersion":"77","annotations":{"k":"a\nb <c>"}},"spec":{"z":1,
			"a":[1, 2]},"status":{}}`
		first, err := s.Apply("pods", []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"a","uid":"` + apisim.UID(7, 1) + `","resourceVersion":"1001",` +
			`"creationTimestamp":"2000-01-01T00:00:00Z","annotations":{"k":"a\nb <c>"}},"spec":{"z":1,"a":[1,2]},"status":{}}`
		if string(first.JSON()) != want {
			t.Errorf("stored: %s\nwant:   %s", first.JSON(), want)
		}
		time.Sleep(time.Hour)
		second := put(t, s, "a/p", "")
		if second.UID != first.UID || !strings.Contains(string(second.JSON()), `"creationTimestamp":"2000-01-01T00:00:00Z"`) || second.ResourceVersion != 1002 {
			t.Errorf("update: %s", second.JSON())
		}
		gone := remove(t, s, "a/p")
		if gone.UID != first.UID || gone.ResourceVersion != 1003 {
			t.Errorf("delete: %+v", gone)
		}
		third := put(t, s, "a/p", "")
		if third.UID == first.UID || !strings.Contains(string(third.JSON()), "2000-01-01T01:00:00Z") {
			t.Errorf("made again: %s", third.JSON())
		}
		again, err := s.Apply("pods", third.JSON())
		if err != nil || again.UID != third.UID {
			t.Errorf("applied as it was given out: %v %+v", err, again)
		}
		if all := s.Objects("pods"); len(all) != 1 || string(all[0].JSON()) != string(again.JSON()) {
			t.Errorf("there are %+v", all)
		}
	})
}

// TestAnotherUIDIsAnotherObject: applying over another uid deletes first.
func TestAnotherUIDIsAnotherObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apisim.Config{})
		put(t, s, "a/p", `"uid":"u1"`)
		w := watch(t, s, pods+"?watch=1&resourceVersion=1001")
		put(t, s, "a/p", `"uid":"u1"`)
		put(t, s, "a/p", `"uid":"u2"`)
		w.expect("MODIFIED p@1002", "DELETED p@1003", "ADDED p@1004")
	})
}

func TestBadCalls(t *testing.T) {
	s := newServer(t, apisim.Config{})
	for raw, want := range map[string]string{
		`{`:                         "want JSON",
		`{}`:                        "metadata",
		`[]`:                        "want JSON",
		`{"metadata":{}}`:           "metadata.name is missing",
		`{"metadata":7}`:            "metadata",
		`{"metadata":{"name":7}}`:   "metadata.name",
		`{"metadata":{"name":"x"}}`: "namespaced: true",
		`{"metadata":{"name":"x","labels":7,"namespace":"a"}}`:       "metadata.labels",
		`{"metadata":{"name":"` + strings.Repeat("x", 4<<20) + `"}}`: "at most",
	} {
		if _, err := s.Apply("pods", []byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", raw, err, want)
		}
	}
	if _, err := s.Apply("nodes", []byte(`{"metadata":{"name":"x","namespace":"a"}}`)); err == nil || !strings.Contains(err.Error(), "namespaced: false") {
		t.Errorf("namespace on a cluster-scoped kind: %v", err)
	}
	if _, err := s.Apply("Pod", nil); err == nil {
		t.Error("an object that is nothing was applied")
	}
	for name, err := range map[string]error{
		"apply":  second(s.Apply("deployments", []byte(`{"metadata":{"name":"x","namespace":"a"}}`))),
		"delete": second(s.Delete("nothing", "", "x")),
		"remove": s.RemoveResource("nothing"),
		"close":  s.CloseWatches("nothing"),
	} {
		if !errors.Is(err, apisim.ErrUnknownResource) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Delete("pods", "a", "x"); !errors.Is(err, apisim.ErrNotFound) {
		t.Errorf("delete of nothing: %v", err)
	}
	if s.Objects("nothing") != nil || s.Version() != 1000 {
		t.Errorf("a mistake changed something: version %d", s.Version())
	}
	for name, c := range map[string]apisim.Config{
		"window":   {Window: -1},
		"twice":    {Resources: []apisim.Resource{apisim.Pods, apisim.Pods}},
		"plural":   {Resources: []apisim.Resource{{Name: "a/b", Kind: "X", Versions: []string{"v1"}}}},
		"kind":     {Resources: []apisim.Resource{{Name: "xs", Versions: []string{"v1"}}}},
		"version":  {Resources: []apisim.Resource{{Name: "xs", Kind: "X"}}},
		"versions": {Resources: []apisim.Resource{{Name: "xs", Kind: "X", Versions: []string{""}}}},
	} {
		if _, err := apisim.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	scope := apisim.Pods
	scope.Namespaced = false
	if err := s.SetResource(scope); err == nil {
		t.Error("a kind changed its scope")
	}
}

func second[T any](_ T, err error) error { return err }

func TestLargeObject(t *testing.T) {
	s := newServer(t, apisim.Config{})
	text, err := json.Marshal(strings.Repeat("x", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "a/big", `"annotations":{"data":`+string(text)+`}`)
	if l := getList(t, s, pods); l.names() != "big" || len(l.Items[0].Metadata.Annotations["data"]) != 1<<20 {
		t.Error("a large object does not come back whole")
	}
	w := watch(t, s, pods+"?watch=1")
	w.expect("ADDED big@1001")
}
