package watches_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

type nobody struct{}

func (nobody) Enqueue(context.Context, pipeline.Event) error { return nil }

var (
	pods  = collector.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	nodes = collector.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
)

// collect runs a pipeline's collector with views.
func collect(t testing.TB, kube *rest.Config, c collector.Config) *collector.Collector {
	t.Helper()
	col, err := collector.New(c, collector.Settings{Client: kube, Sink: nobody{}, View: func(r collector.Resource) *view.View {
		if r.Kind == "Secret" {
			return nil
		}
		return view.New(view.Config{})
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- col.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return col
}

// TestReadsWhatThePipelineCollects, where that is all of a kind in its version; whatever else is followed besides.
func TestReadsWhatThePipelineCollects(t *testing.T) {
	for name, tc := range map[string]struct {
		open   watches.GVR
		config collector.Config
		from   watches.Source
	}{
		"all of it":                  {podsGVR, collector.Config{Resources: []collector.Resource{pods}}, watches.Pipeline},
		"a selector":                 {podsGVR, collector.Config{Resources: []collector.Resource{func() collector.Resource { r := pods; r.LabelSelector = "a=b"; return r }()}}, watches.Lazy},
		"one namespace":              {podsGVR, collector.Config{Resources: []collector.Resource{pods}, Namespace: "a"}, watches.Lazy},
		"one namespace, but cluster": {nodesGVR, collector.Config{Resources: []collector.Resource{nodes}, Namespace: "a"}, watches.Pipeline},
		"another version":            {podsGVR, collector.Config{Resources: []collector.Resource{func() collector.Resource { r := pods; r.Version = "v2"; return r }()}}, watches.Lazy},
		"without a view":             {secretsGVR, collector.Config{Resources: []collector.Resource{{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true}}}, watches.Lazy},
		"under another key":          {podsGVR, collector.Config{Resources: []collector.Resource{func() collector.Resource { r := pods; r.KeyKind = "Pod.other"; return r }()}}, watches.Pipeline},
	} {
		t.Run(name, func(t *testing.T) {
			api := newCluster(t)
			api.put(podsGVR, "a/p", "u1", "")
			col := collect(t, api.listen(), tc.config)
			h := run(t, api, api.listen(), func(c *watches.Config, s *watches.Settings) {
				c.Deny = nil
				s.Collected = col
			})
			<-h.Known()
			w := h.open(tc.open)
			defer w.Close()
			s, ok := h.status(tc.open)
			if !ok || s.Source != tc.from {
				t.Errorf("%+v, want from %s", s, tc.from)
			}
			h.eventually(time.Second, "Followed names what List describes", func() bool {
				var names []watches.GVR
				for _, s := range h.List() {
					names = append(names, watches.GVR{Group: s.Group, Version: s.Version, Resource: s.Resource})
				}
				return slices.Contains(names, tc.open) && slices.Equal(names, h.Followed())
			})
			if w.Kind.KeyKind != "" || w.Kind.Name != tc.open.Resource || w.Kind.Singular == "" {
				t.Errorf("%+v", w.Kind)
			}
			if health := w.Health(); health.Broken != nil || time.Since(health.Heard) > time.Minute {
				t.Errorf("%+v", health)
			}
		})
	}
}

// TestPipelineChangesItsMind: a kind that the pipeline adds, moves or removes is read where
// it then is, and readers learn that what they read has ended.
func TestPipelineChangesItsMind(t *testing.T) {
	api := newCluster(t)
	v2 := pods
	v2.Version = "v2"
	v2GVR := watches.GVR{Version: "v2", Resource: "pods"}
	api.serve(v2GVR, "Pod", true)
	api.put(podsGVR, "a/p", "u1", "")
	api.put(podsGVR, "a/q", "u2", "")
	var held atomic.Bool
	release := make(chan struct{})
	api.setFault(func(_ string, r watches.GVR, _ http.ResponseWriter, _ *http.Request) bool {
		if r == v2GVR && held.Load() {
			<-release
		}
		return false
	})
	col := collect(t, api.listen(), collector.Config{})
	h := run(t, api, api.listen(), func(_ *watches.Config, s *watches.Settings) {
		s.Collected = col
	})
	source := func(r watches.GVR, want watches.Source) {
		t.Helper()
		w := h.open(r)
		defer w.Close()
		if s, ok := h.status(r); !ok || s.Source != want {
			t.Errorf("%s: %+v, want from %s", r, s, want)
		}
		s := must(w.View.Snapshot())
		s.Ascend("", view.Name{}, func(o *object.Object) bool {
			if !strings.Contains(string(o.JSON()), `"apiVersion":"`+r.Version+`"`) {
				t.Errorf("%s has %s", r, o.JSON())
			}
			return true
		})
	}
	source(podsGVR, watches.Lazy)
	held1 := h.open(podsGVR)
	if err := col.AddResource(pods); err != nil {
		t.Fatal(err)
	}
	source(podsGVR, watches.Pipeline)
	time.Sleep(1200 * time.Millisecond) // longer than between two looks
	if held1.Health().Broken != nil {
		t.Error("a lazy watch has ended while it was held")
	}
	held1.Close()
	h.eventually(5*time.Second, "the lazy watch ends, as the pipeline has the kind", func() bool { return h.metric("k8swatch_lazy_watches", "") == 0 })

	w := h.open(podsGVR)
	s, _ := w.View.Snapshot()
	cursor := w.View.FollowAll(s)
	held.Store(true)
	if err := col.MoveResource(v2); err != nil {
		t.Fatal(err)
	}
	if _, _, err := cursor.Next(t.Context(), make([]view.Change, 0, 9)); !errors.Is(err, view.ErrEnded) {
		t.Errorf("the former version: %v", err)
	}
	if health := w.Health(); health.Broken == nil {
		t.Error("the former version is healthy")
	}
	w.Close()
	var unsynced *watches.UnsyncedError
	if _, err := h.Open(t.Context(), v2GVR, watches.Wait{For: 50 * time.Millisecond}); !errors.As(err, &unsynced) {
		t.Errorf("the new version before its list: %v", err)
	}
	api.remove(podsGVR, "a/q")
	held.Store(false)
	close(release)
	source(v2GVR, watches.Pipeline)
	source(podsGVR, watches.Lazy)
	v := h.open(v2GVR)
	defer v.Close()
	if got := names(t, v.View); !slices.Equal(got, []string{"a/p"}) {
		t.Errorf("moved: %v", got)
	}
	if st := v.View.Stats(); st.Objects != 1 || st.Bytes <= 0 {
		t.Errorf("%+v", st)
	}
	if err := col.RemoveResource("Pod"); err != nil {
		t.Fatal(err)
	}
	source(v2GVR, watches.Lazy)
}

// TestRemovedFromThePipelineWhileWaiting: who waits is served from elsewhere.
func TestRemovedFromThePipelineWhileWaiting(t *testing.T) {
	api := newCluster(t)
	api.put(podsGVR, "a/p", "u1", "")
	var streams atomic.Int32
	api.setFault(func(_ string, r watches.GVR, _ http.ResponseWriter, req *http.Request) bool {
		if r == podsGVR && streams.Add(1) == 1 { // the pipeline's
			<-req.Context().Done()
			return true
		}
		return false
	})
	col := collect(t, api.listen(), collector.Config{Resources: []collector.Resource{pods}})
	h := run(t, api, api.listen(), func(_ *watches.Config, s *watches.Settings) {
		s.Collected = col
	})
	<-h.Known()
	h.eventually(5*time.Second, "the pipeline lists", func() bool { return streams.Load() == 1 })
	opened, waits := make(chan error, 1), make(chan struct{})
	go func() {
		w, err := h.Open(t.Context(), podsGVR, watches.Wait{Begin: func() error { close(waits); return nil }})
		if err == nil {
			w.Close()
		}
		opened <- err
	}()
	<-waits
	if err := col.RemoveResource("Pod"); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestBrokenWatchReconnectsWhenOpened, and what was cached can be read meanwhile.
func TestBrokenWatchReconnectsWhenOpened(t *testing.T) {
	for _, from := range []watches.Source{watches.Pipeline, watches.Lazy} {
		t.Run(string(from), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newCluster(t)
				api.put(podsGVR, "a/p", "u1", "")
				var resources []collector.Resource
				if from == watches.Pipeline {
					resources = append(resources, pods)
				}
				col := collect(t, api.inMemory(), collector.Config{Resources: resources})
				var log bytes.Buffer
				h := run(t, api, api.inMemory(), func(_ *watches.Config, s *watches.Settings) {
					s.Collected = col
					s.Logger = slog.New(slog.NewTextHandler(&log, nil))
				})
				breaks(t, api, h)
				time.Sleep(2 * time.Second)
				h.stop()
				want := 0
				if from == watches.Lazy { // the pipeline has a reporter of its own
					want = 1
				}
				if text := log.String(); strings.Count(text, `is lost" resource=v1/pods`) != want || strings.Count(text, `goes on" resource=v1/pods`) != want {
					t.Errorf("log:\n%s", text)
				}
			})
		})
	}
}

func breaks(t *testing.T, api *cluster, h *harness) {
	w := h.open(podsGVR)
	defer w.Close()
	if health := w.Health(); health.Broken != nil || health.Heard.IsZero() {
		t.Errorf("at first: %+v", health)
	}
	var tries atomic.Int32
	api.setFault(func(_ string, r watches.GVR, w http.ResponseWriter, _ *http.Request) bool {
		if r == podsGVR {
			tries.Add(1)
			refuse(w, 500, "InternalError")
		}
		return r == podsGVR
	})
	heard := time.Now()
	api.interrupt(podsGVR)
	time.Sleep(5 * time.Minute)
	before := tries.Load()
	if before < 5 {
		t.Fatalf("%d tries", before)
	}
	// The pause is half a minute or more by now. A hundred queries within a second end one.
	api.put(podsGVR, "a/q", "u2", "")
	for range 100 {
		again := h.open(podsGVR)
		if again.Health().Broken == nil || !slices.Equal(names(t, again.View), []string{"a/p"}) {
			t.Errorf("while upstream is down: %+v, %v", again.Health(), names(t, again.View))
		}
		again.Close()
		time.Sleep(5 * time.Millisecond)
	}
	if n := tries.Load() - before; n < 1 || n > 3 { // a try is a watch, or a list in both forms
		t.Errorf("%d requests because of queries", n)
	}
	if s, _ := h.status(podsGVR); s.State != watches.Broken || s.Error == "" || s.Objects != 1 {
		t.Errorf("%+v", s)
	}
	if health := w.Health(); health.Heard.Sub(heard).Abs() > time.Minute {
		t.Errorf("heard at %s, the last sign was about %s", health.Heard, heard)
	}
	api.setFault(nil)
	time.Sleep(time.Second)
	h.open(podsGVR).Close()
	time.Sleep(100 * time.Millisecond)
	if got := names(t, w.View); w.Health().Broken != nil || len(got) != 2 {
		t.Errorf("it does not go on at once: %+v, %v", w.Health(), got)
	}
}
