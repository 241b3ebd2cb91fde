package churn

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// anyAPI keeps the metadata of objects of every kind, by their paths.
type anyAPI struct {
	t       *testing.T
	latency time.Duration
	// refuse, if not nil, refuses a creation; lose has its answer lost after it took effect.
	refuse, lose func(path string, m metav1.ObjectMeta) bool

	mu      sync.Mutex // guards what follows
	objects map[string]metav1.ObjectMeta
	uids    map[types.UID]bool // that were ever given
	version int
}

func (f *anyAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(f.latency)
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimSuffix(r.URL.Path, "/status")
	binding := strings.HasSuffix(path, "/binding")
	path = strings.TrimSuffix(path, "/binding")
	if r.Method == http.MethodPost && !binding {
		m, _, err := readMetadata(body)
		if err != nil {
			return status(http.StatusBadRequest, metav1.StatusReasonBadRequest), nil
		}
		if f.refuse != nil && f.refuse(path, m) {
			return status(http.StatusForbidden, metav1.StatusReasonForbidden), nil
		}
		return f.create(path+"/"+m.Name, m)
	}
	m, ok := f.objects[path]
	switch {
	case !ok && r.Method == http.MethodGet && strings.HasSuffix(path, "/widgets"):
		return answerJSON(http.StatusOK, map[string]any{}), nil
	case !ok:
		return status(http.StatusNotFound, metav1.StatusReasonNotFound), nil
	case r.Method == http.MethodGet:
		return f.answer(m), nil
	case r.Method == http.MethodDelete && graceOf(body) == 0:
		delete(f.objects, path)
		return status(http.StatusOK, ""), nil
	}
	f.version++
	m.ResourceVersion = strconv.Itoa(f.version)
	f.objects[path] = m
	if binding {
		return status(http.StatusCreated, ""), nil
	}
	return f.answer(m), nil
}

func (f *anyAPI) create(path string, m metav1.ObjectMeta) (*http.Response, error) {
	if _, ok := f.objects[path]; ok {
		return status(http.StatusConflict, metav1.StatusReasonAlreadyExists), nil
	}
	for _, o := range m.OwnerReferences {
		if !f.uids[o.UID] {
			f.t.Errorf("%s is created before its owner, %s %s of uid %q", path, o.Kind, o.Name, o.UID)
		}
	}
	f.version++
	m.UID, m.ResourceVersion = types.UID("uid-"+strconv.Itoa(f.version)), strconv.Itoa(f.version)
	f.objects[path], f.uids[m.UID] = m, true
	if f.lose != nil && f.lose(path, m) {
		return nil, errLost
	}
	return f.answer(m), nil
}

func (f *anyAPI) answer(m metav1.ObjectMeta) *http.Response {
	return answerJSON(http.StatusOK, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata"}, ObjectMeta: m})
}

// profileEngine is an engine of a short profile on a fake apiserver.
func profileEngine(t *testing.T, api *anyAPI) (*Engine, *recorder) {
	t.Helper()
	api.t, api.objects, api.uids = t, map[string]metav1.ObjectMeta{}, map[types.UID]bool{}
	cfg := plan.Default()
	cfg.Seed, cfg.Model, cfg.Profile = 1, plan.ModelOpen, plan.ProfileServiceChurn
	cfg.Rate, cfg.Duration, cfg.Nodes, cfg.Prefill = 5, units.Duration(10*time.Second), 2, 4
	cfg.Tuning = &plan.Tuning{TimeScale: 1000, Services: plan.ServiceTuning{Deployments: 2, Step: dist.Must[dist.Number]("2")}}
	return engineOn(t, cfg, api)
}

// TestProfileOrder: however slow the answers are, no object is created before its owner,
// and no operation on an object is sent before the former one was answered.
func TestProfileOrder(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		lost := 0
		api := &anyAPI{latency: 700 * time.Millisecond, lose: func(path string, m metav1.ObjectMeta) bool {
			lost++
			return lost%10 == 0 // creations that are taken up again
		}}
		e, log := profileEngine(t, api)
		if err := e.setUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		stats, err := e.Load(t.Context(), nil)
		if err != nil || stats.Done != stats.Planned || stats.Done < 100 || stats.Skipped+stats.Abandoned != 0 {
			t.Errorf("planned %d, done %d, skipped %d, given up %d: %v (%s)", stats.Planned, stats.Done, stats.Skipped, stats.Abandoned, err, stats.FirstError)
		}
		answered, kinds := map[string]int64{}, map[string]bool{}
		for _, r := range log.records {
			key := r.Kind + "/" + r.Namespace + "/" + r.Name
			if r.OK() && r.Started < answered[key] && r.Attempt == 0 {
				t.Errorf("operation %d, %s of %s, began before the former was answered", r.ID, r.Type, key)
			}
			answered[key], kinds[r.Kind] = r.Finished, true
			if r.OK() && (r.UID == "" || r.ResourceVersion == 0) && r.Type != oplog.TypeDelete {
				t.Errorf("operation %d, %s of %s, has uid %q and version %d", r.ID, r.Type, key, r.UID, r.ResourceVersion)
			}
		}
		for _, kind := range []string{"Pod", "ReplicaSet", "Deployment", "EndpointSlice", "Event", "Node", "Lease"} {
			if !kinds[kind] {
				t.Errorf("no %s was written", kind)
			}
		}
		if lost < 20 {
			t.Errorf("only %d creations: nothing was lost", lost)
		}
	})
}

// TestProfileWithoutOwner: what depends on a creation that was given up is skipped and counted, and the rest goes on.
func TestProfileWithoutOwner(t *testing.T) {
	virtual(t, "", func(t *testing.T) {
		api := &anyAPI{latency: time.Millisecond}
		e, log := profileEngine(t, api)
		if err := e.setUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		var refused []string
		api.refuse = func(path string, m metav1.ObjectMeta) bool {
			if strings.HasSuffix(path, "/pods") && (len(refused) == 0 || refused[0] == m.Name) {
				refused = append(refused, m.Name)
				return true
			}
			return false
		}
		stats, err := e.Load(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(refused) == 0 {
			t.Fatal("no pod was created")
		}
		if stats.Abandoned != 1 || stats.Skipped < 2 || stats.Done+stats.Skipped+stats.Abandoned != stats.Planned {
			t.Errorf("planned %d, done %d, skipped %d, given up %d", stats.Planned, stats.Done, stats.Skipped, stats.Abandoned)
		}
		sent := 0
		for _, r := range log.records {
			if r.Kind == "Pod" && r.Name == refused[0] {
				sent++
			}
		}
		if sent != 1 {
			t.Errorf("%d operations on the pod that was refused, want 1", sent)
		}
	})
}
