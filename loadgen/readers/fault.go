package readers

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/units"
)

// Fault is what goes wrong at a receiver of webhooks, as it was written; see ParseFaults. It is immutable.
type Fault struct {
	faultlist.Fault
	Effect      Effect
	Probability float64
	Status      int
	RetryAfter  time.Duration // Status; 0 is no header
	Delay       time.Duration // Stall
	Size        int64         // Huge, in bytes
	Receivers   []int         // from 1; none: all
}

// Effect is what a fault does.
type Effect string

// The effects.
const (
	Status Effect = "status" // 400 … 599: that status; retry-after=2s adds the header
	Stall  Effect = "stall"  // stall(d): the answer comes d later
	Hang   Effect = "hang"   // no answer until the client gives up
	Huge   Effect = "huge"   // huge(size): 200 with a body of that size; default 64MiB
)

const (
	// MaxReceivers bounds the receivers of a run.
	MaxReceivers = 100
	maxHuge      = 1 << 30
)

var grammar = faultlist.Grammar{
	Effects: []string{"stall", "hang", "huge"}, Positional: map[string][]string{"stall": {"delay"}, "huge": {"size"}},
	Example: "500:20%",
}

// Hits reports whether a receiver may meet the fault.
func (f Fault) Hits(receiver int) bool {
	return len(f.Receivers) == 0 || slices.Contains(f.Receivers, receiver)
}

// Healthy reports whether a receiver meets none of the faults.
func Healthy(all []Fault, receiver int) bool {
	return !slices.ContainsFunc(all, func(f Fault) bool { return f.Hits(receiver) })
}

// ParseFaults reads faults that are separated by commas. Each is an effect, arguments in parentheses, and after a
// colon its probability (100 % when absent):
//
//	500:20%, 429(retry-after=1s), stall(5s):1%, hang(receiver=2), huge(64MiB, receiver=1|3)
//
// receiver=1|3 names the receivers that it hits, from 1; without it, all. from, for, every, max and name are those of
// storage's faults.
func ParseFaults(text string) ([]Fault, error) { return faultlist.Parse(text, grammar, readFault) }

func readFault(t *faultlist.Term) (Fault, error) {
	f := Fault{Fault: t.Common(), Effect: Effect(t.Call.Name), Probability: t.Probability}
	own := []string{"receiver"}
	switch f.Effect {
	case Stall:
		f.Delay = t.Delay("delay", true, "stall(5s)")
	case Huge:
		size, err := units.ParseSize(t.Args.Text("size", "64MiB"))
		if f.Size = int64(size); err != nil || f.Size < 1 || f.Size > maxHuge {
			t.Args.Fail("size", "want 1B to 1GiB, like 64MiB")
		}
	case Hang:
	default:
		f.Effect, own = Status, append(own, "retry-after")
		f.Status, f.RetryAfter = t.Status()
	}
	if text := t.Args.Text("receiver", ""); text != "" {
		for part := range strings.SplitSeq(text, "|") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 || n > MaxReceivers {
				t.Args.Fail("receiver", "receiver=%s: want numbers of receivers from 1, like receiver=1|3", text)
				break
			}
			f.Receivers = append(f.Receivers, n)
		}
	}
	return f, t.Args.Err(slices.Concat(own, faultlist.CommonArgs)...)
}

// faults are those in force, safe for concurrent use.
type faults struct {
	*faultlist.Set[Fault]
	rng *rand.Rand // used inside of Pick only
}

// newFaults are in force from Start on.
func newFaults(seed uint64, all []Fault) (*faults, error) {
	s := &faults{
		Set: faultlist.NewSet(func(f Fault) faultlist.Fault { return f.Fault }),
		rng: rand.New(rand.NewPCG(seed, 0x686f6f6b73)),
	}
	s.Hold()
	return s, s.Add(all, time.Now())
}

// pick returns the fault that hits a delivery to a receiver, nil for none, and counts it.
func (s *faults) pick(receiver int) *Fault {
	return s.Pick(time.Now(), func(f *Fault) (uint64, bool) {
		if !f.Hits(receiver) || f.Probability < 1 && s.rng.Float64() >= f.Probability {
			return 0, false
		}
		return uint64(receiver), true
	})
}
