package watcher

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/watcher/collector"
)

// Times of the reporter.
const (
	reportEvery = time.Second // a look
	// brief is how long something must have been wrong to be worth a line.
	brief = time.Second
	// together is how long a kind must have failed, so that those which fail for one reason
	// come on one line.
	together = 3 * time.Second
	// settles is how long something must have been wrong while storage, or the apiserver,
	// was there: after an outage the next write of a kind takes up to 5 s, the next look at
	// what the cluster serves up to 12 s.
	settles = 15 * time.Second
	// longestPause is a little more than that of a kind between two tries.
	longestPause = 75 * time.Second
)

// trouble is one thing that is wrong.
type trouble struct {
	of     string // whose: an endpoint, a kind
	since  time.Time
	err    error
	tell   bool          // for long enough, and not a mere consequence of something else
	silent time.Duration // since the last sign of life; 0 where there is no such thing
}

// state is one sort of trouble and how the log speaks of it: one line for all that begins
// in one look, one for all that ends.
type state struct {
	begins, ends string // messages
	label        string // of what trouble is of
	said         map[string]time.Time
}

// look compares what is wrong now with what was said. more are further attributes.
func (s *state) look(log *slog.Logger, now time.Time, all []trouble, more ...any) {
	if s.said == nil {
		s.said = map[string]time.Time{}
	}
	over := maps.Clone(s.said)
	var first trouble
	var began []string
	for _, t := range all {
		delete(over, t.of)
		if _, said := s.said[t.of]; said || !t.tell {
			continue
		}
		if s.said[t.of] = t.since; began == nil || t.since.Before(first.since) {
			first = t
		}
		began = append(began, t.of)
	}
	if began != nil {
		attrs := append([]any{"for", now.Sub(first.since).Round(time.Millisecond), "error", first.err}, more...)
		if first.silent > 0 {
			attrs = append(attrs, "silent", first.silent.Round(time.Millisecond))
		}
		log.Warn(s.begins, append(s.whose(began), attrs...)...)
	}
	if len(over) == 0 {
		return
	}
	since := now
	for of, at := range over {
		delete(s.said, of)
		if at.Before(since) {
			since = at
		}
	}
	attrs := append([]any{"after", now.Sub(since).Round(time.Millisecond)}, more...)
	log.Info(s.ends, append(s.whose(slices.Sorted(maps.Keys(over))), attrs...)...)
}

func (s *state) whose(names []string) []any {
	if s.label == "" {
		return nil
	}
	return []any{s.label, strings.Join(names, ",")}
}

// report logs when storage, the apiserver or a kind goes and comes back, until ctx ends.
// The parts themselves do not: of an outage each kind and each request would tell.
func (w *Watcher) report(ctx context.Context) error {
	endpoints := state{begins: "storage endpoint is down", ends: "storage endpoint is up again", label: "endpoint"}
	paced := state{begins: "storage answers no write of a kind, sending is paced", ends: "storage answers writes of the kind again", label: "kinds"}
	apiserver := state{begins: "apiserver does not answer", ends: "apiserver answers again"}
	watches := state{begins: "watch is lost", ends: "watch is back", label: "kinds"}
	discovery := state{begins: "some API groups are not watched", ends: "all API groups are known again"}
	w.warnUseless(ctx, w.collector.Load().Resources())
	var storageUp, apiserverUp time.Time // when they were last away
	ticks := time.NewTicker(reportEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		now := time.Now()
		var waiting []any
		if w.pipeline != nil {
			waiting = []any{"waiting", w.pipeline.Stats().Queued}
		}
		down := w.endpointTroubles(now)
		endpoints.look(w.log, now, down, waiting...)
		if len(down) > 0 {
			storageUp = now
		}
		if w.pipeline != nil {
			paced.look(w.log, now, w.pacedTroubles(now, storageUp), waiting...)
		}
		away, lost := w.watchTroubles(now, apiserverUp)
		if away != nil {
			apiserverUp = now
		}
		apiserver.look(w.log, now, away)
		watches.look(w.log, now, lost)
		var unknown []trouble
		if t := w.undiscovered.Load(); t != nil {
			unknown = []trouble{{since: t.since, err: t.err, tell: away == nil && min(now.Sub(t.since), now.Sub(apiserverUp)) >= settles}}
		}
		discovery.look(w.log, now, unknown)
	}
}

func (w *Watcher) endpointTroubles(now time.Time) (all []trouble) {
	for _, o := range w.storage.Outages() {
		all = append(all, trouble{of: o.Endpoint, since: o.Since, err: o.Err, tell: now.Sub(o.Since) >= brief})
	}
	return all
}

// pacedTroubles are kinds that storage answers nothing of though it is there; storageUp is
// when an endpoint was last down.
func (w *Watcher) pacedTroubles(now, storageUp time.Time) (all []trouble) {
	for _, p := range w.pipeline.Paced() {
		all = append(all, trouble{of: p.Kind, since: p.Since, err: p.Err, tell: min(now.Sub(p.Since), now.Sub(storageUp)) >= settles})
	}
	return all
}

// watchTroubles are that of the apiserver, which is away if no kind is watched and one at
// least was not answered, and those of kinds. While the apiserver is away, and until the
// kinds have tried again, theirs are consequences; apiserverUp is when it was last away.
func (w *Watcher) watchTroubles(now, apiserverUp time.Time) (apiserver, kinds []trouble) {
	failing, of := w.collector.Load().Failing()
	if w.definitions != nil {
		f, n := w.definitions.Failing()
		failing, of = append(failing, f...), of+n
	}
	silent := time.Duration(math.MaxInt64) // the apiserver as a whole
	for _, f := range failing {
		silent = min(silent, f.Silent)
		if len(failing) == of && !f.Refused && (apiserver == nil || f.Since.Before(apiserver[0].since)) {
			apiserver = []trouble{{since: f.Since, err: f.Err, tell: now.Sub(f.Since) >= brief}}
		}
	}
	if apiserver != nil {
		apiserver[0].silent = silent
	}
	for _, f := range failing {
		forbidden := apierrors.IsForbidden(f.Err)
		if forbidden {
			f.Err = fmt.Errorf("%w; \"k8s-watch rbac\" prints the rights it needs", f.Err)
		}
		lost := forbidden || apierrors.IsUnauthorized(f.Err) || f.Silent >= collector.LostAfter
		lost = lost && now.Sub(f.Since) >= together && (f.Refused || now.Sub(apiserverUp) >= longestPause)
		kinds = append(kinds, trouble{f.Key, f.Since, f.Err, lost && apiserver == nil, f.Silent})
	}
	return apiserver, kinds
}
