package apisim

import "context"

// AwaitReaders waits until no open watch of a resource is more than most changes behind, or ctx ends. Code that makes
// changes without a rate of its own calls it, lest the window passes the watches: their clients would list again and
// again, and measure nothing.
func (s *Server) AwaitReaders(ctx context.Context, resource string, most int) error {
	for {
		s.mu.Lock()
		k := s.kinds[resource]
		if k == nil || k.behind() <= most {
			s.mu.Unlock()
			return nil
		}
		if k.read == nil {
			k.read = make(chan struct{})
		}
		read := k.read
		s.mu.Unlock()
		select {
		case <-read:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (k *kind) behind() int {
	most := 0
	for x := range k.readers {
		most = max(most, int(k.next()-x.written))
	}
	return most
}

func (k *kind) notifyReaders() {
	if k.read != nil {
		close(k.read)
		k.read = nil
	}
}
