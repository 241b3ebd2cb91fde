package synchronizer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// Storage reads bcs-storage. Put is for the record of the kinds alone.
type Storage interface {
	List(ctx context.Context, kind, namespace, fields string, limit, offset int) ([]storage.Record, error)
	Get(ctx context.Context, k object.Key, uid string) (storage.Record, bool, error)
	Put(ctx context.Context, o *object.Object) error
}

// Cache is the collector's side.
type Cache interface {
	// SyncedKinds are the kinds whose first list is complete.
	SyncedKinds() []string
	// UnsyncedKinds are the others that are watched.
	UnsyncedKinds() []string
	// Collected reports whether a kind is watched, synced or not.
	Collected(kind string) bool
	// OwnersListed reports whether everything is listed that decides about the annotations
	// with which objects of a kind are sent.
	OwnersListed(kind string) bool
	// ClusterScoped reports whether a kind is collected and has no namespaces.
	ClusterScoped(kind string) bool
	// Expected is the state that storage should hold; false where it should hold
	// none, because there is no such object or a filter keeps it back.
	Expected(object.Key) (*object.Object, bool)
	// Expectation identifies a record of that state without its body.
	Expectation(object.Key) (Expectation, bool)
	// Unreadable reports whether an object that is not expected may be one that is there and
	// cannot be read: its record must stay.
	Unreadable(object.Key) bool
	// ExpectedKeys are the keys of a kind that storage should hold.
	ExpectedKeys(kind string) []object.Key
	// Repair hands the object's latest state, or its deletion, which names the uid, to the pipeline.
	Repair(ctx context.Context, k object.Key, uid string) error
	// Remove hands over a deletion of what no object of a collected kind can be the cause of.
	Remove(ctx context.Context, k object.Key, uid string) error
}

// Expectation describes a record whose body is not read.
type Expectation struct {
	APIVersion  string // "": not known
	UID         string
	Version     uint64        // 0: cannot be compared
	Annotations []object.Pair // of the watcher's own
}

// Pipeline reports whether something is on its way to storage for an object.
type Pipeline interface {
	Pending(object.Key) bool
	// Refused reports whether storage refused the last event of an object.
	Refused(object.Key) bool
	// Trace notes, until end, the objects of a kind for which something is on its way.
	Trace(kind string) (touched func(object.Key) bool, end func())
	// Spare waits until another event of a kind holds up nothing else.
	Spare(ctx context.Context, kind string) error
	// Idle reports that nothing is on its way for any object.
	Idle() bool
	// RetireKind ends what is kept for a kind of which nothing is to be sent any more.
	RetireKind(kind string)
}

// Config of the Synchronizer.
type Config struct {
	Period      time.Duration // from the end of one comparison to the next
	Namespace   string        // the one namespace that is watched; "" is all
	PageSize    int           // records of the first page of a kind
	Concurrency int           // kinds read at a time
	QPS         float64       // pages read per second
	Reading     int           // records confirmed and repaired at a time, of all kinds
	// Selectors narrow what is watched, by the objects' own kind. What they do not select may be another watcher's.
	Selectors map[string]labels.Selector
	// Name is the record's in which the kinds are remembered. Watchers that share a
	// cluster by kinds should have one each; "" remembers nothing.
	Name string
	// Shard is the part of the objects that is this watcher's; zero: all.
	Shard Shard
	// Rules identify how objects are sent: if they differ from those by which storage
	// is known to be written, first lists are compared whole. "" never are.
	Rules string
}

// Shard is one of several parts.
type Shard struct {
	Of int // how many there are
	// Holds reports whether a record is of this part; nil: each is.
	Holds func(namespace, name, uid string) bool
	// ByUID says that the uid decides: other objects of the same name may be of other parts.
	ByUID bool
}

// Default has the original's page size; it compares every five minutes, the
// period that the original has in its code and never runs (contract §3).
func Default() Config {
	return Config{Period: 5 * time.Minute, PageSize: 500, Concurrency: 4, QPS: 100, Reading: 16}
}

// Settings are passed by code.
type Settings struct {
	Storage  Storage
	Cache    Cache
	Pipeline Pipeline
	// Complete reports whether all kinds are known that are to be collected: one that is
	// not among them has ended. Nil is never.
	Complete func() bool
	Registry prometheus.Registerer
	Logger   *slog.Logger
}

// Synchronizer is made by New and works in Run.
type Synchronizer struct {
	cfg     Config
	set     Settings
	lister  lister
	listing chan struct{} // size Concurrency: a token per kind being read
	reading chan struct{} // size Reading: a token for each record that is looked at
	round   atomic.Int64  // comparisons of all kinds
	memory  memory        // of the one goroutine that compares all kinds
	metrics *metrics
	running atomic.Bool
	differs func(suspect) // takes what differs, of several goroutines, instead of a repair; nil: see Audit

	register register
	named    atomic.Pointer[map[string]bool] // the kinds in the record; nil map: nobody is to wait for it

	kindStates
	wake  chan struct{} // size 1: one token says that a kind is not to wait for the period
	begun chan struct{} // size 1: one token says that a first list was taken over
}

