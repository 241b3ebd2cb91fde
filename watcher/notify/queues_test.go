package notify_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/setting"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// pods is the Kinds of a test.
type pods struct{ view *view.View }

func (p pods) Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error) {
	return &watches.Watch{View: p.view, Close: func() {}}, nil
}

// TestSubscription: a subscription to a makeStream whose server is away for a while delivers
// every change, in order and once.
func TestSubscription(t *testing.T) {
	dir := t.TempDir()
	s := startNATS(t, dir, -1, nil)
	st := makeStream(t, s, nil)
	port := must(strconv.Atoi(s.ClientURL()[strings.LastIndex(s.ClientURL(), ":")+1:]))
	p := pods{view.New(view.Config{})}
	p.view.Replaced(nil, 1, time.Now())
	c := notify.Default()
	c.Subscriptions = []notify.Subscription{{
		Name: "s", Resource: watches.GVR{Version: "v1", Resource: "pods"}, Initial: notify.InitialList, Workers: 8,
		Retry: notify.Retry{Initial: setting.Duration(20 * time.Millisecond), Max: setting.Duration(200 * time.Millisecond)},
		Target: notify.Target{NATS: notify.NATS{
			Servers: []string{s.ClientURL()}, Allow: []string{"127.0.0.0/8"}, Stream: "K8S", Timeout: setting.Duration(time.Second),
		}},
	}}
	n := must(notify.New(c, notify.Settings{Kinds: p}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()

	const objects, versions = 20, 60
	var last [objects]*object.Object
	change := func(o int) {
		v := uint64(1)
		if last[o] != nil {
			v = last[o].ResourceVersion
		}
		v += objects
		name := fmt.Sprint("pod", o)
		now := &object.Object{Key: object.Key{Kind: "Pod", Namespace: "n", Name: name}, UID: "u" + name, ResourceVersion: v, Raw: []byte(`{"metadata":{}}`)}
		p.view.Changed(last[o], now, v, time.Now())
		last[o] = now
	}
	for o := range objects {
		change(o)
	}
	deadline := time.Now().Add(time.Minute)
	for len(messages(t, st)) < objects { // they are followed from here on
		if time.Now().After(deadline) {
			t.Fatal("the list was not delivered")
		}
		time.Sleep(10 * time.Millisecond)
	}
	for v := 1; v < versions; v++ {
		if v == versions/3 {
			s.Shutdown()
			s.WaitForShutdown()
		}
		if v == 2*versions/3 {
			startNATS(t, dir, port, nil)
		}
		for o := range objects {
			change(o)
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for { // the test's own connection comes back, too
		if _, err := st.Info(t.Context()); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	versionsOf := map[string]int{}
	for _, m := range messages(t, st) {
		name, v := m.Subject[strings.LastIndex(m.Subject, ".")+1:], strings.Split(m.Header.Get("Nats-Msg-Id"), ":")[1]
		versionsOf[name]++
		if want := strconv.Itoa(1 + objects*versionsOf[name]); v != want {
			t.Fatalf("%s: version %s, want %s", name, v, want)
		}
	}
	for name, n := range versionsOf {
		if n != versions {
			t.Errorf("%s: %d messages, want %d", name, n, versions)
		}
	}
	if len(versionsOf) != objects {
		t.Errorf("%d objects", len(versionsOf))
	}
}
