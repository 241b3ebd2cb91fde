package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records collects what the op log gets.
type records struct {
	mu  sync.Mutex // guards all
	all []oplog.Record
}

func (r *records) Append(x oplog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
}

func config() plan.Config {
	cfg := plan.Default()
	cfg.RunID, cfg.Model, cfg.Rate, cfg.Duration = "r", plan.ModelOpen, 100, units.Duration(10*time.Second)
	cfg.Recreate, cfg.Survivors = 0.5, 0.2
	cfg.Hotkeys = &plan.Hotkeys{Objects: 3, Burst: 5, Share: 0.3}
	cfg.Bystander = &plan.Bystander{Kind: "ConfigMap", Rate: 5}
	cfg.Prefill, cfg.Warmup.Operations = 4, 20
	return cfg
}

// play plays a plan at a speed into a new server and returns what came of it.
func play(t *testing.T, cfg plan.Config, speed units.Speed) (*apisim.Server, *records, *Engine) {
	t.Helper()
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	source, err := FromPlan(p)
	if err != nil {
		t.Fatal(err)
	}
	api, err := apisim.New(apisim.Config{Resources: source.Resources(), Window: window, Seed: cfg.Seed})
	if err != nil {
		t.Fatal(err)
	}
	log := &records{}
	e := New(source, Settings{Server: api, Log: log, Speed: speed})
	for _, phase := range []func(context.Context) error{e.Prepare, e.Warmup} {
		if err := phase(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := e.Load(t.Context(), nil)
	if err != nil || stats.Errors != 0 || stats.Done != stats.Planned || stats.Done != 1000 {
		t.Fatalf("%v %+v", err, stats)
	}
	if pods := len(api.Objects("pods")); pods < 7 {
		t.Errorf("%d pods", pods)
	}
	return api, log, e
}

// TestPlanAtEverySpeed: everything happens at its time, divided by the speed.
func TestPlanAtEverySpeed(t *testing.T) {
	for _, speed := range []units.Speed{0.1, 1, 10, units.Unlimited} {
		t.Run(speed.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, log, e := play(t, config(), speed)
				want := speed.Length(10 * time.Second)
				if took := time.Since(began); took > want || took < want*95/100 {
					t.Errorf("took %s, want %s", took, want)
				}
				for _, r := range log.all {
					if !r.OK() || r.Started != r.Intended || r.Phase == oplog.PhaseLoad && r.Intended > e.Progress().Started+int64(want) {
						t.Fatalf("%+v", r)
					}
				}
			})
		})
	}
}

// TestOpLogIsWhatHappened: the versions of the op log are those of the watch, and the marks on the objects those of the
// op log.
func TestOpLogIsWhatHappened(t *testing.T) {
	_, log, _ := play(t, config(), units.Unlimited)
	versions, ids := map[uint64]bool{}, map[int64]bool{}
	last := uint64(0)
	kinds := map[string]int{}
	for _, r := range log.all {
		version := max(r.ResourceVersion, r.DeletedVersion)
		if versions[version] || ids[r.ID] || version <= last || r.UID == "" || r.Finished < r.Started {
			t.Fatalf("%+v after version %d", r, last)
		}
		versions[version], ids[r.ID], last = true, true, version
		kinds[r.Kind+" "+r.Phase+" "+r.Type]++
	}
	for _, want := range []string{"Namespace prepare create", "Node prepare create", "ConfigMap prepare create", "ConfigMap load patch", "Pod prepare create", "Pod warmup create",
		"Pod load create", "Pod load bind", "Pod load running", "Pod load ready", "Pod load patch", "Pod load terminate", "Pod load terminated", "Pod load delete"} {
		if kinds[want] == 0 {
			t.Errorf("no %s: %v", want, kinds)
		}
	}
}

var times = regexp.MustCompile(`"[0-9]{18,19}"|"[0-9-]{10}T[0-9:]{8}Z"`)

// TestSameSeedSameObjects: two plays of one plan make the same objects, apart from times; another seed makes others.
func TestSameSeedSameObjects(t *testing.T) {
	state := func(t *testing.T, cfg plan.Config, speed units.Speed) string {
		t.Helper()
		api, _, _ := play(t, cfg, speed)
		var b bytes.Buffer
		for _, r := range []string{"pods", "nodes", "namespaces", "configmaps"} {
			for _, o := range api.Objects(r) {
				fmt.Fprintf(&b, "%s\n", times.ReplaceAll(o.JSON(), []byte("T")))
			}
		}
		return b.String()
	}
	cfg := config()
	first := state(t, cfg, units.Unlimited)
	var second string
	synctest.Test(t, func(t *testing.T) { second = state(t, cfg, 10) })
	if first != second || len(first) < 10_000 {
		t.Errorf("two plays of %d and %d bytes differ", len(first), len(second))
	}
	cfg.Seed++
	if state(t, cfg, units.Unlimited) == first {
		t.Error("another seed makes the same objects")
	}
}

// TestBadEvents: what cannot happen is recorded and the play goes on; what cannot be read ends it.
func TestBadEvents(t *testing.T) {
	broken := errors.New("broken")
	load := func(e Event) Event {
		e.Resource, e.Namespace, e.Op.Phase = "pods", "a", oplog.PhaseLoad
		return e
	}
	s := list{
		{load(Event{Type: Added, Name: "p", Object: []byte(`{"metadata":{"namespace":"a","name":"p"}}`)}), nil},
		{load(Event{Type: Deleted, Name: "q"}), nil},
		{load(Event{Type: Modified, Name: "p", Object: []byte(`{`)}), nil},
		{load(Event{Type: Deleted, Name: "p"}), nil},
		{Event{}, broken},
	}
	api, err := apisim.New(apisim.Config{Resources: s.Resources()})
	if err != nil {
		t.Fatal(err)
	}
	log := &records{}
	stats, err := New(s, Settings{Server: api, Log: log}).Load(t.Context(), nil)
	if !errors.Is(err, broken) || stats.Done != 2 || stats.Errors != 2 || !strings.Contains(stats.FirstError, "no such object") {
		t.Errorf("%v %+v", err, stats)
	}
	if got := []int{log.all[1].Status, log.all[2].Status}; got[0] != http.StatusNotFound || got[1] != http.StatusUnprocessableEntity {
		t.Errorf("%+v", log.all)
	}
}

type list []struct {
	e   Event
	err error
}

func (list) Resources() []apisim.Resource     { return []apisim.Resource{apisim.Pods} }
func (list) Initial() iter.Seq2[Event, error] { return func(func(Event, error) bool) {} }
func (l list) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, x := range l {
			if !yield(x.e, x.err) {
				return
			}
		}
	}
}

func TestClosedLoopIsRefused(t *testing.T) {
	cfg := config()
	cfg.Model, cfg.Threads, cfg.Rate, cfg.Arrival = plan.ModelClosed, 2, 0, ""
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromPlan(p); !errors.Is(err, ErrClosedLoop) {
		t.Error(err)
	}
}

// TestServe: a client finds the server by its kubeconfig.
func TestServe(t *testing.T) {
	s, err := Listen("127.0.0.1:0", apisim.Config{Resources: apisim.BuiltIn(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := s.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	cfg, err := kubeapi.ReadConfig(path, "")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := client.BatchV1().CronJobs("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := Listen(strings.TrimPrefix(s.URL(), "http://")+"0", apisim.Config{}); err == nil {
		t.Error("a port that cannot be was listened on")
	}
}
