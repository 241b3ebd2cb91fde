package pipeline

import "math"

// health counts the requests of a kind, to judge whether a key fails for its own sake.
type health struct{ answered, failed uint64 }

// certainty bounds the chance that a sound key is parked: so unlikely must its row of
// failures be, given how the kind's other requests fared meanwhile.
const certainty = 1e-9

// poisons reports that a key fails for its own sake and not for storage's, after at least so
// many tries. While nothing else succeeds it is never true.
func (h *health) poisons(t *trouble, tries int) bool {
	answered := h.answered - t.before.answered
	if t.tries < tries || answered == 0 {
		return false
	}
	return rowOfFailures(t.tries, h.failed-t.before.failed-uint64(t.tries), answered) < math.Log(certainty)
}

// rowOfFailures is the logarithm of the probability that n requests fail one after the
// other, when of others so many failed and were answered. It averages over all rates
// of failure that could explain those (a beta-binomial with a uniform prior): a rate
// read off a handful of requests would convict sound keys.
func rowOfFailures(n int, failed, answered uint64) float64 {
	rise := func(from, by float64) float64 {
		a, _ := math.Lgamma(from)
		b, _ := math.Lgamma(from + by)
		return b - a
	}
	return rise(float64(failed+1), float64(n)) - rise(float64(failed+answered+2), float64(n))
}

func (e *entry) troubled(h *health) *trouble {
	if e.trouble == nil {
		e.trouble = &trouble{before: *h}
	}
	return e.trouble
}

func (e *entry) recordFailure(h *health) *trouble {
	t := e.troubled(h)
	t.tries++
	return t
}
