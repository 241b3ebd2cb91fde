package check

import (
	"github.com/watchbench/watchbench/scenarios/history"
)

// window is a time in which a kind was not served.
type window struct{ from, to int64 }

// markServed keeps when a kind was not served. Its objects live on meanwhile and come
// back with their uids, although a watcher must take them for gone.
func (j *judge) markServed(m history.Mark) {
	if j.unseen == nil {
		j.unseen = make(map[string][]window)
	}
	all := j.unseen[m.Kind]
	open := len(all) > 0 && all[len(all)-1].to == endOfTime
	switch {
	case m.What == history.MarkUnserved && !open:
		j.unseen[m.Kind] = append(all, window{m.Time, endOfTime})
	case m.What == history.MarkServed && open:
		all[len(all)-1].to = m.Time
	}
}

// isUnserved reports whether the kind was not served at that time.
func (j *judge) isUnserved(kind string, at int64) bool {
	for _, w := range j.unseen[kind] {
		if at >= w.from && at < w.to {
			return true
		}
	}
	return false
}
