package watches

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/view"
)

const (
	tidyEvery = time.Second
	// crowdedFor is how long a kind is refused that ended because room was short: without it, two
	// that do not fit together would end each other with each query.
	crowdedFor = time.Minute
)

var errIdle = errors.New("nobody has used it for the configured time")

type lazy struct {
	kind    Kind
	key     string // in the collector
	view    *view.View
	weighed atomic.Bool  // it was looked at whether it fits
	listed  atomic.Int64 // bytes of the first list so far

	holders int       // guarded by Watches.mu
	used    time.Time // guarded by Watches.mu; when somebody last took or left it
	lost    bool      // guarded by Watches.mu; it was logged that its watch is lost
	why     error     // set before gone is closed
	gone    chan struct{}
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
func (w *Watches) idle(l *lazy) bool { return !l.ended() && l.holders == 0 && !w.pinned(GVROf(l.kind)) }

func (w *Watches) pinned(r GVR) bool { return w.pins[r] != nil }

// start follows a kind within the limits. The caller holds mu.
func (w *Watches) start(kind Kind) (*lazy, error) {
	r := GVROf(kind)
	n, bytes := w.loaded()
	switch {
	case n >= w.config.MaxWatches:
		return nil, &LimitError{keyMaxWatches, int64(w.config.MaxWatches)}
	case bytes >= w.config.MaxBytes || time.Now().Before(w.crowded[r]):
		return nil, &LimitError{keyMaxBytes, w.config.MaxBytes}
	}
	l := &lazy{kind: kind, key: r.String(), used: time.Now(), gone: make(chan struct{})}
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
	w.logger.Info("following a kind for readers", "resource", l.key)
	return l, nil
}

// load is the number of kinds that are followed for readers, and the bytes of their objects.
func (w *Watches) load() (kinds int, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loaded()
}

// loaded is load; the caller holds mu.
func (w *Watches) loaded() (kinds int, bytes int64) {
	for _, l := range w.lazy {
		if !l.ended() {
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

// listing counts an object of a kind's first list, or its start if bytes is 0. All first lists together
// take no more of the processor than one reader.
func (w *Watches) listing(key string, bytes int) {
	found, ok := w.first.Load(key)
	if !ok {
		return
	}
	l := found.(*lazy)
	switch {
	case l.view.IsSynced():
		w.first.Delete(key)
	case bytes == 0:
		l.listed.Store(0)
	case l.ended(): // and so will the list in a moment
		time.Sleep(time.Millisecond)
	default:
		work := <-w.pace
		work.Step()
		w.pace <- work
		if n := l.listed.Add(int64(bytes)); n > w.config.MaxBytes && n-int64(bytes) <= w.config.MaxBytes {
			lifecycle.Signal(w.full)
		}
	}
}

// stop marks a kind as ended because of why. The caller holds mu and calls end afterwards, without it.
func (w *Watches) stop(l *lazy, why error) *lazy {
	l.why = why
	close(l.gone)
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
		delete(w.lazy, GVROf(l.kind))
		w.mu.Unlock()
	}
}

// weigh looks at the room when the first list of a kind is complete. If it is too much
// though all idle ones have ended, the kind ends.
func (w *Watches) weigh(l *lazy) error {
	w.mu.Lock()
	var stopped []*lazy
	if !l.weighed.Swap(true) {
		stopped = w.makeRoom(l)
	}
	ended := l.ended()
	w.mu.Unlock()
	w.end(stopped)
	if ended {
		return l.why
	}
	return nil
}

// makeRoom stops idle kinds, the one that was used longest ago first, and then the newest, while there is
// too much. The caller holds mu.
func (w *Watches) makeRoom(newest ...*lazy) (stopped []*lazy) {
	_, bytes := w.loaded()
	if bytes <= w.config.MaxBytes {
		return nil
	}
	var idle []*lazy
	for _, l := range w.lazy {
		if w.idle(l) && !slices.Contains(newest, l) {
			idle = append(idle, l)
		}
	}
	slices.SortFunc(idle, func(a, b *lazy) int { return a.used.Compare(b.used) })
	for _, l := range append(idle, newest...) {
		if bytes > w.config.MaxBytes && !l.ended() && !w.pinned(GVROf(l.kind)) {
			bytes -= l.bytes()
			w.crowded[GVROf(l.kind)] = time.Now().Add(crowdedFor)
			stopped = append(stopped, w.stop(l, &LimitError{keyMaxBytes, w.config.MaxBytes}))
		}
	}
	return stopped
}

// endUnserved ends the watches of kinds that are not served any more or are others now.
func (w *Watches) endUnserved() {
	w.mu.Lock()
	ended := w.sweep()
	w.mu.Unlock()
	w.end(ended)
}

// sweep stops the kinds that are others under the same name now, or are not served any more, once the
// apiserver answers with 404, too. The caller holds mu.
func (w *Watches) sweep() (stopped []*lazy) {
	for r, l := range w.lazy {
		if l.ended() {
			continue
		}
		now, served := w.Served().Find(r)
		switch {
		case served && (now.Kind != l.kind.Kind || now.Namespaced != l.kind.Namespaced):
			stopped = append(stopped, w.stop(l, errAgain))
		case !served && w.own.NotServed(l.key):
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
		case <-w.full:
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
		case c != nil && s.Synced:
			stopped = append(stopped, w.stop(l, errAgain))
		}
	}
	var listing []*lazy
	for _, l := range w.lazy {
		if !l.ended() && !l.view.IsSynced() {
			listing = append(listing, l)
		}
	}
	stopped = append(stopped, w.makeRoom(listing...)...)
	w.mu.Unlock()
	w.end(stopped)
}

func (w *Watches) startPinned() {
	served := w.Served()
	w.mu.Lock()
	defer w.mu.Unlock()
	for r, refused := range w.pins {
		if c, _ := w.pipelines(r); c != nil || w.lazy[r] != nil {
			continue
		}
		kind, ok := served.Find(r)
		if !ok {
			continue
		}
		if _, err := w.start(kind); err != nil && !*refused {
			w.logger.Warn("a pinned kind is not followed", "resource", r.String(), "error", err)
			*refused = true
		}
	}
}
