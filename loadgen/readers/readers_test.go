package readers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records are those of a file.
type records []Record

// of are the records of one reader, -1 for all.
func (all records) of(what string, reader int) (some []Record) {
	for _, x := range all {
		if x.What == what && (reader < 0 || x.Reader == reader) {
			some = append(some, x)
		}
	}
	return some
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
	if _, err := s.Apply("pods", []byte(pod)); err != nil {
		t.Fatal(err)
	}
}

// conducted reads through all phases; during is what happens while there are queries, and gets the receivers'
// addresses.
func conducted(t *testing.T, cfg Config, target, control string, during func(listen []string)) (all records, err error) {
	t.Helper()
	dir := t.TempDir()
	cfg.Target, cfg.Control, cfg.Record = filepath.Join(dir, "target"), filepath.Join(dir, "control"), filepath.Join(dir, "record")
	for path, url := range map[string]string{cfg.Target: target, cfg.Control: control} {
		if err := kubeapi.WriteConfig(path, kubeapi.ConfigFor("x", &rest.Config{Host: url})); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Secret = secret
	in, lines := io.Pipe()
	said, out := io.Pipe()
	var end errgroup.Group
	end.Go(func() error {
		err := Run(t.Context(), cfg, in, out)
		_, _ = in.Close(), out.Close()
		return err
	})
	var listen []string
	for d := json.NewDecoder(said); ; {
		var l Said
		if d.Decode(&l) != nil {
			break
		}
		ask := map[string]string{Listening: Connect, Ready: Go, Stopped: Done}[l.Phase]
		if l.Listen != nil {
			listen = l.Listen
		}
		_, _ = io.WriteString(lines, ask+"\n") // an error shows below
		if ask == Go {
			during(listen)
			_, _ = io.WriteString(lines, Stop+"\n")
		}
	}
	if err := end.Wait(); err != nil {
		return nil, err
	}
	for r, err := range ReadFile(cfg.Record) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all, nil
}

func reads(t *testing.T, cfg Config, target, control string, during func(listen []string)) records {
	t.Helper()
	all, err := conducted(t, cfg, target, control, during)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// seen are the events of a watch in a few words.
func seen(log records, reader int) (all []string) {
	for _, e := range log.of(Event, reader) {
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
	log := reads(t, Config{Seed: 3, Get: rate, List: 20, Watches: 5}, url, url, func([]string) {
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
	})
	started, stopped := log.of(Started, -1), log.of(Stopped, -1)
	if len(started) != 1 || len(stopped) != 1 || stopped[0].Ended-started[0].Ended < int64(length) {
		t.Fatalf("%v to %v", started, stopped)
	}
	gets := log.of(Get, -1)
	if n := len(gets); n < rate*7/10 || n > rate*13/10*2 {
		t.Errorf("%d GETs in a second at %d/s", n, rate)
	}
	for _, r := range slices.Concat(gets, log.of(List, -1)) {
		least := int64(1)
		if r.What == List {
			least = 40
		}
		if r.Code != 200 || r.Items < least || r.Error != "" || r.Intended < started[0].Ended || r.Started < r.Intended || r.Ended < r.Started || r.Bytes < 100 {
			t.Fatalf("%+v", r)
		}
	}
	want := seen(log, Control)
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
	log := reads(t, Config{Get: 3000}, slow.URL, url, func([]string) { _ = lifecycle.Pause(t.Context(), time.Second) })
	late := 0
	for _, r := range log.of(Get, -1) {
		if r.Started-r.Intended > int64(200*time.Millisecond) {
			late++
		}
	}
	if n := len(log.of(Get, -1)); n > 1500 || late < 300 {
		t.Errorf("%d queries of 50 ms on 64 connections, %d of them more than 200 ms late", n, late)
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
		log := reads(t, Config{Get: 50, List: 50}, bad.URL, url, func([]string) { _ = lifecycle.Pause(t.Context(), 200*time.Millisecond) })
		bad.Close()
		all := slices.Concat(log.of(Get, -1), log.of(List, -1))
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
	log := reads(t, Config{Watches: 1}, url, control, func([]string) {
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
	})
	opened, closed, events := log.of(Opened, 1), log.of(Closed, 1), seen(log, 1)
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
	if _, err := conducted(t, Config{Get: 1}, url, url, nil); !errors.Is(err, errNothing) {
		t.Error(err)
	}
}

// TestOutOfTurn: a line that is out of turn, and the end of standard input, end the readers with an error.
func TestOutOfTurn(t *testing.T) {
	for in, want := range map[string]string{"go\n": `"go" on standard input, want connect`, "": errNoMore.Error()} {
		cfg := Config{Record: filepath.Join(t.TempDir(), "record")}
		if err := Run(t.Context(), cfg, strings.NewReader(in), io.Discard); err == nil || err.Error() != want {
			t.Errorf("%q: %v", in, err)
		}
	}
}
