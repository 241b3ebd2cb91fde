package model

import "time"

// Key is an object as the hash sees it; Namespace is empty in the cluster's scope.
type Key struct{ Namespace, Name string }

// partition is the queue of a key among n: h = h × 131 + byte over the bytes of
// namespace/name, or of the name alone, in 64 bits that wrap around; (h & 0x7FFFFFFF) mod n.
// It is written from the contract of bcs-k8s-watch (domain/bcs-contract.md, §2.5), as
// watcher/pipeline.PartitionOf is: scenarios does not import the watcher, so that a model
// cannot share its mistake.
func partition(k Key, n int) int {
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

// Skew is how unevenly a hash divides events among queues.
type Skew struct {
	Queues  int
	Events  int64
	Shares  []float64 // of the events, by queue
	Busiest float64   // the largest of them, p_max
}

// SkewOf hashes the keys of a load, each with its events, to n queues. It is refused without
// events.
func SkewOf(events map[Key]int64, n int) (Skew, error) {
	s := Skew{Queues: n}
	if n < 1 {
		return s, refuse(OutOfDomain, "%d queues", n)
	}
	counts := make([]int64, n)
	for k, c := range events {
		counts[partition(k, n)] += c
		s.Events += c
	}
	if s.Events == 0 {
		return s, refuse(TooFew, "no events")
	}
	s.Shares = make([]float64, n)
	for i, c := range counts {
		s.Shares[i] = float64(c) / float64(s.Events)
		s.Busiest = max(s.Busiest, s.Shares[i])
	}
	return s, nil
}

// Imbalance is the busiest queue's share divided by the mean share, as handler.imbalance of
// results.json: 1 where all are alike, n where one queue has everything.
func (s Skew) Imbalance() float64 { return s.Busiest * float64(s.Queues) }

// Limit is the most events per second that the queues carry over a whole load where each
// sends one request at a time: the busiest is done last, so X ≤ μ ÷ p_max with μ = 1 ÷ L. It
// is never above Rate(Queues, latency).
func (s Skew) Limit(latency time.Duration) float64 { return Rate(1, latency) / s.Busiest }
