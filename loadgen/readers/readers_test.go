package readers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/readlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records is a Log in memory.
type records struct {
	mu  sync.Mutex
	all []readlog.Record
}

func (r *records) Append(x readlog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, x)
}

// of are the records of one reader, -1 for all.
func (r *records) of(what string, reader int) (some []readlog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		if x.What == what && (reader < 0 || x.Reader == reader) {
			some = append(some, x)
		}
	}
	return some
}

// play is a Conductor that does something in each phase that is asked for.
type play struct {
	target, control string
	before          map[string]func([]string)
	listen          []string
}

func (p *play) Say(_ string, listen []string) {
	if listen != nil {
		p.listen = listen
	}
}

func (p *play) Await(ctx context.Context, phase string) error {
	if do := p.before[phase]; do != nil {
		do(p.listen)
	}
	return context.Cause(ctx)
}

func (p *play) Access() (Access, error) {
	return Access{Target: &rest.Config{Host: p.target}, Control: &rest.Config{Host: p.control}}, nil
}

func pods(t *testing.T, c apisim.Config) (*apisim.Server, string) {
	t.Helper()
	c.Resources = []apisim.Resource{apisim.Pods}
	s, err := apisim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

func put(t *testing.T, s *apisim.Server, name, phase string) {
	t.Helper()
	pod := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a","name":%q},"spec":{"nodeName":"n1"},"status":{"phase":%q}}`, name, phase)
	if _, err := s.Put("pods", []byte(pod)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, cfg Config, p *play) *records {
	t.Helper()
	cfg.Collection = "/api/v1/pods"
	cfg.Connections = max(cfg.Connections, 4)
	var log records
	r, err := New(cfg, &log)
	if err != nil {
		t.Fatal(err)
	}
	r.settleLimit, r.quiet = 3*time.Second, 50*time.Millisecond
	if err := r.Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return &log
}

// seen are the events of a watch in a few words.
func seen(log *records, reader int) (all []string) {
	for _, e := range log.of(readlog.Event, reader) {
		if e.Type != "BOOKMARK" {
			all = append(all, fmt.Sprintf("%s %s %d", e.Type, e.UID, e.Version))
		}
	}
	return all
}

func TestReads(t *testing.T) {
	s, url := pods(t, apisim.Config{})
	for i := range 40 {
		put(t, s, fmt.Sprint("old-", i), "Running")
	}
	const rate, length = 200, time.Second
	log := read(t, Config{Seed: 3, Get: rate, List: 20, Watches: 5, FieldSelector: "spec.nodeName=n1"}, &play{
		target: url, control: url, before: map[string]func([]string){Stop: func([]string) {
			for i := range 50 {
				put(t, s, fmt.Sprint("new-", i), "Pending")
				put(t, s, fmt.Sprint("new-", i), "Running")
				if i%2 == 0 {
					if _, err := s.Delete("pods", "a", fmt.Sprint("new-", i)); err != nil {
						t.Error(err)
					}
				}
			}
			_ = lifecycle.Pause(t.Context(), length)
		}},
	})
	started, stopped := log.of(readlog.Started, -1), log.of(readlog.Stopped, -1)
	if len(started) != 1 || len(stopped) != 1 || stopped[0].Ended-started[0].Ended < int64(length) {
		t.Fatalf("%v to %v", started, stopped)
	}
	gets := log.of(readlog.Get, -1)
	if n := len(gets); n < rate*7/10 || n > rate*13/10*2 {
		t.Errorf("%d GETs in a second at %d/s", n, rate)
	}
	for _, r := range slices.Concat(gets, log.of(readlog.List, -1)) {
		least := int64(1)
		if r.What == readlog.List {
			least = 40
		}
		if r.Code != 200 || r.Items < least || r.Error != "" || r.Intended < started[0].Ended || r.Started < r.Intended || r.Ended < r.Started || r.Bytes < 100 {
			t.Fatalf("%+v", r)
		}
	}
	want := seen(log, readlog.Control)
	if len(want) != 125 {
		t.Fatalf("the control saw %d of 125 events", len(want))
	}
	for w := 1; w <= 5; w++ {
		if got := seen(log, w); !slices.Equal(got, want) {
			t.Errorf("watch %d saw %d events, the control %d", w, len(got), len(want))
		}
	}
}

// As many queries are due as rate and time say, at the same times for each seed.
func TestSchedule(t *testing.T) {
	start := time.Unix(1000, 0)
	for rate, want := range map[float64]int{5: 15, 1000: 3000} {
		a, b, c := newSchedule(1, "get", rate, start), newSchedule(1, "get", rate, start), newSchedule(2, "get", rate, start)
		n, same := 0, 0
		for last := start; ; n++ {
			at, choice := a.take()
			if again, x := b.take(); !again.Equal(at) || x != choice {
				t.Fatal("one seed gave two schedules")
			}
			if other, _ := c.take(); other.Equal(at) {
				same++
			}
			if !at.Before(start.Add(3 * time.Second)) {
				break
			}
			if at.Before(last) {
				t.Fatalf("%s comes after %s", at, last)
			}
			last = at
		}
		if n != want || same > n/10 {
			t.Errorf("%d queries at %v/s in 3 s, %d of them at the time of another seed", n, rate, same)
		}
	}
}

// A slow answer delays the queries behind it, and their intended times show by how much.
func TestIntendedTimes(t *testing.T) {
	s, url := pods(t, apisim.Config{})
	put(t, s, "one", "Running")
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/one") {
			_ = lifecycle.Pause(r.Context(), 50*time.Millisecond)
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	log := read(t, Config{Get: 200, Connections: 4}, &play{target: slow.URL, control: url, before: map[string]func([]string){
		Stop: func([]string) { _ = lifecycle.Pause(t.Context(), time.Second) },
	}})
	late := 0
	for _, r := range log.of(readlog.Get, -1) {
		if r.Started-r.Intended > int64(200*time.Millisecond) {
			late++
		}
	}
	if n := len(log.of(readlog.Get, -1)); n > 100 || late < 20 {
		t.Errorf("%d queries of 50 ms on 4 connections, %d of them more than 200 ms late", n, late)
	}
}

// What is no complete answer has no items.
func TestIncomplete(t *testing.T) {
	s, url := pods(t, apisim.Config{})
	put(t, s, "one", "Running")
	put(t, s, "two", "Running")
	for name, c := range map[string]struct {
		spoil func(http.ResponseWriter, *http.Request)
		code  int
		says  string
	}{
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"metadata":`))
		}, 200, "the body is not complete"},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, 200, "the body is not valid"},
		"another object": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"metadata":{"uid":"other"},"items":0}`))
		}, 200, ""},
		"busy": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, 429, ""},
	} {
		listed := false
		bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") == "" && listed {
				c.spoil(w, r)
				return
			}
			listed = true
			s.ServeHTTP(w, r)
		}))
		log := read(t, Config{Get: 50, List: 50}, &play{target: bad.URL, control: url, before: map[string]func([]string){
			Stop: func([]string) { _ = lifecycle.Pause(t.Context(), 200*time.Millisecond) },
		}})
		bad.Close()
		all := slices.Concat(log.of(readlog.Get, -1), log.of(readlog.List, -1))
		if len(all) < 5 {
			t.Errorf("%s: %d queries", name, len(all))
		}
		for _, r := range all {
			if r.Items != 0 || r.Code != c.code || (r.Error == "") != (c.code != 200) || !strings.Contains(r.Error, c.says) {
				t.Errorf("%s: %+v", name, r)
				break
			}
		}
	}
}

