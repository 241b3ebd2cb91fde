package behavior

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/expr"
)

// Capacity bounds what the storage serves at once and per second. Requests beyond it wait in one queue in the order of
// their arrival, so that the latency a client sees rises under overload.
type Capacity struct {
	InFlight int     // requests in service at once; 0 is unlimited
	Rate     float64 // requests per second that enter service; 0 is unlimited
	Queue    int     // requests that may wait; one more is refused
}

// DefaultQueue is the queue's bound when none is given. A waiting request holds a connection and a goroutine, about 20
// KiB together.
const DefaultQueue = 65536

// ErrQueueFull is the answer to a request that finds Queue others waiting.
var ErrQueueFull = errors.New("the storage's queue is full")

// ParseCapacity reads inflight=300,rate=50/s,queue=1000. Empty text, or unlimited, is no limit.
func ParseCapacity(text string) (Capacity, error) {
	c := Capacity{Queue: DefaultQueue}
	if text = strings.TrimSpace(text); text == "" || text == "unlimited" {
		return c, nil
	}
	// The expression grammar wants a call; the name represents the capacity itself.
	in := "capacity(" + text + ")"
	e, err := expr.Parse(in)
	if err != nil {
		return c, fmt.Errorf("capacity %q: want inflight=300, rate=50/s, queue=1000, separated by commas", text)
	}
	r := expr.Read(in, e)
	c.InFlight = r.Int("inflight", 1, 0)
	c.Queue = r.Int("queue", 0, DefaultQueue)
	if s := r.Text("rate", ""); s != "" {
		if c.Rate, err = parseRate(s); err != nil {
			r.Fail("rate", "rate=%s: %v", s, err)
		}
	}
	if err := r.Err(); err != nil {
		if ee, ok := errors.AsType[*expr.Error](err); ok {
			return c, fmt.Errorf("capacity %q: %s", text, ee.Msg)
		}
		return c, err
	}
	return c, nil
}

func parseRate(s string) (float64, error) {
	count, ok := strings.CutSuffix(s, "/s")
	f, err := strconv.ParseFloat(count, 64)
	if err != nil || !ok {
		return 0, errors.New("not a rate; write 50/s")
	}
	if !(f >= 0.001 && f <= 1e6) {
		return 0, errors.New("want 0.001/s to 1000000/s")
	}
	return f, nil
}

var capacityGrammar = grammar{"capacity", "limits", "limits like inflight=300,rate=50/s"}

// ParseCapacities reads rules such as kind=Pod: rate=50/s; inflight=300. Each rule has a queue of its own; what none
// matches is not limited. Empty text, or unlimited, is no limit.
func ParseCapacities(text string) ([]Rule[Capacity], error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return parseRules(capacityGrammar, text, ParseCapacity)
}
