package pipeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// burst hands over so many Pods at once, to a storage that takes 10 ms.
func burst(t *testing.T, c Config, n int) (*Virtual, *virtualStore) {
	t.Helper()
	s := newStore(0)
	s.latency = func(Event) time.Duration { return 10 * time.Millisecond }
	vs := newVirtualStore(s)
	v, err := NewVirtual(c, vs, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		e := Event{Action: Put, Key: object.Key{Kind: "Pod", Namespace: "ns", Name: fmt.Sprint("p-", i)}, UID: "u", ResourceVersion: uint64(i + 1)}
		if err := v.Enqueue(0, e); err != nil {
			t.Fatal(err)
		}
	}
	return v, vs
}

// TestVirtualPeaks: of twelve Pods at once one is in flight, four are in the handler queue, three
// in the Writer, one waits for room and the rest behind it in the watch.
func TestVirtualPeaks(t *testing.T) {
	c := config(Single)
	c.HandlerQueueLen, c.WriterQueueLen, c.QueueFull = 4, 3, Block
	v, _ := burst(t, c, 12)
	if n := v.Unread(); n != 3 {
		t.Errorf("%d unread", n)
	}
	if v.Drain(5 * time.Millisecond); v.Now() != 5*time.Millisecond || v.WriterFull() != 5*time.Millisecond {
		t.Errorf("at %s the Writer was full for %s", v.Now(), v.WriterFull())
	}
	if !v.Drain(time.Second) {
		t.Fatal(v.Stats())
	}
	if writer, inFlight := v.Peaks(); writer != 3 || inFlight != 1 {
		t.Errorf("peaks: %d in the Writer, %d in flight", writer, inFlight)
	}
	if handled, depth := v.Kind("Pod"); !slices.Equal(handled, []uint64{12}) || depth != 4 {
		t.Errorf("handled %d, at most %d in the handler queue", handled, depth)
	}
	if full := v.WriterFull(); full != 50*time.Millisecond { // until the last of the watch left it
		t.Errorf("the Writer was full for %s", full)
	}
}

// TestVirtualTies: requests that end at once do so in the order in which they began.
func TestVirtualTies(t *testing.T) {
	c := config(Keyed)
	c.PodQueueNum = 16
	v, vs := burst(t, c, 64)
	if !v.Drain(time.Second) || len(vs.requests) != 64 {
		t.Fatal(v.Stats())
	}
	for i, r := range vs.requests {
		if r.version != uint64(i+1) {
			t.Fatalf("request %d is %v", i, r)
		}
	}
	if _, inFlight := v.Peaks(); inFlight != 16 {
		t.Errorf("at most %d in flight", inFlight)
	}
}
