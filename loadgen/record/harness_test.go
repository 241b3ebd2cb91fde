package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"

	"github.com/watchbench/watchbench/internal/pipetest"
)

func TestMain(m *testing.M) {
	pipetest.ForBubbles()
	goleak.VerifyTestMain(clustertest.Shared(m))
}

var pods = Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}

// seen is what a test has to know of one.
type seen struct {
	Kind     string
	Metadata struct {
		Namespace, Name, UID, ResourceVersion string
		Annotations                           map[string]string
	}
}

// replayed is what a trace says: the last state of each object, and each state on the way.
type replayed struct {
	header Header
	frames int
	state  map[string]string // Kind namespace/name → uid@version
	states map[string]int    // Kind namespace/name uid@version, how often
	gone   map[string]string // Kind uid → version of the deletion
	gaps   int
	synced map[string]bool // by resource
}

// replay reads a trace and applies it. It refuses what a replay could not do: a change of an object that is not there,
// an addition of one that is.
func replay(t testing.TB, data []byte) replayed {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := replayed{header: r.Header(), state: map[string]string{}, states: map[string]int{}, gone: map[string]string{}, synced: map[string]bool{}}
	last := map[string]uint64{}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		all.frames++
		resource := r.Header().Resources[f.Resource]
		switch f.Type {
		case Gap:
			all.gaps++
			continue
		case Synced:
			all.synced[resource.Name] = true
			continue
		}
		var o seen
		if err := json.Unmarshal(f.Object, &o); err != nil || o.Kind != resource.Kind {
			t.Fatalf("%s: %v: %s", resource, err, f.Object)
		}
		if f.Type == Bookmark {
			continue
		}
		version, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatalf("%s: %s", resource, f.Object)
		}
		if f.Type != Initial && !f.Inferred {
			if version <= last[resource.Name] {
				t.Fatalf("%s: version %d after %d", resource, version, last[resource.Name])
			}
			last[resource.Name] = version
		}
		key := fmt.Sprintf("%s %s/%s", o.Kind, o.Metadata.Namespace, o.Metadata.Name)
		was, there := all.state[key]
		now := fmt.Sprintf("%s@%d", o.Metadata.UID, version)
		if there != (f.Type == Modified || f.Type == Deleted) {
			t.Fatalf("%s of %s, of which the state is %q", f.Type, key, was)
		}
		if there && !strings.HasPrefix(was, o.Metadata.UID+"@") {
			t.Fatalf("%s of %s with the uid %s, which was %s", f.Type, key, o.Metadata.UID, was)
		}
		if f.Type == Deleted {
			delete(all.state, key)
			all.gone[o.Kind+" "+o.Metadata.UID] = o.Metadata.ResourceVersion
			continue
		}
		all.state[key] = now
		all.states[key+" "+now]++
	}
	return all
}

func differ(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %s is %q, want %q", what, k, got[k], v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: %s is %q, want nothing", what, k, v)
		}
	}
}
