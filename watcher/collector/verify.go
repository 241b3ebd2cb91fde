package collector

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

// Defaults of Verify.
const (
	DefaultVerifyPeriod = 30 * time.Minute
	DefaultVerifyGrace  = time.Minute
)

// Verify configures the comparison of the cache with the apiserver: a watch may silently lose a
// change, and an apiserver may be restored to an earlier state.
type Verify struct {
	// Period is the time between comparisons of a kind; 0 takes the default, a negative one
	// disables comparisons and version checks.
	Period time.Duration
	// Grace is how long the watch may take to deliver a change that a list shows before the
	// change counts as lost; 0 takes the default.
	Grace time.Duration
}

func (v Verify) withDefaults() Verify {
	if v.Period == 0 {
		v.Period = DefaultVerifyPeriod
	}
	if v.Grace <= 0 {
		v.Grace = DefaultVerifyGrace
	}
	return v
}

const (
	// doubtDelay, with up to as much jitter, passes between a sign of an older apiserver and
	// the check of its version, and bounds the rate of these checks per kind.
	doubtDelay = time.Second
	// confirmDelay separates the two answers that prove a restored apiserver.
	confirmDelay = 2 * time.Second
	// spreadAtMost bounds how long the pages of one comparison are spread out: an apiserver
	// keeps the state of a list for five minutes.
	spreadAtMost = 2 * time.Minute
	// maxSuspects bounds what one comparison remembers.
	maxSuspects = 10_000
)

var (
	errRestored = errors.New("the apiserver went back to an earlier version: " +
		"the cluster was restored or recreated; listing again")
	errEnough = errors.New("too many differences")
)

// verifier compares the cached objects of one kind with the apiserver.
type verifier struct {
	Verify
	resource Resource
	store    *store
	source   *source
	life     *life
	again    func() // ends the current list and watch
	// doubted has size 1: a token requests a version check.
	doubted chan struct{}
	quick   bool // in tests: hardly any delays
}

// doubt schedules a check of the apiserver's version.
func (v *verifier) doubt() {
	lifecycle.Signal(v.doubted)
}

// run compares until ctx ends.
func (v *verifier) run(ctx context.Context) {
	if v.Period < 0 {
		return
	}
	for v.sleep(ctx, time.Duration((0.5+rand.Float64()/2)*float64(v.Period))) == nil {
		if !v.store.renew.Load() && v.version(ctx) && v.life.error() == nil {
			v.compare(ctx)
		}
	}
}

// sleep waits, and runs version checks that doubt schedules meanwhile.
func (v *verifier) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-v.doubted:
			if err := v.pause(ctx, doubtDelay+rand.N(doubtDelay)); err != nil {
				return err
			}
			v.version(ctx)
		}
	}
}

func (v *verifier) pause(ctx context.Context, d time.Duration) error {
	if v.quick {
		d /= 100
	}
	return lifecycle.Pause(ctx, d)
}

// version compares the apiserver's version with the latest one seen of the kind, and lists the
// kind again if it is lower. It reports whether the objects may be compared.
func (v *verifier) version(ctx context.Context) bool {
	if !v.store.isSynced() || v.store.afresh.Load() {
		return false // it is being listed
	}
	seen := v.store.seen()
	at, err := v.ask(ctx)
	if err != nil || at >= seen {
		return err == nil
	}
	// A consistent read is never behind, so the apiserver was restored. Confirm that; a busy one
	// may overtake what was seen before the second answer.
	if v.pause(ctx, confirmDelay) != nil {
		return false
	}
	again, err := v.ask(ctx)
	if err != nil {
		v.doubt()
		return false
	}
	v.store.restored.Store(true) // the content decides
	if again >= seen {           // one answer was behind, or a restored one has passed what was seen
		v.store.logger.Warn("the apiserver answered with an earlier version once; listing again",
			"version", at, "seen", seen, "then", again)
		v.again()
		return false
	}
	v.life.refuse(ctx, errRestored)
	v.store.logger.Warn(errRestored.Error(), "version", at, "seen", seen)
	v.store.metrics.differences[DifferenceRestored].Inc()
	v.relist()
	return false
}

