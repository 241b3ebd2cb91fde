package measure

import "github.com/watchbench/watchbench/storagemock/ledger"

// served holds the Pod requests that storage acknowledged. Times are Unix nanoseconds.
type served struct {
	requests    int64 // received
	bytes       int64 // in their bodies
	acked       int64
	first, last int64 // acknowledgements
	acks        bins
	took        *Histogram
	tookSum     float64 // nanoseconds
}

func (s *served) add(e *ledger.Entry) {
	s.requests++
	s.bytes += int64(e.Bytes)
	if !e.Acked() {
		return
	}
	s.acked++
	if s.first == 0 || e.Responded < s.first {
		s.first = e.Responded
	}
	s.last = max(s.last, e.Responded)
	s.acks.add(s.acks.index(e.Responded), 1)
	s.took.Add(e.Responded - e.Received)
	s.tookSum += float64(e.Responded - e.Received)
}

func (s *served) qps() *float64 {
	if s.acked < 2 || s.last == s.first {
		return nil
	}
	return ptr(float64(s.acked-1) / (float64(s.last-s.first) / 1e9))
}

// limit is Little's law: the highest rate that so many requests in flight allow at a mean latency.
func limit(inFlight int, meanMillis float64) *float64 {
	if inFlight <= 0 || meanMillis <= 0 {
		return nil
	}
	return ptr(float64(inFlight) / (meanMillis / 1000))
}
