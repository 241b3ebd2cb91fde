package query

import "net/http"

const (
	maxURL = 8 << 10 // bytes of a URL
	// maxWaiting is how many requests may wait for a first list or a version. They have a
	// connection and a goroutine each, and nothing to send yet.
	maxWaiting = 1000
)

// slots bound how many requests of one sort are served at once. Nothing queues: a
// request that finds none free is refused.
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

// place is the slot that a request has at the time: of those that are served or, meanwhile, of those that wait.
type place struct {
	serving, waiting slots
	aside            bool // it waits
	release          func()
}

// wait gives the slot to others until back. Watches have slots of their own, which they keep.
func (p *place) wait() error { return p.move(true, p.waiting) }

// back ends a wait. Without a free slot the request is refused, and the client retries.
func (p *place) back() error { return p.move(false, p.serving) }

func (p *place) move(aside bool, to slots) error {
	if p.aside == aside || p.waiting.free == nil {
		return nil
	}
	release, err := to.take()
	if err != nil {
		return err
	}
	p.release()
	p.release, p.aside = release, aside
	return nil
}

// lend frees the slot until back, while the request waits for a seat.
func (p *place) lend() {
	if p.waiting.free != nil && !p.aside {
		p.release()
		p.release, p.aside = func() {}, true
	}
}

func (s slots) inUse() int { return len(s.free) }

// checkSize refuses what is too long to be looked at.
func checkSize(r *http.Request) error {
	if n := len(r.URL.Path) + len(r.URL.RawQuery); n > maxURL {
		return status(http.StatusRequestURITooLong, "",
			"the URL has %d bytes, the most are %d", n, maxURL)
	}
	return nil
}
