package pipeline

// KindStats returns the counts of one kind; all zero for one never seen.
func (p *Pipeline) KindStats(kind string) Stats {
	l := (*p.lanes.Load())[kind]
	if l == nil {
		return Stats{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats()
}
