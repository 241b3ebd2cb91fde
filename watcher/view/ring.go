package view

// ring is the window of the last changes. It grows as it is filled.
type ring struct {
	changes []Change // a circle once it has its full length
	head    int      // of the oldest
	count   int
	bytes   int64
	last    uint64 // Seq of the last change
	// start is the Seq of the last change before the window of versions, and floor the oldest
	// version from which a reader of versions can go on.
	start, floor uint64
}

func (r *ring) push(c Change, most int, bytes int64) {
	r.last++
	c.Seq = r.last
	if r.count == len(r.changes) {
		r.grow(most)
	}
	if r.count == most {
		r.drop()
	}
	r.changes[(r.head+r.count)%len(r.changes)] = c
	r.count++
	r.bytes += weight(c)
	for r.bytes > bytes && r.count > 1 {
		r.drop()
	}
}

// weight is the size that a change keeps alive beyond the tree: the state before.
func weight(c Change) int64 {
	if c.Old == nil {
		return 0
	}
	return int64(c.Old.Size())
}

func (r *ring) grow(most int) {
	size := min(max(2*len(r.changes), 16), most)
	if size == len(r.changes) {
		return
	}
	bigger := make([]Change, size)
	for i := range r.count {
		bigger[i] = r.at(i)
	}
	r.changes, r.head = bigger, 0
}

func (r *ring) at(i int) Change { return r.changes[(r.head+i)%len(r.changes)] }

func (r *ring) drop() {
	c := r.at(0)
	if c.Seq > r.start {
		r.floor, r.start = max(r.floor, c.Version), c.Seq
	}
	r.bytes -= weight(c)
	r.changes[r.head] = Change{}
	r.head = (r.head + 1) % len(r.changes)
	r.count--
}

// reset expires all versions before that of a list. The changes stay for FollowAll.
func (r *ring) reset(version uint64) {
	r.floor, r.start = version, r.last
}

// oldest is the Seq of the oldest change that is kept, or of the next one.
func (r *ring) oldest() uint64 { return r.last - uint64(r.count) + 1 }

// after copies changes behind seq into buf. The caller has seen to it that they are there.
func (r *ring) after(seq uint64, buf []Change) []Change {
	for i := int(seq + 1 - r.oldest()); i < r.count && len(buf) < cap(buf); i++ {
		buf = append(buf, r.at(i))
	}
	return buf
}
