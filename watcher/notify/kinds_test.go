package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kind is the Kinds of a test: Pods, told to a view as a collector would.
type kind struct {
	t       testing.TB
	mu      sync.Mutex
	config  view.Config
	view    *view.View
	objects map[string]*object.Object // by namespace/name
	version uint64
	opened  int
	refuse  error // what Open returns, if set
}

func newKind(t testing.TB, c view.Config) *kind {
	k := &kind{t: t, config: c, view: view.New(c), objects: map[string]*object.Object{}, version: 100}
	k.view.Replaced(nil, k.version, time.Now())
	return k
}

func (k *kind) Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuse != nil {
		return nil, k.refuse
	}
	k.opened++
	return &watches.Watch{View: k.view, Close: func() {}}, nil
}

// put writes an object; labels and rest are members, such as `"app":"a"` and `"status":{"phase":"Running"}`.
func (k *kind) put(key, uid, labels, rest string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version++
	ns, name, _ := strings.Cut(key, "/")
	if rest != "" {
		rest = "," + rest
	}
	raw := fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":"%d","labels":{%s}}%s}`, name, ns, uid, k.version, labels, rest)
	o := &object.Object{Key: object.Key{Kind: "Pod", Namespace: ns, Name: name}, UID: uid, ResourceVersion: k.version, Raw: []byte(raw)}
	k.view.Changed(k.objects[key], o, k.version, time.Now())
	k.objects[key] = o
}

func (k *kind) delete(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.version++
	k.view.Changed(k.objects[key], nil, k.version, time.Now())
	delete(k.objects, key)
}

// restart ends the view, makes changes that no view sees, and begins another one by a list.
func (k *kind) restart(unseen func()) {
	k.mu.Lock()
	old := k.view
	k.view = view.New(k.config)
	k.mu.Unlock()
	old.End()
	unseen() // of the new view, which is not synced
	k.mu.Lock()
	defer k.mu.Unlock()
	v := view.New(k.config)
	var all []view.Difference
	for _, o := range k.objects {
		all = append(all, view.Difference{Now: o})
	}
	v.Replaced(all, k.version, time.Now())
	k.view.End()
	k.view = v
}

// run runs a notifier until the end of the test or the returned stop. Without more it
// returns once all subscriptions follow changes.
func run(t testing.TB, k notify.Kinds, c notify.Config, more func(*notify.Settings)) (reg *prometheus.Registry, stop func()) {
	t.Helper()
	reg = prometheus.NewPedanticRegistry()
	s := notify.Settings{Kinds: k, Registry: reg, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if more != nil {
		more(&s)
	}
	n := must(notify.New(c, s))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("Run did not return")
		}
	})
	t.Cleanup(stop)
	if more == nil {
		eventually(t, "all follow", n.Following)
	}
	return reg, stop
}

// decode reads a configuration as strictly as the file is read.
func decode(t testing.TB, text string) notify.Config {
	t.Helper()
	c := notify.Default()
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// one is a configuration with one subscription to a webhook; rest are more of its keys.
func one(t testing.TB, url, rest string) notify.Config {
	t.Helper()
	if rest != "" {
		rest = "," + rest
	}
	return decode(t, fmt.Sprintf(`{"subscriptions":[{"name":"s","resource":"v1/pods","target":{"webhook":{"url":%q,"allow":["127.0.0.0/8"]}}%s}]}`, url, rest))
}

// value is that of a series, summed over the labels that are not named.
func value(t testing.TB, reg *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	families := must(reg.Gather())
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			match := 0
			for _, l := range m.GetLabel() {
				if slices.Contains(labels, l.GetName()+"="+l.GetValue()) {
					match++
				}
			}
			if match == len(labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// eventually waits for a state that nothing announces.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// noWait has run not wait.
func noWait(*notify.Settings) {}

// must is the value of a call that does not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
