package watches

import (
	"errors"
	"slices"

	"github.com/watchbench/watchbench/watcher/collector"
)

// Unready returns the kinds of Config.Pinned whose first list is not complete, and a
// *collector.LostError for each that is lost. It leaves out what the pipeline collects and
// what the cluster does not serve; before that is known of one, it is unsynced.
func (w *Watches) Unready() (unsynced []GVR, lost []error) {
	pinned := map[string]bool{} // by key
	w.mu.Lock()
	for r, p := range w.pins {
		c, _ := w.pipelines(r)
		_, served := w.Served().Find(r)
		if !p.configured || c != nil || !served && w.learnt(r) {
			continue
		}
		pinned[r.String()] = true
		if s, ok := w.own.State(r.String()); !ok || !s.Synced {
			unsynced = append(unsynced, r)
		}
	}
	w.mu.Unlock()
	for _, err := range w.own.Lost() {
		if l, ok := errors.AsType[*collector.LostError](err); ok && pinned[l.Resource.Key()] {
			lost = append(lost, err)
		}
	}
	slices.SortFunc(unsynced, GVR.compare)
	return unsynced, lost
}
