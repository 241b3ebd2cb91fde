package legacy

import (
	"strconv"
	"time"

	"github.com/watchbench/watchbench/watcher/pipeline"
)

// The original's numbers (contract §1.4, §2.1, §2.5, §3).
const (
	workersPerKind = 5
	putTimeout     = time.Second            // of a full queue
	emptyFor       = time.Second            // ends one start of a handler
	handlerTick    = 500 * time.Millisecond // between two starts of a handler
	retryWithin    = 5000                   // a failed key comes back after so many ms, exclusive
	notReadyMin    = time.Second            // backoff before a key reached a handler
	notReadyMax    = 32 * time.Second
	eventFactor    = 4 // times as many queues for Events as for Pods

	attempts     = 4 // requests within one PUT or DELETE
	attemptPause = time.Second

	defaultHandlerQueueLen = 102400
	defaultTimeout         = 5 * time.Second

	kindPod   = "Pod"
	kindEvent = "Event"
)

// Config is what the main file of the original decides, and the length of the handler
// queues, which it does not.
type Config struct {
	ClusterID string // label of the original's metrics
	// PodQueueNum is N; 0 is one queue named after the kind.
	PodQueueNum     int
	HandlerQueueLen int
}

// Default is the original with a main file that says nothing about queues.
func Default() Config {
	return Config{HandlerQueueLen: defaultHandlerQueueLen}
}

// Validate names the first wrong field and what would be right.
func (c Config) Validate() error {
	p := pipeline.Default()
	p.PodQueueNum, p.HandlerQueueLen = c.PodQueueNum, c.HandlerQueueLen
	return p.Validate()
}

// queueNames are the handlers of a kind.
func (c Config) queueNames(kind string) []string {
	n := 0
	switch kind {
	case kindPod:
		n = c.PodQueueNum
	case kindEvent:
		n = eventFactor * c.PodQueueNum
	}
	if n == 0 {
		return []string{kind}
	}
	names := make([]string, n)
	for i := range names {
		names[i] = kind + "_" + strconv.Itoa(i)
	}
	return names
}
