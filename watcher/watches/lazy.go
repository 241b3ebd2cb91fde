package watches

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/view"
)

const (
	tidyEvery = time.Second
	// crowdedFor is how long a kind is refused that ended because room was short: without it, two
	// that do not fit together would end each other with each query.
	crowdedFor = time.Minute
)

var (
	errIdle    = errors.New("nobody has used it for the configured time")
	errDropped = errors.New("the watch was dropped")
)

// lazy is a kind that is followed for readers only.
type lazy struct {
	kind    Kind
	key     string // in the collector
	view    *view.View
	within  bool         // the package follows it itself
	weighed atomic.Bool  // it fits; see weigh
	listed  atomic.Int64 // bytes of the first list so far

	holders int       // guarded by Watches.mu
	used    time.Time // guarded by Watches.mu; when somebody last took or left it
	lost    bool      // guarded by Watches.mu; it was logged that its watch is lost
	why     error     // set before gone is closed
	gone    chan struct{}
	done    chan struct{} // closed when it has ended: it may be started again
}

func (l *lazy) ended() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// idle reports whether nobody needs it. The caller holds mu.
func (w *Watches) idle(l *lazy) bool {
	_, pinned := w.pins[gvrOf(l.kind)]
	return !l.ended() && l.holders == 0 && !pinned && !l.within
}

func gvrOf(k Kind) GVR { return GVR{k.Group, k.Version, k.Name} }

// pin is why a kind does not end.
type pin struct {
	configured bool // or added at run time
	refused    bool // it was logged that a limit is in the way
}

// start follows a kind within the limits. The caller holds mu.
func (w *Watches) start(kind Kind, within bool) (*lazy, error) {
	r := gvrOf(kind)
	if !within {
		n, bytes := w.loaded()
		switch {
		case n >= w.config.MaxWatches:
			return nil, &LimitError{keyMaxWatches, int64(w.config.MaxWatches)}
		case bytes >= w.config.MaxBytes || time.Now().Before(w.crowded[r]):
			return nil, &LimitError{keyMaxBytes, w.config.MaxBytes}
		}
	}
	l := &lazy{kind: kind, key: r.String(), within: within, used: time.Now(), gone: make(chan struct{}),
		done: make(chan struct{})}
	res := kind.Resource
	res.KeyKind = l.key
	switch err := w.own.AddResource(res); {
	case errors.Is(err, collector.ErrEnded):
		return nil, &UnsyncedError{Err: errEnded}
	case err != nil:
		return nil, err
	}
	l.view = w.own.View(l.key)
	w.lazy[r] = l
	w.first.Store(l.key, l)
	w.metrics.started.Inc()
	w.logger.Info("following a kind for readers", "resource", l.key)
	return l, nil
}

// load is the number of kinds that are followed for readers, and the bytes of their
// objects.
func (w *Watches) load() (kinds int, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loaded()
}

// loaded is load; the caller holds mu. What the package follows itself does not count.
func (w *Watches) loaded() (kinds int, bytes int64) {
	for _, l := range w.lazy {
		if !l.within && !l.ended() {
			kinds++
			bytes += l.bytes()
		}
	}
	return kinds, bytes
}

// bytes returns the size of its objects; until the first list is complete, of what has come.
func (l *lazy) bytes() int64 {
	if !l.view.IsSynced() {
		return l.listed.Load()
	}
	return l.view.Stats().Bytes
}

// weighOften is how many times the room is checked while a first list fills it.
const weighOften = 32

// listing counts an object of a kind's first list, or its start if bytes is 0, and ends the kind
// once it is too large. All first lists together take no more of the processor than one reader.
func (w *Watches) listing(key string, bytes int) {
	found, ok := w.first.Load(key)
	if !ok {
		return
	}
	l := found.(*lazy)
	switch {
	case l.view.IsSynced():
		w.first.Delete(key)
		return
	case bytes == 0:
		l.listed.Store(0)
		return
	case l.ended(): // and so will the list in a moment
		time.Sleep(time.Millisecond)
		return
	}
	work := <-w.pace
	work.Step()
	w.pace <- work
	n, part := l.listed.Add(int64(bytes)), w.config.MaxBytes/weighOften+1
	if n/part == (n-int64(bytes))/part {
		return
	}
	w.mu.Lock()
	stopped, over := w.makeRoom()
	if _, pinned := w.pins[gvrOf(l.kind)]; over && !pinned && !l.within && !l.ended() {
		stopped = append(stopped, w.crowdOut(l))
	}
	w.mu.Unlock()
	if len(stopped) > 0 {
		w.ends.Go(func() { w.end(stopped) }) // which waits for the caller
	}
}

// stop marks a kind as ended because of why. The caller holds mu and calls end afterwards,
// without it.
func (w *Watches) stop(l *lazy, why error) *lazy {
	l.why = why
	close(l.gone)
	if unsynced, ok := errors.AsType[*UnsyncedError](why); ok && unsynced.Err != nil { // which waiting readers get
		why = unsynced.Err
	}
	w.logger.Info("no longer following a kind for readers", "resource", l.key, "reason", why)
	return l
}

