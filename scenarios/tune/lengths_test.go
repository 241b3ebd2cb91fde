package tune

import (
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestPlantedLength: of a burst of 8,860 changes at 10,000/s some 6,500 wait at once behind 40
// requests of 15 ms. With queueFull drop an event may wait 1 s beside its full queue, in which
// 2,667 others are sent, so that queues of 4,096 lose nothing and those of 2,048 do. Twice the
// depth would be 16,384.
func TestPlantedLength(t *testing.T) {
	text := strings.Replace(burst, "rate: 20000", "rate: 8860", 1)
	text = strings.Replace(text, "watcher: {", "watcher: {queueFull: drop, ", 1)
	virtual := Virtual()
	o := options(t, nil, text, "drain=10s")
	o.Simulate, o.Measurer, o.Strategies, o.Queues = virtual, inVirtualTime{virtual}, []string{keyed}, Range{40, 40}
	got := run(t, o)
	best := got.At(got.Best)
	if !got.Met || best.HandlerLen != 8192 {
		t.Fatalf("met %t with queues of %d, not 8,192: %s", got.Met, best.HandlerLen, got.Sentence)
	}
	l := got.Lengths[0]
	if l.Key != "handlerQueueLen" || l.Shortest != 4096 || l.Recommended != 8192 || l.Shorter != 2048 || !strings.Contains(l.Comes, "drops") {
		t.Errorf("%+v", l)
	}
	dropped := func(length int) int64 {
		f, err := o.Scenario.With(overrides(Setting{Strategy: keyed, Queues: 40, WriterLen: MaxLength, HandlerLen: length})...)
		if err != nil {
			t.Fatal(err)
		}
		v, err := virtual(t.Context(), &f.Cells()[0].Scenario, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("queues of %d: at most %.0f wait, %d dropped", length, *v.HandlerDepth, *v.Dropped)
		if length == MaxLength && (2**v.HandlerDepth <= 8192 || 2**v.HandlerDepth > 16384) {
			t.Errorf("%.0f wait at once: twice that is no other length", *v.HandlerDepth)
		}
		return *v.Dropped
	}
	if dropped(MaxLength) != 0 || dropped(4096) != 0 || dropped(2048) == 0 {
		t.Error("the planted length is another one")
	}
}

// TestLengthsWithoutMeaning: a strategy that merges has no use for the length of its handler
// queues while a full queue coalesces, nor has any for that of the Writer; one that sends every
// change does not merge more than it would with long queues, and with block the handler queues
// are as long as what waits of Events.
func TestLengthsWithoutMeaning(t *testing.T) {
	virtual := Virtual()
	for _, c := range []struct {
		strategy, full  string
		handler, writer bool // has an effect
		least           int  // of what is enough for the handler queues
	}{
		{dedup, "coalesce", false, false, 0}, {adaptive, "coalesce", false, false, 0}, {dedup, "drop", true, true, MinLength},
		{keyed, "coalesce", true, false, 512}, {single, "block", true, true, 20_000},
	} {
		t.Run(c.strategy+" "+c.full, func(t *testing.T) {
			text := strings.Replace(burst, "rate: 20000", "rate: 1500", 1)
			o := options(t, nil, strings.Replace(text, "watcher: {", "watcher: {queueFull: "+c.full+", ", 1), "drain")
			o.Simulate, o.Measurer, o.Strategies, o.Queues = virtual, inVirtualTime{virtual}, []string{c.strategy}, Range{40, 40}
			got := run(t, o)
			if !got.Met || len(got.Lengths) != 2 {
				t.Fatalf("met %t, %+v: %s", got.Met, got.Lengths, got.Sentence)
			}
			for i, effect := range []bool{c.handler, c.writer} {
				l := got.Lengths[i]
				if (l.Shortest > 0) != effect || (l.NoEffect == "") != effect {
					t.Errorf("has an effect %t: %+v", effect, l)
				}
				if effect && l.Shorter == 0 && l.None == "" {
					t.Errorf("nothing is said of a shorter one: %+v", l)
				}
			}
			if l := got.Lengths[0]; l.Shortest < c.least {
				t.Errorf("%+v, want at least %d", l, c.least)
			}
		})
	}
}

// TestBisect finds the shortest step with each of them as the answer, and gives it one doubling
// of room unless it has that already.
func TestBisect(t *testing.T) {
	steps := powers(Range{MinLength, MaxLength})
	if want := []int{256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072}; !slices.Equal(steps, want) {
		t.Fatalf("%v", steps)
	}
	if got, want := powers(Range{1000, 5000}), []int{1000, 1024, 2048, 4096, 5000}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := powers(Range{512, 512}); !slices.Equal(got, []int{512}) {
		t.Errorf("%v", got)
	}
	for at, want := range steps {
		for _, filled := range []float64{1, 0.1} {
			w := planted()
			x, err := New(options(t, w, burst, "drain"))
			if err != nil {
				t.Fatal(err)
			}
			var found result.TuningLength
			got, err := x.bisect(t.Context(), &found, lengthSearch{
				steps: steps,
				of: func(n int) Setting {
					return Setting{Strategy: keyed, Queues: 40, WriterLen: leastWriter, HandlerLen: n}
				},
				enough: func(c *candidate) string {
					if c.set.HandlerLen < want {
						return "too short"
					}
					return ""
				},
				depth: func(*Figures) *float64 { return new(filled * float64(want)) },
			})
			if err != nil {
				t.Fatal(err)
			}
			longer := want
			if filled == 1 {
				longer = steps[min(at+1, len(steps)-1)]
			}
			if found.Shortest != want || got != longer || at > 0 && (found.Shorter != steps[at-1] || found.Comes != "too short") || at == 0 && found.Shorter != 0 {
				t.Errorf("%d with %.0f %% in use: %d, %+v", want, 100*filled, got, found)
			}
		}
	}
}