// ask returns the apiserver's version; an opaque one counts as the highest.
func (v *verifier) ask(ctx context.Context) (uint64, error) {
	v.store.metrics.verified.Inc()
	r := v.resource
	r.LabelSelector = "" // for which the apiserver might have to search all of etcd
	text, err := v.pages(ctx, r, 1, 0, func([]byte, *object.Meta, error) error { return nil })
	if err != nil {
		v.source.broken.Store(true) // the next watch asks again
		return 0, err
	}
	at, err := strconv.ParseUint(text, 10, 64)
	if err != nil || at == 0 {
		return math.MaxUint64, nil //nolint:nilerr // opaque
	}
	return at, nil
}

// relist ends the current list and watch; the next list is a consistent read.
func (v *verifier) relist() {
	v.store.afresh.Store(true)
	v.again()
}

// suspect is an object whose versions in a list and in the store differ.
type suspect struct {
	name
	was *object.Object // in the store; nil: none
}

// compare lists the metadata of all objects, and the kind again if the watch lost changes.
func (v *verifier) compare(ctx context.Context) {
	suspects, version, err := v.suspects(ctx)
	defer v.store.remember(false)
	if err != nil && !errors.Is(err, errEnough) {
		if ctx.Err() == nil {
			v.store.logger.Warn("cannot compare the cache with the apiserver", "error", err)
		}
		return
	}
	if len(suspects) == 0 {
		return
	}
	for waited := time.Duration(0); waited < v.Grace; waited += v.Grace / 20 {
		if v.sleep(ctx, v.Grace/20) != nil {
			return
		}
		if seen := v.store.seen(); version > 0 && seen >= version {
			break // the watch has caught up with the list
		}
	}
	left := slices.DeleteFunc(suspects, func(x suspect) bool { return !v.store.still(x) })
	if len(left) == 0 || v.life.error() != nil {
		return
	}
	v.store.logger.Warn("the watch lost changes; listing again", "objects", len(left), "first",
		left[0].namespace+"/"+left[0].name.name)
	v.store.metrics.differences[DifferenceLost].Inc()
	v.relist()
}

// suspects lists the kind and returns the objects that differ from the store without having
// changed there meanwhile, and the version of the list, 0 if that is opaque.
func (v *verifier) suspects(ctx context.Context) (all []suspect, version uint64, err error) {
	skipped := v.store.skipped.Load()
	pages := time.Duration(v.store.remember(true)/pageSize + 1)
	pause := max(pagePause, min(v.Period/2, spreadAtMost)/pages)
	add := func(x suspect) error {
		if all = append(all, x); len(all) == maxSuspects {
			return errEnough
		}
		return nil
	}
	v.store.metrics.verified.Inc()
	unread := map[name]bool{}
	each := func(b []byte, m *object.Meta, bad error) error {
		if bad != nil || m.Name == "" {
			unread[nameOf(newUnreadable(v.store.kind, m.Whole.Of(b), bad).obj.Key)] = true
			return nil
		}
		n := name{m.Namespace, m.Name}
		o, known := v.store.tickOff(n)
		if o != nil && !known || // changed since: the watch is working
			o != nil && o.UID == m.UID && o.ResourceVersion == m.Version() {
			return nil
		}
		return add(suspect{name{strings.Clone(n.namespace), strings.Clone(n.name)}, o})
	}
	text, err := v.pages(ctx, v.resource, 0, pause, each)
	version, _ = strconv.ParseUint(text, 10, 64) // 0 if it is opaque
	if err != nil {
		return all, version, err
	}
	if len(unread) == 0 {
		v.store.allRead(skipped)
	}
	for _, x := range v.store.missing() {
		if covers(unread, x.name) {
			continue // it may exist
		}
		if err = add(x); err != nil {
			break
		}
	}
	return all, version, err
}
