package live

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// nothing is a source without frames.
type nothing struct{}

func (nothing) Next(ctx context.Context) (Frame, error) {
	<-ctx.Done()
	return Frame{}, context.Cause(ctx)
}

func newServer(t *testing.T, s Source) *Server {
	t.Helper()
	server, err := New("Test", s)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func (h *hub) add(t *testing.T, from, to int64) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := h.publish(Frame{Time: i}); err != nil {
			t.Fatal(err)
		}
	}
}

// viewer is a ResponseWriter that takes an event each time it is let.
type viewer struct {
	header http.Header
	mu     sync.Mutex // guards text
	text   strings.Builder
	take   chan struct{} // nil: at once
}

func (v *viewer) Header() http.Header { return v.header }
func (v *viewer) WriteHeader(int)     {}
func (v *viewer) Flush()              {}
func (v *viewer) Write(p []byte) (int, error) {
	if v.take != nil {
		<-v.take
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text.Write(p)
}

// times are those of the frames that the viewer got, by event.
func (v *viewer) times(t *testing.T) (events [][]int64, last string) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for line := range strings.SplitSeq(v.text.String(), "\n") {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			last = id
		}
		data, ok := strings.CutPrefix(line, "data: [")
		if !ok {
			continue
		}
		var frames []Frame
		if err := json.Unmarshal([]byte("["+data), &frames); err != nil {
			t.Fatal(err)
		}
		var all []int64
		for _, f := range frames {
			all = append(all, f.Time)
		}
		events = append(events, all)
	}
	return events, last
}

// view streams to v until the returned function is called.
func view(s *Server, v *viewer, last string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil)
	r.Header.Set("Last-Event-ID", last)
	v.header = http.Header{}
	done := make(chan struct{})
	go func() { defer close(done); s.events(v, r) }()
	return func() { cancel(); <-done }
}

// TestLateViewer: who comes late gets what is kept, who returns what it lacks, and who has the
// frames of another server, or of long ago, all of it anew.
func TestLateViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nothing{})
		s.hub.add(t, 0, History+50)
		var v viewer
		stop := view(s, &v, "")
		synctest.Wait()
		events, last := v.times(t)
		if len(events) != 1 || len(events[0]) != History || events[0][0] != 50 || last != fmt.Sprintf("%s-%d", s.boot, History+49) {
			t.Fatalf("%d events, last %q", len(events), last)
		}
		s.hub.add(t, History+50, History+51)
		synctest.Wait()
		if events, last = v.times(t); len(events) != 2 || events[1][0] != History+50 {
			t.Fatalf("the next frame: %v", events[1:])
		}
		stop()
		for _, tc := range []struct {
			last  string
			want  int
			reset bool
		}{
			{last, 0, false},
			{fmt.Sprintf("%s-%d", s.boot, History), 50, false},
			{"another-100", History, true}, // a number that is still kept here
			{s.boot + "-3", History, true},
			{s.boot + "-x", History, true},
			{fmt.Sprintf("%s-%d", s.boot, 1<<40), 0, false},
		} {
			var v viewer
			stop := view(s, &v, tc.last)
			synctest.Wait()
			events, _ := v.times(t)
			got := 0
			for _, e := range events {
				got += len(e)
			}
			if got != tc.want || strings.Contains(v.text.String(), `"reset":true`) != tc.reset {
				t.Errorf("after %q: %d frames, want %d; %.120q", tc.last, got, tc.want, v.text.String())
			}
			stop()
		}
	})
}

// TestFrameDuringHello: the frame that comes between a viewer's greeting and its first batch
// pushes one out, not all.
func TestFrameDuringHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nothing{})
		s.hub.add(t, 0, History)
		v := viewer{take: make(chan struct{})}
		stop := view(s, &v, "")
		synctest.Wait() // it has not taken the greeting
		s.hub.add(t, History, History+1)
		v.take <- struct{}{}
		v.take <- struct{}{}
		synctest.Wait()
		if events, _ := v.times(t); len(events) != 1 || len(events[0]) != History || events[0][0] != 1 {
			t.Errorf("%d events, the first with %d frames", len(events), len(events[0]))
		}
		stop()
	})
}

// TestSlowViewer: one that takes nothing delays nobody, and then skips to the newest frame.
func TestSlowViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nothing{})
		slow, fast := viewer{take: make(chan struct{})}, viewer{}
		stopSlow, stopFast := view(s, &slow, ""), view(s, &fast, "")
		slow.take <- struct{}{} // hello
		s.hub.add(t, 0, 1)
		synctest.Wait() // it holds the first frame
		for i := range int64(maxBehind + 10) {
			s.hub.add(t, i+1, i+2)
			synctest.Wait()
		}
		if events, _ := fast.times(t); len(events) != maxBehind+11 {
			t.Errorf("the fast viewer has %d frames", len(events))
		}
		slow.take <- struct{}{}
		slow.take <- struct{}{}
		synctest.Wait()
		events, _ := slow.times(t)
		if len(events) != 2 || len(events[0]) != 1 || len(events[1]) != 1 || events[1][0] != maxBehind+10 {
			t.Errorf("the slow viewer has %v", events)
		}
		stopFast()
		stopSlow()
	})
}

func TestTooManyViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nothing{})
		var stops []func()
		for range MaxViewers {
			stops = append(stops, view(s, &viewer{}, ""))
		}
		synctest.Wait()
		w := httptest.NewRecorder()
		s.events(w, httptest.NewRequest(http.MethodGet, "/events", nil))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one too many: %d", w.Code)
		}
		stops[0]()
		stops[0] = view(s, &viewer{}, "")
		synctest.Wait()
		if n := s.Viewers(); n != MaxViewers {
			t.Errorf("%d viewers", n)
		}
		for _, stop := range stops {
			stop()
		}
	})
}

func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nothing{})
		var v viewer
		stop := view(s, &v, "")
		time.Sleep(2*keepAlive + time.Second)
		stop()
		if n := strings.Count(v.text.String(), ": alive"); n != 2 {
			t.Errorf("%d signs of life", n)
		}
	})
}

// TestAwaitViewers: a reload is no departure.
func TestAwaitViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, nothing{})
		stop := view(s, &viewer{}, "")
		began, gone := time.Now(), make(chan time.Duration, 1)
		go func() { s.AwaitViewers(t.Context(), 3*time.Second); gone <- time.Since(began) }()
		time.Sleep(10 * time.Second)
		stop()
		time.Sleep(time.Second)
		stop = view(s, &viewer{}, "")
		time.Sleep(10 * time.Second)
		stop()
		if d := <-gone; d < 24*time.Second || d > 26*time.Second {
			t.Errorf("ended after %s", d)
		}
	})
}

// TestFeedIsBounded: of readings that nobody takes, the newest stay.
func TestFeedIsBounded(t *testing.T) {
	f := NewFeed()
	for i := range 3 * maxFed {
		f.Put(Reading{Time: time.UnixMilli(int64(i))})
	}
	frame, err := f.Next(t.Context())
	if err != nil || frame.Time != 2*maxFed {
		t.Errorf("%v, the oldest is of %d, want %d", err, frame.Time, 2*maxFed)
	}
}

// TestRunEndsViewers: all streams end within a second, and nothing is left.
func TestRunEndsViewers(t *testing.T) {
	s := newServer(t, nothing{})
	l, err := Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 3 {
		resp, err := client.Get("http://" + l.Addr().String() + "/events")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "retry:") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Second):
		t.Error("Run still runs after a second")
		<-done
	}
	if l, err = Listen(":0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), l); err == nil {
		t.Error("a second Run was accepted")
	}
}
