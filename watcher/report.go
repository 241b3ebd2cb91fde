package watcher

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
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

type trouble struct {
	of     string // whose: an endpoint, a kind
	since  time.Time
	err    error
	tell   bool          // for long enough, and not a mere consequence of something else
	silent time.Duration // since the last sign of life; 0 where there is no such thing
}

// state is one sort of trouble and how the log speaks of it: one line for all that begins in one look, one
// for all that ends. Of recurring trouble the first four lines are logged, then one every two minutes.
type state struct {
	begins, ends string               // messages
	label        string               // of what trouble is of
	room         *rate.Limiter        // for lines that say that something begins
	said         map[string]time.Time // since when what a line has said is wrong
}

func newState(begins, ends, label string) *state {
	return &state{begins, ends, label, rate.NewLimiter(rate.Every(2*time.Minute), 4), map[string]time.Time{}}
}

// look compares what is wrong now with what was said. more are further attributes.
func (s *state) look(log *slog.Logger, now time.Time, all []trouble, more ...any) {
	wrong := map[string]bool{}
	var began, ended []string
	var first trouble
	for _, t := range all {
		wrong[t.of] = true
		if _, said := s.said[t.of]; t.tell && !said {
			if began = append(began, t.of); len(began) == 1 || t.since.Before(first.since) {
				first = t
			}
		}
	}
	if len(began) > 0 && s.room.AllowN(now, 1) {
		for _, t := range all {
			if slices.Contains(began, t.of) {
				s.said[t.of] = t.since
			}
		}
		attrs := append([]any{"for", now.Sub(first.since).Round(time.Millisecond), "error", first.err}, more...)
		if first.silent > 0 {
			attrs = append(attrs, "silent", first.silent.Round(time.Millisecond))
		}
		log.Warn(s.begins, append(s.whose(began), attrs...)...)
	}
	since := now
	for of, at := range s.said {
		if !wrong[of] {
			if ended = append(ended, of); at.Before(since) {
				since = at
			}
			delete(s.said, of)
		}
	}
	if len(ended) > 0 {
		attrs := append([]any{"after", now.Sub(since).Round(time.Millisecond)}, more...)
		log.Info(s.ends, append(s.whose(ended), attrs...)...)
	}
}

func (s *state) whose(names []string) []any {
	if s.label == "" {
		return nil
	}
	slices.Sort(names)
	return []any{s.label, strings.Join(names, ",")}
}

// reporter logs when storage, the apiserver or a kind goes and comes back. The parts themselves do not: of
// an outage each kind and each request would log a line.
type reporter struct{ *copying }

// Run reports until ctx ends.
func (r *reporter) Run(ctx context.Context) error {
	endpoints := newState("storage endpoint is down", "storage endpoint is up again", "endpoint")
	paced := newState("storage answers no write of a kind, sending is paced", "storage answers writes of the kind again",
		"kinds")
	apiserver := newState("apiserver does not answer", "apiserver answers again", "")
	watches := newState("watch is lost", "watch is back", "kinds")
	discovery := newState("some API groups are not watched", "all API groups are known again", "")
	r.warnUseless()
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
		waiting := []any{"waiting", r.pipeline.Stats().Queued}
		down := r.endpointTroubles(now)
		endpoints.look(r.log, now, down, waiting...)
		if len(down) > 0 {
			storageUp = now
		}
		paced.look(r.log, now, r.pacedTroubles(now, storageUp), waiting...)
		away, lost := r.watchTroubles(now, apiserverUp)
		if away != nil {
			apiserverUp = now
		}
		apiserver.look(r.log, now, away)
		watches.look(r.log, now, lost)
		var unknown []trouble
		if t := r.served.trouble(); t != nil {
			unknown = []trouble{{since: t.since, err: t.err, tell: away == nil && min(now.Sub(t.since),
				now.Sub(apiserverUp)) >= settles}}
		}
		discovery.look(r.log, now, unknown)
	}
}

func (r *reporter) endpointTroubles(now time.Time) (all []trouble) {
	for _, o := range r.platform.storage.Outages() {
		all = append(all, trouble{of: o.Endpoint, since: o.Since, err: o.Err, tell: now.Sub(o.Since) >= brief})
	}
	return all
}

// pacedTroubles are kinds that storage answers nothing of though it is there; storageUp is
// when an endpoint was last down.
func (r *reporter) pacedTroubles(now, storageUp time.Time) (all []trouble) {
	for _, p := range r.pipeline.Paced() {
		all = append(all, trouble{of: p.Kind, since: p.Since, err: p.Err, tell: min(now.Sub(p.Since),
			now.Sub(storageUp)) >= settles})
	}
	return all
}

// watchTroubles returns the apiserver's trouble, which is away if no kind is watched and one at
// least was not answered, and those of kinds. While the apiserver is away, and until the
// kinds have tried again, theirs are consequences; apiserverUp is when it was last away.
func (r *reporter) watchTroubles(now, apiserverUp time.Time) (apiserver, kinds []trouble) {
	failing := r.collector.States()
	if r.definitions != nil {
		failing = append(failing, r.definitions.States()...)
	}
	of := len(failing)
	failing = slices.DeleteFunc(failing, func(s collector.State) bool { return s.Failed == nil })
	silent := time.Duration(math.MaxInt64) // the apiserver as a whole
	for _, f := range failing {
		silent = min(silent, f.Silent)
		if len(failing) == of && !f.Refused() && (apiserver == nil || f.Since.Before(apiserver[0].since)) {
			apiserver = []trouble{{since: f.Since, err: f.Failed, tell: now.Sub(f.Since) >= brief}}
		}
	}
	if apiserver != nil {
		apiserver[0].silent = silent
	}
	for _, f := range failing {
		forbidden := apierrors.IsForbidden(f.Failed)
		if forbidden {
			f.Failed = fmt.Errorf("%w; \"k8s-watch rbac\" prints the rights it needs", f.Failed)
		}
		lost := forbidden || apierrors.IsUnauthorized(f.Failed) || f.Silent >= collector.LostAfter
		lost = lost && now.Sub(f.Since) >= together && (f.Refused() || now.Sub(apiserverUp) >= longestPause)
		kinds = append(kinds, trouble{f.Key, f.Since, f.Failed, lost && apiserver == nil, f.Silent})
	}
	return apiserver, kinds
}

// warnUseless logs what has nothing to apply to. What only the apiserver knows is left out unless
// all of it was learned.
func (r *reporter) warnUseless() {
	groups, complete := r.served.last()
	if !complete {
		groups = nil
	}
	useless, _ := r.useless(groups, r.collector.Resources())
	for _, entry := range useless {
		r.log.Warn(entry, "filter", r.cfg.FilterConfigPath)
	}
}
