package search

import (
	"slices"
	"strings"
	"testing"
)

// TestRungs: every number of queues up to 16, then steps of an eighth, both ends, and nothing beyond the limit.
func TestRungs(t *testing.T) {
	p := space{queues: Range{3, 40}, lengths: LengthRange, kinds: []string{podKind, eventKind}}
	numbers := func(strategy string) (all []int) {
		for _, s := range p.rungs(strategy) {
			all = append(all, s.Queues)
		}
		return all
	}
	want := []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 27, 30, 33, 37, 40}
	if got := numbers(keyed); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := numbers(adaptive); !slices.Equal(got, []int{0}) {
		t.Errorf("%v", got)
	}
	p.inFlight = 20
	for strategy, want := range map[string][]int{keyed: {3, 4, 5, 6, 7, 8, 9, 10}, partitioned: {3, 4}, single: {0}, adaptive: nil} {
		if got := numbers(strategy); !slices.Equal(got, want) {
			t.Errorf("%s: %v within 20 requests in flight, want %v", strategy, got, want)
		}
	}
}

// TestFit: queues have room for twice what waited, within --lengths, and with block for the Events that may wait.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		full            string
		lengths         Range
		handler, writer float64
		want            Setting
	}{
		{"coalesce", LengthRange, 3000, 0, Setting{WriterLen: 10_240, HandlerLen: 8192}},
		{"coalesce", LengthRange, 10, 9000, Setting{WriterLen: 32_768, HandlerLen: 256}},
		{"drop", Range{1000, 5000}, 3000, 0, Setting{WriterLen: 10_240, HandlerLen: 5000}},
		{"drop", Range{1000, 5000}, 10, 0, Setting{WriterLen: 10_240, HandlerLen: 1000}},
		{"block", LengthRange, 10, 0, Setting{WriterLen: 10_240, HandlerLen: 20_000}},
		{"block", Range{256, 4096}, 10, 0, Setting{WriterLen: 10_240, HandlerLen: 4096}},
	} {
		o := options(t, planted(), strings.Replace(burst, "watcher: {", "watcher: {queueFull: "+c.full+", ", 1), "drain")
		o.Lengths = c.lengths
		x, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		long := &candidate{set: x.space.roomy(keyed, 40), by: []Figures{{HandlerDepth: &c.handler, WriterDepth: &c.writer}}}
		c.want.Strategy, c.want.Queues = keyed, 40
		if got := x.space.fit(long); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestLengths: with the lengths that are recommended nothing is dropped or merged that the longest queues keep.
func TestLengths(t *testing.T) {
	virtual := Virtual()
	for _, c := range []struct {
		strategy, full string
	}{{keyed, "drop"}, {keyed, "coalesce"}, {dedup, "coalesce"}, {adaptive, "drop"}, {single, "block"}, {partitioned, "coalesce"}} {
		text := strings.Replace(burst, "rate: 20000", "rate: 2500", 1)
		o := options(t, nil, strings.Replace(text, "watcher: {", "watcher: {queueFull: "+c.full+", ", 1), "drain")
		o.Simulate, o.Strategies, o.Queues = virtual, []string{c.strategy}, Range{40, 40}
		got := run(t, o, inVirtualTime{virtual})
		best := got.At(got.Best)
		if waited := *best.Predicted.HandlerDepth; !got.Met || float64(best.HandlerLen) < 2*waited {
			t.Errorf("%s, %s: %+v, %g wait at once", c.strategy, c.full, best.Setting, waited)
		}
		if *best.Predicted.Dropped > 0 || best.HandlerLen > 20_000 {
			t.Errorf("%s, %s: %+v", c.strategy, c.full, best)
		}
	}
}