// New starts nothing.
func New(cfg Config, set Settings) (*Synchronizer, error) {
	if cfg.PageSize < 2 || cfg.Concurrency < 1 || cfg.Reading < 1 || cfg.QPS <= 0 || cfg.Period <= 0 {
		return nil, fmt.Errorf("synchronizer: page size %d, concurrency %d of kinds and %d of records, rate %g and period "+
			"%s must be positive, and a page more than one record",
			cfg.PageSize, cfg.Concurrency, cfg.Reading, cfg.QPS, cfg.Period)
	}
	if set.Complete == nil {
		set.Complete = func() bool { return false }
	}
	m, err := newMetrics(set.Registry)
	if err != nil {
		return nil, err
	}
	s := &Synchronizer{
		cfg: cfg, set: set, metrics: m, lister: lister{
			set.Storage, cfg.Namespace, cfg.PageSize, rate.NewLimiter(rate.Limit(cfg.QPS), cfg.Concurrency),
		},
		listing: make(chan struct{}, cfg.Concurrency), reading: make(chan struct{}, cfg.Reading),
		memory: memory{asked: map[string]int{}, foreign: map[string]bool{}, removed: map[string]bool{},
			done: map[string]bool{}},
		kindStates: kindStates{of: map[string]*kindState{}}, wake: make(chan struct{}, 1), begun: make(chan struct{}, 1),
		register: register{name: cfg.Name, rules: cfg.Rules, pageSize: cfg.PageSize, storage: set.Storage, log: set.Logger,
			asking: make(chan struct{}, 1), asked: make(chan struct{})},
	}
	s.named.Store(&map[string]bool{})
	return s, nil
}

// Retire has whatever storage holds of a kind removed, as long as the kind is not watched. It begins soon.
func (s *Synchronizer) Retire(kind string) {
	s.with(kind, func(k *kindState) { k.retired = true })
	s.CompareSoon(kind)
}

// due returns the kinds to compare: the synced ones and the retired ones that did not come back, but
// for those whose first list is being dealt with, or was lately.
func (s *Synchronizer) due() []string {
	kinds := s.set.Cache.SyncedKinds()
	for _, kind := range s.those(func(k *kindState) bool { return k.retired }) {
		s.with(kind, func(k *kindState) {
			if k.retired = k.retired && !s.set.Cache.Collected(kind); k.retired {
				kinds = append(kinds, kind)
			}
		})
	}
	return slices.DeleteFunc(kinds, func(kind string) bool {
		k := s.state(kind)
		return !compared(kind) || k.lists > 0 || time.Since(k.dealt) < s.cfg.Period/2
	})
}

const (
	// settle is how long the first comparison waits for the kinds to sync, and the least pause between two.
	settle = time.Second
	// patience is how long before the period's end, at most half of it, a comparison
	// looks for a quiet moment: what is on its way would only look like a difference.
	patience = 30 * time.Second
	idlePoll = 100 * time.Millisecond
)

// Run compares until ctx ends. From the start of one comparison to that of the next it is at most one period. One that
// fails is logged and counted; the next one starts from nothing.
func (s *Synchronizer) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("synchronizer: Run called twice")
	}
	defer s.named.Store(new(map[string]bool)) // the pipeline drains
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { s.runFirsts(ctx) })
	due := time.NewTimer(settle)
	defer due.Stop()
	latest := time.Now().Add(settle + patience) // then it is compared, quiet or not
	evading := true                             // the first quiet moment before that will do
	var soon <-chan time.Time                   // of the next comparison out of turn; nil: none is due
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
			s.name(ctx)
			if soon == nil { // kinds that come before it fires share it
				soon = time.After(settle)
			}
		case <-soon:
			soon = nil
			if s.compareDue(ctx) {
				soon = time.After(settle)
			}
		case <-due.C:
			if left := time.Until(latest); left > 0 {
				switch idle := s.set.Pipeline.Idle(); {
				case !idle:
					evading = true
					due.Reset(min(left, idlePoll))
					continue
				case !evading: // nothing to evade: at the full period
					due.Reset(left)
					continue
				}
			}
			latest, evading = time.Now().Add(s.cfg.Period), false
			s.compare(ctx)
			due.Reset(max(settle, time.Until(latest)-min(patience, s.cfg.Period/2)))
		}
	}
}

// compare does one comparison, and logs and counts what became of it. Kinds whose first
// list is not complete follow as soon as it is.
func (s *Synchronizer) compare(ctx context.Context) {
	for _, kind := range s.set.Cache.UnsyncedKinds() {
		s.CompareSoon(kind)
	}
	forgot := s.remember(ctx)
	repaired, err := s.Once(ctx)
	err = errors.Join(forgot, err)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.metrics.runs.WithLabelValues("failure").Inc()
		s.set.Logger.Warn("comparison with storage was not complete", "error", err, "repairs", repaired)
	default:
		s.metrics.runs.WithLabelValues("success").Inc()
		s.metrics.last.SetToCurrentTime()
		s.set.Logger.Info("compared with storage", "repairs", repaired)
	}
}

// Once compares every synced kind, and the retired ones, and gives the number of repairs that were handed over.
func (s *Synchronizer) Once(ctx context.Context) (int, error) {
	var repaired atomic.Int64
	var mu sync.Mutex // guards failures
	var failures []error
	var g errgroup.Group
	s.round.Add(1)
	kinds := s.due()
	rand.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, kind := range kinds {
		g.Go(func() error {
			n, _, err := s.kind(ctx, kind)
			repaired.Add(int64(n))
			if err != nil {
				mu.Lock()
				failures = append(failures, fmt.Errorf("%s: %w", kind, err))
				mu.Unlock()
			}
			return nil // the other kinds go on
		})
	}
	_ = g.Wait()
	return int(repaired.Load()), errors.Join(failures...)
}

// compared reports whether a kind's records can be compared. Kubernetes Events are kept by age; an ExportService is
// in no list (contract §1.1), and the one read that finds it is not bcs-storage's own.
func compared(kind string) bool {
	return kind != bcsapi.KindEvent && kind != bcsapi.KindExportService
}
