// Package hookfault says what goes wrong at a receiver of webhooks.
//
// # Grammar
//
// Faults are separated by commas. Each is an effect, arguments in parentheses, and after
// a colon its probability (100 % when absent):
//
//	500:20%, 429(retry-after=1s), stall(5s):1%, hang(receiver=2), huge(64MiB, receiver=1|3)
//
// Effects:
//
//	400 … 599   that status; retry-after=2s adds the header
//	stall(d)    the answer comes d later
//	hang        no answer until the client gives up
//	reset       the connection is reset, without an answer
//	huge(size)  200 with a body of that size; default 64MiB
//	redirect    307 to the same receiver
//
// receiver=1|3 names the receivers that it hits, from 1; without it, all. from, for,
// every, max and name are those of storage's faults.
package hookfault

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/units"
)

// Effect is what a fault does.
type Effect string

// The effects; see the package's grammar.
const (
	Status   Effect = "status"
	Stall    Effect = "stall"
	Hang     Effect = "hang"
	Reset    Effect = "reset"
	Huge     Effect = "huge"
	Redirect Effect = "redirect"
)

var grammar = faultlist.Grammar{
	Effects: []string{"stall", "hang", "reset", "huge", "redirect"}, Positional: map[string][]string{"stall": {"delay"}, "huge": {"size"}}, Example: "500:20%",
}

// Spec is one fault as it was written. It is immutable.
type Spec struct {
	faultlist.Fault
	Effect      Effect
	Probability float64
	Status      int
	RetryAfter  time.Duration // Status; 0 is no header
	Delay       time.Duration // Stall
	Size        int64         // Huge, in bytes
	Receivers   []int         // from 1; none: all
}

// Hits reports whether a receiver may meet the fault.
func (s Spec) Hits(receiver int) bool {
	return len(s.Receivers) == 0 || slices.Contains(s.Receivers, receiver)
}

// Healthy reports whether a receiver meets none of the faults.
func Healthy(all []Spec, receiver int) bool {
	return !slices.ContainsFunc(all, func(s Spec) bool { return s.Hits(receiver) })
}

const (
	// MaxReceivers bounds the receivers of a run.
	MaxReceivers = 100
	defaultHuge  = "64MiB"
	maxHuge      = 1 << 30
)

// Parse reads faults. Empty text is none.
func Parse(text string) ([]Spec, error) {
	return faultlist.Parse(text, grammar, read)
}

func read(t *faultlist.Term) (Spec, error) {
	s := Spec{Fault: t.Common(), Effect: Effect(t.Call.Name), Probability: t.Probability}
	var own []string
	switch s.Effect {
	case Stall:
		s.Delay = t.Delay("delay", true, "stall(5s)")
	case Huge:
		size, err := units.ParseSize(t.Args.Text("size", defaultHuge))
		if s.Size = int64(size); err != nil || s.Size < 1 || s.Size > maxHuge {
			t.Args.Fail("size", "want 1B to 1GiB, like 64MiB")
		}
	case Hang, Reset, Redirect:
	default:
		s.Effect, own = Status, []string{"retry-after"}
		s.Status, s.RetryAfter = t.Status()
	}
	if text := t.Args.Text("receiver", ""); text != "" {
		for part := range strings.SplitSeq(text, "|") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 || n > MaxReceivers {
				t.Args.Fail("receiver", "receiver=%s: want numbers of receivers from 1, like receiver=1|3", text)
				break
			}
			s.Receivers = append(s.Receivers, n)
		}
	}
	return s, t.Args.Err(slices.Concat(own, []string{"receiver"}, faultlist.CommonArgs)...)
}

// Set is the faults in force. It is safe for concurrent use.
type Set struct {
	*faultlist.Set[Spec]
	rng *rand.Rand // used inside of Pick only
}

// NewSet puts faults in force; their times count from Start.
func NewSet(seed uint64, all []Spec) (*Set, error) {
	s := &Set{
		Set: faultlist.NewSet(func(s Spec) faultlist.Fault { return s.Fault }),
		rng: rand.New(rand.NewPCG(seed, 0x686f6f6b73)),
	}
	s.Hold()
	return s, s.Add(all, time.Now())
}

// Pick returns the fault that hits a delivery to a receiver, nil for none, and counts it.
func (s *Set) Pick(receiver int, now time.Time) *Spec {
	return s.Set.Pick(now, func(f *Spec) (uint64, bool) {
		if !f.Hits(receiver) || f.Probability < 1 && s.rng.Float64() >= f.Probability {
			return 0, false
		}
		return uint64(receiver), true
	})
}
