package watches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/view"
)

// errEnded is why nothing is opened after Run.
var errEnded = errors.New("the watcher ends")

// Settings are passed by code.
type Settings struct {
	Client *rest.Config // required
	// Collector is the configuration of the pipeline's collector: what is masked and stripped
	// there is so here. Its resources, namespace and filters do not apply.
	Collector collector.Config
	// Collected is the pipeline's collector, if there is one. A kind of which it has all objects
	// is read there, if it was made with a View.
	Collected *collector.Collector
	// Lookout says what the cluster serves, all of it, and is run elsewhere, with NotFound.
	Lookout  *collector.Lookout
	View     view.Config           // of the kinds that are followed here
	Registry prometheus.Registerer // nil: no metrics
	Logger   *slog.Logger          // nil: no logs
}

// Watches is made by New. Its methods may be called from several goroutines.
type Watches struct {
	served
	config    Config
	collected *collector.Collector // nil: none
	own       *collector.Collector

	ending chan struct{} // closed at the end of Run
	first  sync.Map      // key → *lazy: those whose first list is not complete
	soon   chan struct{} // size 1: a token asks for discovery
	full   chan struct{} // size 1: a token asks to make room

	pace chan *lifecycle.Work // size 1: the work of all first lists, or it is with one of them

	ran     atomic.Bool
	mu      sync.Mutex
	pins    map[GVR]*bool     // guarded by mu; what is pinned, and whether it was logged that a limit is in the way
	lazy    map[GVR]*lazy     // guarded by mu
	crowded map[GVR]time.Time // guarded by mu; refused until then because room was short
}

// New registers the metrics. Nothing is requested before Run.
func New(c Config, s Settings) (*Watches, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	w := &Watches{
		config: c, collected: s.Collected, ending: make(chan struct{}), pace: make(chan *lifecycle.Work, 1),
		soon: make(chan struct{}, 1), full: make(chan struct{}, 1), pins: map[GVR]*bool{},
		lazy: map[GVR]*lazy{}, crowded: map[GVR]time.Time{},
		served: served{logger: s.Logger, known: make(chan struct{}), lookout: s.Lookout},
	}
	w.catalogue.Store(&Catalogue{})
	w.pace <- new(lifecycle.BeginWork())
	for _, text := range c.Pinned {
		r, _ := ParseGVR(text) // valid, as c is
		w.pins[r] = new(bool)
	}
	w.deny, _ = parseDeny(c.Deny)
	cc := s.Collector
	cc.Resources, cc.Namespace, cc.IgnoreNamespaces, cc.IgnoreNames, cc.After, cc.Pack = nil, "", nil, nil, nil, true
	var err error
	w.own, err = collector.New(cc, collector.Settings{
		Client: s.Client, Sink: collector.Discard, Logger: s.Logger,
		View: func(collector.Resource) *view.View { return view.New(s.View) }, Listing: w.listing,
	})
	if err != nil {
		return nil, fmt.Errorf("watches: %w", err)
	}
	w.lookout.Tell(func(groups []collector.APIGroup, err error) time.Duration {
		pause := w.learn(groups, err)
		w.endUnserved()
		return pause
	})
	return w, w.register(s.Registry)
}

// Run follows what is asked for until ctx ends, and returns nil after all its goroutines
// have ended. What was opened before stays readable, and its cursors end.
func (w *Watches) Run(ctx context.Context) error {
	if w.ran.Swap(true) {
		return lifecycle.ErrRunTwice
	}
	var all sync.WaitGroup
	all.Go(func() { w.askVersion(ctx) })
	all.Go(func() { w.tidy(ctx) })
	err := w.own.Run(ctx)
	close(w.ending)
	all.Wait()
	w.mu.Lock()
	left := maps.Clone(w.lazy)
	w.mu.Unlock()
	for _, l := range left {
		l.view.End()
	}
	return err
}

// NotFound have a token when a list or watch was answered with 404, or somebody asked for a kind that is not known.
func (w *Watches) NotFound() []<-chan struct{} { return []<-chan struct{}{w.own.NotFound(), w.soon} }

func (w *Watches) register(reg prometheus.Registerer) error {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	return meter.Register(reg,
		gauge(metric.LazyWatches, "Kinds that are followed for readers only.", func() float64 {
			n, _ := w.load()
			return float64(n)
		}),
		gauge(metric.LazyBytes, "Bytes of the objects cached of those kinds.", func() float64 {
			_, b := w.load()
			return float64(b)
		}))
}
