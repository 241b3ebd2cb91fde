package pipeline

import "strconv"

// shape is everything a strategy decides for one kind; the queue engine is the same
// for all of them.
type shape struct {
	partitions int  // queues; a key always goes to the same one
	workers    int  // requests in flight per queue
	exclusive  bool // at most one request in flight per key
	merge      bool // a waiting event is replaced by the next one of its key
	adaptive   bool // fewer workers than that send, as many as storage is worth
	numbered   bool // queues are named Kind_0, Kind_1, …
}

// eventFactor is how many times more queues the original gives to Events than to Pods.
const eventFactor = 4

// shapeOf is the table of strategies.
func shapeOf(c Config, kind string) shape {
	n := max(c.PodQueueNum, 1)
	switch c.Strategy {
	case Unordered:
		return shape{partitions: 1, workers: n}
	case Dedup:
		return shape{partitions: 1, workers: n, exclusive: true, merge: true}
	case Keyed:
		return shape{partitions: 1, workers: n, exclusive: true}
	case Adaptive:
		n = c.MaxInFlight
		if c.PodQueueNum > 0 {
			n = min(n, c.PodQueueNum)
		}
		return shape{partitions: 1, workers: n, exclusive: true, merge: true, adaptive: true}
	case Partitioned:
		s := shape{partitions: 1, workers: 1, exclusive: true}
		if c.PodQueueNum > 0 && (kind == "Pod" || kind == "Event") {
			s.numbered = true
			s.partitions = n
			if kind == "Event" {
				s.partitions = eventFactor * n
			}
		}
		return s
	default: // Single
		return shape{partitions: 1, workers: 1, exclusive: true}
	}
}

func (s shape) queueName(kind string, i int) string {
	if !s.numbered {
		return kind
	}
	return kind + "_" + strconv.Itoa(i)
}

// hashBase is the multiplier of the original's hash. A queue count that is a
// multiple of it spreads badly; ours keeps the hash so that the skew can be seen.
const hashBase = 131

// PartitionOf is the original's choice of a queue (contract §2.5): a polynomial hash
// of "namespace/name", or of the name alone in the cluster scope, modulo n.
func PartitionOf(namespace, name string, n int) int {
	if n == 1 {
		return 0
	}
	var h uint64
	if namespace != "" {
		for i := range len(namespace) {
			h = h*hashBase + uint64(namespace[i])
		}
		h = h*hashBase + '/'
	}
	for i := range len(name) {
		h = h*hashBase + uint64(name[i])
	}
	return int((h & 0x7FFFFFFF) % uint64(n))
}
