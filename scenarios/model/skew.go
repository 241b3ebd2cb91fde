package model

import (
	"slices"
	"time"
)

// Key is an object as the hash sees it; Namespace is empty in the cluster's scope.
type Key struct{ Namespace, Name string }

// Partition is the queue of a key among n: h = h × 131 + byte over the bytes of
// namespace/name, or of the name alone, in 64 bits that wrap around; (h & 0x7FFFFFFF) mod n.
// It is written from the contract of bcs-k8s-watch (domain/bcs-contract.md, §2.5), as
// watcher/pipeline.PartitionOf is: scenarios does not import the watcher, so that a model
// cannot share its mistake.
func Partition(k Key, n int) int {
	text := k.Name
	if k.Namespace != "" {
		text = k.Namespace + "/" + k.Name
	}
	var h uint64
	for _, b := range []byte(text) {
		h = h*131 + uint64(b)
	}
	return int((h & 0x7FFFFFFF) % uint64(n))
}

// Skew is the largest share of the events that a hash gives to one of the queues, p_max.
type Skew float64

// SkewOf hashes the keys of a load, each with its events, to n queues. It is refused without
// events.
func SkewOf(events map[Key]int64, n int) (Skew, error) {
	if n < 1 {
		return 0, refuse(OutOfDomain, "%d queues", n)
	}
	counts, all := make([]int64, n), int64(0)
	for k, c := range events {
		counts[Partition(k, n)] += c
		all += c
	}
	if all == 0 {
		return 0, refuse(TooFew, "no events")
	}
	return Skew(float64(slices.Max(counts)) / float64(all)), nil
}

// Limit is the most events per second that the queues carry over a whole load where each
// sends one request at a time: the busiest is done last, so X ≤ μ ÷ p_max with μ = 1 ÷ L. It
// is never above Rate(queues, latency).
func (s Skew) Limit(latency time.Duration) float64 { return Rate(1, latency) / float64(s) }