// end ends what was stopped: readers at once, and then the watches.
func (w *Watches) end(stopped []*lazy) {
	for _, l := range stopped {
		l.view.End()
	}
	for _, l := range stopped {
		_ = w.own.RemoveResource(l.key) // it is there: nobody else removes it
		w.first.Delete(l.key)
		w.mu.Lock()
		delete(w.lazy, gvrOf(l.kind))
		w.mu.Unlock()
		close(l.done)
	}
}

// weigh looks at the room when the first list of a kind is complete. If it is too much
// though all idle ones have ended, the kind ends.
func (w *Watches) weigh(l *lazy) error {
	w.mu.Lock()
	if l.ended() {
		w.mu.Unlock()
		return l.why
	}
	var stopped []*lazy
	if !l.weighed.Swap(true) {
		var over bool
		stopped, over = w.makeRoom()
		if _, pinned := w.pins[gvrOf(l.kind)]; over && !pinned && !l.within {
			stopped = append(stopped, w.crowdOut(l))
		}
	}
	var err error
	if l.ended() {
		err = l.why
	}
	w.mu.Unlock()
	w.end(stopped)
	return err
}

// makeRoom stops idle kinds, the one that was used longest ago first, while there is too
// much, and reports whether there still is. The caller holds mu.
func (w *Watches) makeRoom() (stopped []*lazy, over bool) {
	_, bytes := w.loaded()
	if bytes <= w.config.MaxBytes {
		return nil, false
	}
	var idle []*lazy
	for _, l := range w.lazy {
		if w.idle(l) {
			idle = append(idle, l)
		}
	}
	slices.SortFunc(idle, func(a, b *lazy) int { return a.used.Compare(b.used) })
	for _, l := range idle {
		if bytes <= w.config.MaxBytes {
			break
		}
		bytes -= l.bytes()
		stopped = append(stopped, w.crowdOut(l))
	}
	return stopped, bytes > w.config.MaxBytes
}

func (w *Watches) crowdOut(l *lazy) *lazy {
	w.crowded[gvrOf(l.kind)] = time.Now().Add(crowdedFor)
	return w.stop(l, &LimitError{keyMaxBytes, w.config.MaxBytes})
}

// endUnserved ends the watches of kinds that are not served any more or are others now.
func (w *Watches) endUnserved() {
	w.mu.Lock()
	ended := w.sweep()
	w.mu.Unlock()
	w.end(ended)
}

// sweep stops the kinds that are not served any more, or are others under the same name: at
// once where a definition says so, else when the apiserver answers with 404, too. The
// caller holds mu.
func (w *Watches) sweep() (stopped []*lazy) {
	for r, l := range w.lazy {
		if l.within || l.ended() {
			continue
		}
		now, served := w.Served().Find(r)
		switch {
		case served && (now.Kind != l.kind.Kind || now.Namespaced != l.kind.Namespaced):
			stopped = append(stopped, w.stop(l, errAgain))
		case !served && (w.defined(r) || w.own.NotServed(l.key)):
			stopped = append(stopped, w.stop(l, ErrNotServed))
		}
	}
	return stopped
}

// tidy ends what nobody uses, keeps the limits, and starts what is pinned.
func (w *Watches) tidy(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for known := w.known; ; {
		w.tidyUp()
		select {
		case <-tick.C:
		case <-known: // what is pinned can start
			known = nil
		case <-ctx.Done():
			return
		}
	}
}

func (w *Watches) tidyUp() {
	w.startPinned()
	now := time.Now()
	lost := map[string]error{}
	for _, err := range w.own.Lost() {
		if l, ok := errors.AsType[*collector.LostError](err); ok {
			lost[l.Resource.Key()] = err
		}
	}
	w.mu.Lock()
	for r, until := range w.crowded {
		if now.After(until) {
			delete(w.crowded, r)
		}
	}
	stopped := w.sweep()
	for r, l := range w.lazy {
		switch err := lost[l.key]; {
		case err != nil && !l.lost:
			w.logger.Warn("watch for readers is lost", "resource", l.key, "error", err)
		case err == nil && l.lost:
			w.logger.Info("watch for readers goes on", "resource", l.key)
		}
		l.lost = lost[l.key] != nil
		if l.ended() || l.holders > 0 {
			continue
		}
		c, s := w.pipelines(r)
		switch {
		case w.idle(l) && now.Sub(l.used) >= time.Duration(w.config.TTL):
			stopped = append(stopped, w.stop(l, errIdle))
		case c != nil && s.Synced && !l.within:
			stopped = append(stopped, w.stop(l, errAgain))
		}
	}
	more, _ := w.makeRoom()
	w.mu.Unlock()
	w.end(append(stopped, more...))
}

// startPinned follows what is pinned and served, as far as the limits allow.
func (w *Watches) startPinned() {
	served := w.Served()
	w.mu.Lock()
	defer w.mu.Unlock()
	for r, p := range w.pins {
		if c, _ := w.pipelines(r); c != nil || w.lazy[r] != nil {
			continue
		}
		kind, ok := served.Find(r)
		if !ok {
			continue
		}
		if _, err := w.start(kind, false); err != nil && !p.refused {
			w.logger.Warn("a pinned kind is not followed", "resource", r.String(), "error", err)
			p.refused = true
		}
	}
}
