package shape

// Live is how many targets and templates are kept.
func (m *Maker) Live() (targets, templates int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.lives), len(m.templates)
}
