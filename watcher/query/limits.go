package query

import "net/http"

const (
	maxURL  = 8 << 10  // bytes of a URL
	maxBody = 64 << 10 // bytes of a query in a body
)

// slots bound how many requests of one sort are served at once. There is no queue: who
// finds none free is refused.
type slots struct {
	free chan struct{} // as many as there may be
	what string
}

func newSlots(what string, most int) slots { return slots{make(chan struct{}, most), what} }

// take returns what gives the slot back.
func (s slots) take() (release func(), err error) {
	select {
	case s.free <- struct{}{}:
		return func() { <-s.free }, nil
	default:
		return nil, tooMany(s.what, cap(s.free))
	}
}

// inUse is how many are served now.
func (s slots) inUse() int { return len(s.free) }

// checkSize refuses what is too long to be looked at.
func checkSize(r *http.Request) error {
	if n := len(r.URL.Path) + len(r.URL.RawQuery); n > maxURL {
		return status(http.StatusRequestURITooLong, "", "the URL has %d bytes, the most are %d; POST /v1/objects:query takes longer queries", n, maxURL)
	}
	return nil
}
