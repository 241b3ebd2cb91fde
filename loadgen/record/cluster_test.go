package record

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// save is where TestRecordsEachWrite leaves the trace: this is how testdata was made.
var save = flag.String("save", "", "keep the anonymised trace of the churned cluster in this file")

type memoryLog struct {
	mu      sync.Mutex // guards records
	records []oplog.Record
}

func (m *memoryLog) Append(r oplog.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, r)
}

// recorded are the kinds of churn, and what stands around them in a cluster.
var recorded = []string{"pods", "cm", "nodes", "leases.coordination.k8s.io", "namespaces", "secrets", "events", "deployments", "sa"}

// TestRecordsEachWrite: of a churned cluster, the trace holds exactly the states that the apiserver acknowledged,
// version by version, and each deletion. Two recorders watch the same cluster: one as it is, one that anonymises.
func TestRecordsEachWrite(t *testing.T) {
	env := clustertest.Start(t)
	cfg := plan.Default()
	cfg.Seed, cfg.RunID, cfg.Model, cfg.Threads, cfg.Operations = 1, fmt.Sprintf("r%d", time.Now().UnixNano()%1e12), plan.ModelClosed, 4, 240
	cfg.Namespaces, cfg.Nodes, cfg.Recreate, cfg.Prefill = 2, 2, 0.5, 5
	cfg.Bystander = &plan.Bystander{Kind: plan.KindConfigMap, Rate: 20}
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	log := &memoryLog{}
	engine, err := churn.New(p, churn.Settings{REST: env.Config, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()

	resources, version, err := Resolve(t.Context(), env.Config, recorded)
	if err != nil || version != env.Version {
		t.Fatalf("version %q, want %q: %v", version, env.Version, err)
	}
	plainly := start(t, Settings{REST: env.Config, Resources: resources, ClusterVersion: version})
	hidden := start(t, Settings{REST: env.Config, Resources: resources, ClusterVersion: version, Anonymise: true})
	for _, r := range []*running{plainly, hidden} {
		r.wait(t, func(p Progress) bool { return p.Version != "" })
	}
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := engine.Teardown(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What was written last of each kind has come.
	newest := map[string]uint64{}
	for _, r := range log.records {
		newest[r.Kind] = max(newest[r.Kind], r.ResourceVersion, r.DeletedVersion)
	}
	there := map[string]int64{}
	for _, r := range resources { // there are fewer objects than in a page
		p, err := list(t.Context(), plainly.rec.streams[0].client, r, false, "")
		if err != nil {
			t.Fatal(err)
		}
		there[r.Kind] = int64(len(p.items))
	}
	for _, r := range []*running{plainly, hidden} {
		r.wait(t, func(p Progress) bool {
			at, err := strconv.ParseUint(p.Version, 10, 64)
			return err == nil && at >= newest[p.Resource.Kind] && p.Live == there[p.Resource.Kind]
		})
		r.stop(t)
	}

	got := replay(t, plainly.data(t))
	for _, name := range []string{"pods", "configmaps", "nodes", "leases", "namespaces", "secrets", "events", "deployments", "serviceaccounts"} {
		if !got.synced[name] {
			t.Errorf("the list of %s is not complete", name)
		}
	}
	other := replay(t, hidden.data(t))
	if !other.header.Anonymised || len(other.states) != len(got.states) || len(other.gone) != len(got.gone) || len(other.state) != len(got.state) {
		t.Errorf("anonymised: %d states, %d deletions, %d left; as it is: %d, %d, %d", len(other.states), len(other.gone), len(other.state), len(got.states), len(got.gone), len(got.state))
	}
	if text := string(unpacked(t, hidden.data(t))); strings.Contains(text, cfg.RunID) || !strings.Contains(string(unpacked(t, plainly.data(t))), cfg.RunID) {
		t.Errorf("the run's id shows in what is anonymised, or nowhere")
	}
	compare(t, log.records, got)
	if *save != "" {
		if err := os.WriteFile(*save, hidden.data(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// compare holds the acknowledged writes against the trace.
func compare(t *testing.T, records []oplog.Record, got replayed) {
	t.Helper()
	judged, ours, written := 0, map[string]bool{}, map[string]bool{}
	for _, r := range records {
		if !r.OK() {
			continue
		}
		of := r.Kind + " " + r.UID
		ours[r.Kind+" "+r.Namespace+"/"+r.Name] = true
		if r.Type == oplog.TypeDelete {
			if r.Kind == "Namespace" { // it remains Terminating: no controller empties it
				continue
			}
			if gone, ok := got.gone[of]; !ok || r.DeletedVersion != 0 && gone != strconv.FormatUint(r.DeletedVersion, 10) {
				t.Errorf("delete %d of %s %s/%s at %d: the trace has %q", r.ID, r.Kind, r.Namespace, r.Name, r.DeletedVersion, gone)
			}
			judged++
			continue
		}
		state := fmt.Sprintf("%s %s/%s %s@%d", r.Kind, r.Namespace, r.Name, r.UID, r.ResourceVersion)
		if got.states[state] != 1 {
			t.Errorf("%s %d made %s: the trace has it %d times", r.Type, r.ID, state, got.states[state])
		}
		written[state] = true
		judged++
	}
	maps.DeleteFunc(got.states, func(state string, _ int) bool { return written[state] })
	// What else there is of pods is the step of each deletion that sets the grace period to zero, which is no write of
	// its own; of a namespace, that it is Terminating.
	more, deleted := 0, 0
	for state := range got.states {
		object := state[:strings.LastIndexByte(state, ' ')]
		switch kind, _, _ := strings.Cut(object, " "); {
		case !ours[object], kind == "Namespace":
		case kind == "Pod":
			more++
		default:
			t.Errorf("the trace has %s, which nobody wrote", state)
		}
	}
	for of := range got.gone {
		if strings.HasPrefix(of, "Pod ") {
			deleted++
		}
	}
	if judged < 250 || deleted < 20 || more != deleted {
		t.Errorf("%d writes judged; %d states of pods that nobody wrote, %d deletions", judged, more, deleted)
	}
	t.Logf("%d writes judged, %d deletions of pods, %d further states of them", judged, deleted, more)
}

// unpacked is the text of a trace.
func unpacked(t *testing.T, data []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	text, err := dec.DecodeAll(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// running is a recorder of the control plane with its file.
type running struct {
	path string
	rec  *Recorder
	w    *Writer
	stop func(*testing.T)
}

func start(t *testing.T, s Settings) *running {
	t.Helper()
	s.Progress = func(line string) { t.Log(line) }
	rec, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{path: filepath.Join(t.TempDir(), "trace.zst"), rec: rec}
	if r.w, err = Create(r.path, rec.Header()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- rec.Run(ctx, r.w) }()
	r.stop = func(t *testing.T) {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := r.w.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(cancel)
	return r
}

// wait returns when each resource has come so far.
func (r *running) wait(t *testing.T, far func(Progress) bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		there := true
		for _, p := range r.rec.Progress() {
			there = there && far(p)
		}
		if there {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("recorded only: %s", r.rec.Summary())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (r *running) data(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
