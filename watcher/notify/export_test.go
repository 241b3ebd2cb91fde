package notify

// Following reports whether every subscription has begun to follow changes.
func (n *Notifier) Following() bool {
	for _, s := range n.subs {
		if !s.followed.Load() {
			return false
		}
	}
	return true
}
