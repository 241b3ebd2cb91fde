package record

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// apiserver answers lists and watches of replicasets in turn, as it was told.
type apiserver struct {
	mu      sync.Mutex // guards what follows
	lists   []string   // items: "name uid version", separated by commas; the collection's version comes first, with + if a page follows; "expired" is 410
	watches []string   // events: "TYPE name uid version", separated by commas
	asked   []string   // versions that were watched from
	done    func()     // called when there is no other watch
}

var tooOld = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old resource version"}

func metaOf(item string) map[string]any {
	w := strings.Fields(item)
	ns := "a"
	if before, after, ok := strings.Cut(w[0], "/"); ok {
		ns, w[0] = before, after
	}
	return map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
		"metadata": map[string]string{"name": w[0], "namespace": ns, "uid": w[1], "resourceVersion": w[2]},
	}
}

func (a *apiserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Query().Get("watch") == "" {
		version, items, _ := strings.Cut(a.lists[0], ":")
		a.lists = a.lists[1:]
		if version == "expired" {
			w.WriteHeader(http.StatusGone)
			_ = enc.Encode(tooOld)
			return
		}
		version, more := strings.CutSuffix(version, "+")
		list := map[string]string{"resourceVersion": version}
		if more {
			list["continue"] = "next"
		}
		objects := []any{}
		for item := range strings.SplitSeq(items, ",") {
			if item = strings.TrimSpace(item); item != "" {
				objects = append(objects, metaOf(item))
			}
		}
		_ = enc.Encode(map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": list, "items": objects})
		return
	}
	a.asked = append(a.asked, r.URL.Query().Get("resourceVersion"))
	if len(a.watches) == 0 {
		a.done()
		w.(http.Flusher).Flush()
		a.mu.Unlock()
		<-r.Context().Done()
		a.mu.Lock()
		return
	}
	events := a.watches[0]
	a.watches = a.watches[1:]
	for e := range strings.SplitSeq(events, ",") {
		kind, item, _ := strings.Cut(strings.TrimSpace(e), " ")
		if kind == "ERROR" {
			_ = enc.Encode(map[string]any{"type": kind, "object": tooOld})
			continue
		}
		_ = enc.Encode(map[string]any{"type": kind, "object": metaOf(item)})
	}
}

func recordOf(t *testing.T, kindName string, a *apiserver) []string {
	t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a.done = cancel
	var mu sync.Mutex
	var log []oplog.Record
	w, err := NewWitness(WitnessConfig{
		Kinds:            []Resource{{Group: "apps", Version: "v1", Name: "replicasets", Kind: kindName}},
		IgnoreNamespaces: []string{"kube-system"},
	}, &rest.Config{Host: server.URL}, func(r oplog.Record) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, r)
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ready := false
	if err := w.Run(ctx, func() { ready = true }); err != nil || !ready {
		t.Fatalf("ready %v, %v", ready, err)
	}
	var told []string
	for _, r := range log {
		if r.Phase != oplog.PhaseWitnessed || r.Kind != kindName || r.Namespace != "a" || !r.OK() || r.Started == 0 || r.Finished < r.Started || r.Intended != r.Finished {
			t.Errorf("record %+v", r)
		}
		text := fmt.Sprintf("%s %s %s %d", r.Type, r.Name, r.UID, r.ResourceVersion)
		if r.Type == oplog.TypeDelete {
			text += fmt.Sprintf(" at %d", r.DeletedVersion)
		}
		told = append(told, text)
	}
	return told
}

// Every event is recorded once; what was there before the beginning, and what is in a namespace of others, is not.
func TestWitness(t *testing.T) {
	a := &apiserver{
		lists:   []string{"10: old u0 5, kube-system/x u9 6", "40: web u2 35, old u0 5"},
		watches: []string{"ADDED web u1 11, MODIFIED web u1 12, BOOKMARK - - 20, ADDED kube-system/y u8 21, DELETED web u1 22", "ADDED web u2 30, MODIFIED web u2 35"},
	}
	got := recordOf(t, "ReplicaSet", a)
	want := []string{"create web u1 11", "patch web u1 12", "delete web u1 12 at 22", "create web u2 30", "patch web u2 35"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !slices.Equal(a.asked, []string{"10", "22", "35"}) {
		t.Errorf("watched from %q", a.asked)
	}
}

// After a 410 and at the end lists fill the gap: with what they show, and no more.
func TestWitnessFillsGaps(t *testing.T) {
	a := &apiserver{
		lists:   []string{"10: kept u0 5, gone u1 6", "50: kept u0 12, new u2 45", "60: kept u0 55"},
		watches: []string{"MODIFIED kept u0 12, ERROR - - 0"},
	}
	got := recordOf(t, "ReplicaSet", a)
	want := []string{"patch kept u0 12", "create new u2 45", "delete gone u1 6 at 0", "patch kept u0 55", "delete new u2 45 at 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A list of which a page is missing is no list to watch from.
func TestWitnessTakesWholeLists(t *testing.T) {
	a := &apiserver{
		lists:   []string{"10: kept u0 5, gone u1 6", "50+: kept u0 12", "expired", "60: kept u0 12, new u2 45", "60: kept u0 12, new u2 45", "60: kept u0 12, new u2 45"},
		watches: []string{"ERROR - - 0", "ERROR - - 0"},
	}
	got := recordOf(t, "ReplicaSet", a)
	if want := []string{"patch kept u0 12", "create new u2 45", "delete gone u1 6 at 0"}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !slices.Equal(a.asked, []string{"10", "60", "60"}) {
		t.Errorf("watched from %q", a.asked)
	}
}

// Metadata cannot tell a heartbeat from another change of a node, and it need not.
func TestWitnessTakesNodesForBeating(t *testing.T) {
	a := &apiserver{lists: []string{"10:", "20: n u1 13"}, watches: []string{"ADDED n u1 11, MODIFIED n u1 12"}}
	want := []string{"create n u1 11", "heartbeat n u1 12", "heartbeat n u1 13"}
	if got := recordOf(t, "Node", a); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWitnessMissesNothingInSilence: a kind that was never listed whole, or may not be watched, is an error.
func TestWitnessMissesNothingInSilence(t *testing.T) {
	for want, refused := range map[string]int{"list of replicasets": http.StatusServiceUnavailable, "follow replicasets": http.StatusForbidden} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if listing := !r.URL.Query().Has("watch"); listing && refused == http.StatusForbidden {
				_, _ = fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"10"},"items":[]}`)
				return
			} else if listing {
				cancel()
			}
			w.WriteHeader(refused)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, refused)
		}))
		defer server.Close()
		w, err := NewWitness(WitnessConfig{Kinds: []Resource{{Group: "apps", Version: "v1", Name: "replicasets", Kind: "ReplicaSet"}}},
			&rest.Config{Host: server.URL}, func(oplog.Record) {}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(ctx, func() {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestWitnessOfACluster: an apiserver gives the form that a witness asks for, in lists and in watches.
func TestWitnessOfACluster(t *testing.T) {
	env := clustertest.Start(t)
	client, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	name, log := fmt.Sprintf("witnessed-%d", time.Now().UnixNano()), &memoryLog{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := NewWitness(WitnessConfig{Kinds: []Resource{{Version: "v1", Name: "namespaces", Kind: "Namespace"}}}, env.Config, func(r oplog.Record) {
		log.Append(r)
		if r.Name == name && r.Type == oplog.TypeCreate {
			cancel()
		}
	}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	created := func() {
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Error(err)
			cancel()
		}
	}
	if err := w.Run(ctx, created); err != nil || len(log.records) == 0 {
		t.Errorf("%v, %d records", err, len(log.records))
	}
}
