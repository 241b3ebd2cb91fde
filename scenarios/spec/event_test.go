package spec

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestLargest(t *testing.T) {
	s := Default()
	s.Watcher.PodQueueNum, s.Watcher.HandlerQueueLen = 4, 100
	s.Events = []Event{{What: "resize", PodQueueNum: 16}, {What: "resize", PodQueueNum: 2, HandlerQueueLen: 50, WriterQueueLen: 1 << 20}}
	if w := s.Largest(); w.PodQueueNum != 16 || w.HandlerQueueLen != 100 || w.WriterQueueLen != 1<<20 || w.Concurrency() != 16 {
		t.Errorf("%+v", w)
	}
	if s.Watcher.PodQueueNum != 4 {
		t.Error("it changes the scenario")
	}
}

func TestMoment(t *testing.T) {
	for in, want := range map[string]Moment{"2s": {2e9, 2e9}, "50ms..1m": {50e6, 60e9}, "0s": {}} {
		var m Moment
		if err := m.UnmarshalText([]byte(in)); err != nil || m != want {
			t.Errorf("%s: %v, %v", in, m, err)
		}
		var again Moment
		if out, err := m.MarshalText(); err != nil || again.UnmarshalText(out) != nil || again != m {
			t.Errorf("%s is written as %s", in, out)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	m := Moment{1e9, 2e9}
	seen := map[bool]bool{}
	for range 100 {
		d := m.Draw(rng)
		if d < m.From || d > m.To {
			t.Fatalf("%s is outside of %v", d, m)
		}
		seen[d < 1500*time.Millisecond] = true
	}
	if len(seen) != 2 {
		t.Error("all moments are in one half of the range")
	}
}
