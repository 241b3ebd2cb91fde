package pipeline

// exchange is a request on its way.
type exchange struct {
	worker
	end, began int64
	number     int64 // in the order of beginning
	slot       *slot
	probe      bool
	err        error
}

func (f *exchange) before(o *exchange) bool {
	return f.end < o.end || f.end == o.end && f.number < o.number
}

// exchanges is a binary min-heap by the end.
type exchanges []exchange

func (h *exchanges) push(f exchange) {
	s := append(*h, f)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !f.before(&s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = f
	*h = s
}

func (h *exchanges) pop() exchange {
	s := *h
	top, n := s[0], len(s)-1
	last := s[n]
	s = s[:n]
	*h = s
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && s[c+1].before(&s[c]) {
			c++
		}
		if !s[c].before(&last) {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = last
	return top
}
