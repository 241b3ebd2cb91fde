package legacy

import (
	"strconv"

	"github.com/watchbench/watchbench/watcher/object"
)

// hashBase is the multiplier of the original's hash.
const hashBase = 131

// queueOf is the original's choice among n handler queues (contract §2.5): a polynomial
// hash of "namespace/name", or of the name in the cluster scope, in 64 wrapping bits.
func queueOf(k object.Key, n int) int {
	var h uint64
	feed := func(s string) {
		for i := range len(s) {
			h = h*hashBase + uint64(s[i])
		}
	}
	if k.Namespace != "" {
		feed(k.Namespace)
		feed("/")
	}
	feed(k.Name)
	return int((h & 0x7FFFFFFF) % uint64(n))
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