// A watch that ends goes on where it was; after a 410 it lists, which the record shows.
func TestWatchGoesOn(t *testing.T) {
	s, url := pods(t, apisim.Config{Window: 20})
	put(t, s, "one", "Running")
	mine, control := pods(t, apisim.Config{})
	put(t, mine, "one", "Running")
	log := read(t, Config{Watches: 1}, &play{target: url, control: control, before: map[string]func([]string){Stop: func([]string) {
		await := func(n int) {
			for range 300 {
				if _ = lifecycle.Pause(t.Context(), 10*time.Millisecond); s.Stats("pods").Watches >= n {
					return
				}
			}
			t.Errorf("no watch number %d", n)
		}
		put(t, s, "one", "a")
		put(t, s, "one", "b")
		_ = lifecycle.Pause(t.Context(), 100*time.Millisecond)
		if err := s.CloseWatches("pods"); err != nil {
			t.Error(err)
		}
		put(t, s, "one", "c")
		await(2)
		_ = lifecycle.Pause(t.Context(), 100*time.Millisecond)
		if err := s.CloseWatches("pods"); err != nil {
			t.Error(err)
		}
		for i := range 50 { // more than are kept
			put(t, s, "one", fmt.Sprint(i))
		}
		await(4)
		put(t, s, "one", "last")
	}}})
	opened, closed, events := log.of(readlog.Opened, 1), log.of(readlog.Closed, 1), seen(log, 1)
	if len(opened) < 3 || len(closed) < 3 {
		t.Fatalf("opened %+v, closed %+v", opened, closed)
	}
	if opened[1].Version != closed[0].Version || closed[0].Error != "" {
		t.Errorf("the second watch begins at %d, the first ended at %d (%s)", opened[1].Version, closed[0].Version, closed[0].Error)
	}
	last := opened[len(opened)-1]
	if gone := closed[len(closed)-1]; gone.Code != http.StatusGone || last.Version <= gone.Version {
		t.Errorf("closed %+v, then opened %+v", gone, last)
	}
	// The second watch may see a few of the 50 before it is closed and falls behind; never all.
	if n := len(events); n < 4 || n > 50 || !strings.HasSuffix(events[n-1], fmt.Sprint(" ", s.Version())) {
		t.Errorf("events %q, the last version is %d", events, s.Version())
	}
}

func TestNothingToGet(t *testing.T) {
	_, url := pods(t, apisim.Config{})
	var log records
	r, err := New(Config{Collection: "/api/v1/pods", Connections: 1, Get: 1}, &log)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), &play{target: url, control: url}); err == nil || !strings.Contains(err.Error(), "no object to get") {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	good := Config{Collection: "/api/v1/pods", Connections: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for key, spoil := range map[string]func(*Config){
		"collection": func(c *Config) { c.Collection = "pods" }, "get": func(c *Config) { c.Get = -1 }, "list": func(c *Config) { c.List = 1e9 },
		"connections": func(c *Config) { c.Connections = 0 }, "limit": func(c *Config) { c.Limit = -1 }, "watches": func(c *Config) { c.Watches = 1e6 },
		"webhooks": func(c *Config) { c.Webhooks = 101 }, "webhookFaults": func(c *Config) { c.WebhookFaults = "x" }, "secret": func(c *Config) { c.Secret = "abc" },
	} {
		c := good
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), key+": ") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
