package latency

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/expr"
)

// Capacity bounds what the storage serves at once and per second. Requests beyond
// it wait in one queue in the order of their arrival, so that the latency a
// client sees rises under overload.
type Capacity struct {
	InFlight int     // requests in service at once; 0 is unlimited
	Rate     float64 // requests per second that enter service; 0 is unlimited
	Burst    int     // requests that may enter at once after a pause; at least 1
	Queue    int     // requests that may wait; one more is refused
}

// DefaultQueue is the queue's bound when none is given. A waiting request holds a
// connection and a goroutine, about 20 KiB together.
const DefaultQueue = 65536

// ErrQueueFull is the answer to a request that finds Queue others waiting.
var ErrQueueFull = errors.New("the storage's queue is full")

// ParseCapacity reads inflight=300,rate=50/s,burst=1,queue=1000. Empty text, or
// unlimited, is no limit.
func ParseCapacity(text string) (Capacity, error) {
	c := Capacity{Burst: 1, Queue: DefaultQueue}
	if text = strings.TrimSpace(text); text == "" || text == "unlimited" {
		return c, nil
	}
	// The expression grammar wants a call; the name represents the capacity itself.
	in := "capacity(" + text + ")"
	e, err := expr.Parse(in)
	if err != nil {
		return c, fmt.Errorf("capacity %q: want inflight=300, rate=50/s, burst=1, queue=1000, separated by commas", text)
	}
	r := expr.Read(in, e)
	c.InFlight = r.Int("inflight", 1, 0)
	c.Burst = r.Int("burst", 1, 1)
	c.Queue = r.Int("queue", 0, DefaultQueue)
	if s := r.Text("rate", ""); s != "" {
		if c.Rate, err = parseRate(s); err != nil {
			r.Fail("rate", "rate=%s: %v", s, err)
		}
	}
	if c.Burst > 1 && c.Rate == 0 {
		r.Fail("burst", "burst has a meaning only together with rate")
	}
	if err := r.Err("inflight", "rate", "burst", "queue"); err != nil {
		var ee *expr.Error
		if errors.As(err, &ee) {
			return c, fmt.Errorf("capacity %q: %s", text, ee.Msg)
		}
		return c, err
	}
	return c, nil
}

func parseRate(s string) (float64, error) {
	count, unit, _ := strings.Cut(s, "/")
	per := map[string]float64{"s": 1, "m": 60, "min": 60}[strings.TrimSpace(unit)]
	f, err := strconv.ParseFloat(strings.TrimSpace(count), 64)
	if err != nil || per == 0 {
		return 0, fmt.Errorf("not a rate; write 50/s or 3000/min")
	}
	if f /= per; !(f >= 0.001 && f <= 1e6) {
		return 0, fmt.Errorf("want 0.001/s to 1000000/s")
	}
	return f, nil
}

var capacityGrammar = grammar{"capacity", "limits", "limits like inflight=300,rate=50/s"}

// ParseCapacities reads rules such as kind=Pod: rate=50/s; inflight=300. Each rule has a
// queue of its own; what none matches is not limited. Empty text, or unlimited, is no
// limit.
func ParseCapacities(text string) ([]Rule[Capacity], error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	return parseRules(capacityGrammar, text, ParseCapacity)
}
