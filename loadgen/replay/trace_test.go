package replay

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/record"
)

// shipped is a trace of a churned cluster.
const shipped = "../record/testdata/churn.trace.zst"

// lastStates are what a trace ends in: uid and status of each object, by resource and name. It shares no code with the
// source.
func lastStates(t *testing.T, path string) (states map[string]string, length time.Duration) {
	t.Helper()
	r, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	states = map[string]string{}
	var start time.Duration
	synced := map[int]bool{}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == record.Synced && !synced[f.Resource] {
			synced[f.Resource], start = true, f.At
		}
		length = f.At - start
		res := r.Header().Resources[f.Resource]
		key := apisim.Resource{Group: res.Group, Name: res.Name}.Key() + " " + string(jsonscan.Lookup(f.Object, "metadata", "namespace")) + string(jsonscan.Lookup(f.Object, "metadata", "name"))
		switch f.Type {
		case record.Initial, record.Added, record.Modified:
			states[key] = digest(f.Object)
		case record.Deleted:
			delete(states, key)
		}
	}
	return states, length
}

// digest is an object without its version, which is the server's.
func digest(object []byte) string {
	text := string(jsonscan.Lookup(object, "metadata", "uid"))
	for _, member := range []string{"labels", "annotations", "managedFields", "ownerReferences", "creationTimestamp", "deletionTimestamp"} {
		text += "|" + string(jsonscan.Lookup(object, "metadata", member))
	}
	for _, member := range []string{"spec", "status", "data", "subsets", "involvedObject", "count"} {
		text += "|" + string(jsonscan.Lookup(object, member))
	}
	return text
}

// TestTraceEndsInTheSameState: at every speed, a recorded cluster ends as it did.
func TestTraceEndsInTheSameState(t *testing.T) {
	want, length := lastStates(t, shipped)
	if len(want) < 5 || length == 0 {
		t.Fatalf("the trace ends in %d objects after %s: nothing to compare", len(want), length)
	}
	for _, speed := range []units.Speed{1, 10, units.Unlimited} {
		synctest.Test(t, func(t *testing.T) {
			s, err := FromTrace(shipped)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			api, err := apisim.New(apisim.Config{Resources: s.Resources()})
			if err != nil {
				t.Fatal(err)
			}
			log := &records{}
			e := New(s, Settings{Server: api, Log: log, Speed: speed})
			if err := e.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			stats, err := e.Load(t.Context(), nil)
			if err != nil || stats.Errors > 0 || stats.Done == 0 {
				t.Fatalf("%v %+v", err, stats)
			}
			if took := time.Since(began); took > speed.Length(length) || took < speed.Length(length)*9/10-time.Second {
				t.Errorf("at %s it took %s of %s", speed, took, length)
			}
			got := map[string]string{}
			for _, r := range s.Resources() {
				for _, o := range api.Objects(r.Key()) {
					got[r.Key()+" "+string(jsonscan.Lookup(o.JSON(), "metadata", "namespace"))+string(jsonscan.Lookup(o.JSON(), "metadata", "name"))] = digest(o.JSON())
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("at %s (-recorded +replayed):\n%s", speed, d)
			}
			for _, r := range log.all {
				if !r.OK() || r.ResourceVersion == 0 || r.UID == "" {
					t.Fatalf("%+v", r)
				}
			}
		})
	}
}

func TestBadTraces(t *testing.T) {
	whole, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{filepath.Join(dir, "none"), write("empty", nil), write("foreign", []byte("hello, this is no trace at all"))} {
		if s, err := FromTrace(path); err == nil {
			_ = s.Close()
			t.Errorf("%s was opened", path)
		}
	}
	s, err := FromTrace(write("cut", whole[:len(whole)-20]))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	api, err := apisim.New(apisim.Config{Resources: s.Resources()})
	if err != nil {
		t.Fatal(err)
	}
	e := New(s, Settings{Server: api, Log: &records{}, Speed: units.Unlimited})
	err = e.Prepare(t.Context())
	if err == nil {
		_, err = e.Load(t.Context(), nil)
	}
	if !errors.Is(err, record.ErrTruncated) {
		t.Errorf("a trace that is cut ends with %v", err)
	}
}
