package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Setting is a candidate.
type Setting = result.Setting

const (
	podKind     = "Pod"
	eventKind   = "Event"
	single      = "single"
	partitioned = "partitioned"
	keyed       = "keyed"
	dedup       = "dedup"
	adaptive    = "adaptive"

	// originalEventQueues is how many queues the original has for Events to each for Pods.
	originalEventQueues = 4

	// maxQueues is the most that --queues may name.
	maxQueues = 256

	// leastWriter is what both watchers raise a shorter bcs.writerQueueLen to.
	leastWriter = 10_240
	// MinLength is the least that --lengths may name.
	MinLength = 256
	// MaxLength is the most.
	MaxLength = 131_072
)

// Strategies are those that take part. unordered does not: it loses the order by design.
var Strategies = []string{single, partitioned, keyed, dedup, adaptive}

// QueueRange and LengthRange are what is searched where nothing is said.
var (
	QueueRange  = Range{1, maxQueues}
	LengthRange = Range{MinLength, MaxLength}
)

// numbered reports whether a strategy has a number of queues to choose.
func numbered(strategy string) bool { return strategy != single && strategy != adaptive }

// ladder is the queue counts that are screened: all up to 8, then in steps of about an
// eighth, and both ends. What lies between is looked at near the answer.
func ladder(r Range) (steps []int) {
	for n := r.Low; n < r.High; n += max(1, n/8) {
		steps = append(steps, n)
	}
	return append(steps, r.High)
}

// most is how many requests a setting may have in flight by its make: for the inflight
// limit, and as what it costs storage. Kinds are those that are watched; 0 is no bound.
func most(s Setting, kinds []string) int {
	switch s.Strategy {
	case single:
		return len(kinds)
	case partitioned:
		n := 0
		for _, k := range kinds {
			switch k {
			case podKind:
				n += s.Queues
			case eventKind:
				n += originalEventQueues * s.Queues
			default:
				n++
			}
		}
		return n
	case adaptive:
		return 0
	}
	return s.Queues * len(kinds)
}

// overrides make a scenario that of a setting: what it does not have is left out.
func overrides(s Setting) []string {
	queues := s.Queues
	switch s.Strategy {
	case single:
		queues = 1
	case adaptive:
		queues = 30 // has no effect, and an axis of the file must not run it twice
	}
	return []string{
		"watcher.strategy=" + s.Strategy, fmt.Sprintf("watcher.podQueueNum=%d", queues),
		fmt.Sprintf("watcher.writerQueueLen=%d", s.WriterLen), fmt.Sprintf("watcher.handlerQueueLen=%d", s.HandlerLen),
	}
}

// bySize orders settings of one strategy.
func bySize(a, b Setting) int {
	return cmp.Or(cmp.Compare(slices.Index(Strategies, a.Strategy), slices.Index(Strategies, b.Strategy)),
		cmp.Compare(a.Queues, b.Queues), cmp.Compare(a.HandlerLen, b.HandlerLen), cmp.Compare(a.WriterLen, b.WriterLen))
}

// load is the words for the load of a scenario.
func load(s *spec.Scenario, planned int64) string {
	if s.Traced() {
		return "the trace " + s.Cluster.Replay.Trace + " at speed " + s.Speed().String()
	}
	l := s.Load
	var w []string
	switch {
	case s.Simulated() && s.Speed() == units.Unlimited:
		w = append(w, fmt.Sprintf("%d writes as fast as the watcher reads them", planned))
	case l.Model == result.ModelOpen && l.Duration > 0:
		w = append(w, fmt.Sprintf("%s writes/s for %s (%d in the plan)", figure(float64(planned)/l.Duration.Std().Seconds()), l.Duration, planned))
	default:
		w = append(w, fmt.Sprintf("%d threads, closed loop", l.Threads))
	}
	if l.Profile != "" {
		w = append(w, "of profile "+l.Profile)
	}
	if l.Arrival != "" {
		w = append(w, "arrival "+l.Arrival)
	}
	return strings.Join(w, ", ")
}
