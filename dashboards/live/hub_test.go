package live

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
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

// TestViewers: who comes late gets what is kept, who returns what it lacks, and who has the frames of another server,
// or was away for too long, begins anew.
func TestViewers(t *testing.T) {
	s := newServer(t, nothing{})
	s.hub.add(t, 0, History+10)
	for name, tc := range map[string]struct {
		query string
		from  int64 // of the first frame
		reset bool
	}{
		"new": {"", 10, true}, "returns": {"?boot=BOOT&next=600", 600, false}, "has all": {"?boot=BOOT&next=610", 610, false}, "away for too long": {"?boot=BOOT&next=9", 10, true},
		"of a former server": {"?boot=x&next=600", 10, true}, "of nobody": {"?boot=BOOT&next=700", 10, true}, "nonsense": {"?boot=BOOT&next=-1", 10, true},
	} {
		var got struct {
			Boot, Page string
			Next       int64
			Reset      bool
			Frames     []Frame
		}
		r := get(t, s.handler(false), "127.0.0.1:8", "/frames"+strings.Replace(tc.query, "BOOT", s.hub.boot, 1))
		if err := json.Unmarshal([]byte(body(t, r)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Reset != tc.reset || got.Next != History+10 || int64(len(got.Frames)) != History+10-tc.from || len(got.Frames) > 0 && got.Frames[0].Time != tc.from || got.Boot != s.hub.boot || got.Page == "" {
			t.Errorf("%s: reset %v, next %d, %d frames", name, got.Reset, got.Next, len(got.Frames))
		}
	}
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

// TestRunEnds: within a second, once, and nothing is left.
func TestRunEnds(t *testing.T) {
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
	resp, err := client.Get("http://" + l.Addr().String() + "/frames")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
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
