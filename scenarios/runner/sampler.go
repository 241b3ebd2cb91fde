package runner

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/pod"
)

// samplePeriod is short enough to show a drain of a few seconds, and costs less than 1 % of a CPU.
const samplePeriod = 250 * time.Millisecond

// podKind is the kind that the load writes.
const podKind = "Pod"

// podPeriod spaces the readings of Pods, each of which is a request through the API server and kubelet to the Pod's
// agent; see docs/in-cluster.md for what it costs.
const podPeriod = time.Second

// metered is a process with metrics, as text and parsed.
type metered interface {
	Use(context.Context) (use history.Use, ok bool)
	Metrics(context.Context) ([]byte, history.Scrape, error)
}

// joined reads the metrics of watchers that share the work: their texts, and all series together.
func joined(ctx context.Context, of []metered) (text []byte, all history.Scrape, err error) {
	all = history.Scrape{}
	for i, w := range of {
		one, s, err := w.Metrics(ctx)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 {
			text = append(text, history.NextReplica...)
		}
		text = append(text, one...)
		for name, points := range s {
			all[name] = append(all[name], points...)
		}
	}
	return text, all, nil
}

// life is one process of a party and what it had used at the last reading.
type life struct {
	of any // identifies it
	// use returns its use so far, not ok if it is gone or cannot be read; nil: it is known to have ended.
	use   func(context.Context) (use history.Use, ok bool)
	last  history.Use
	works bool // else it is not read any more
	known bool // last is all that it has used
}

// local reads a process of this machine.
func local(pid int) *life {
	p, _ := procstat.Open(pid) // nil is unknown
	return &life{of: pid, use: func(context.Context) (history.Use, bool) { return pod.UseOf(p) }}
}

// sampler reads all parties periodically, from outside; the watcher only on request, as answers cost it CPU.
type sampler struct {
	parties  map[string][]*life                                    // the processes that each has or had
	watchers func() []metered                                      // that work now
	metrics  func(context.Context) ([]byte, history.Scrape, error) // of those that are judged
	storage  metered
	asks     bool                                // each sample reads the watcher's metrics
	asked    func() float64                      // the requests to watchers so far; nil is unknown
	show     func(history.Sample, []byte, error) // each sample, with the watcher's metrics; nil shows nobody
	period   time.Duration
	away     bool             // the parties are on other machines, and this one's CPU says nothing of theirs
	now      func() time.Time // of the record

	turn    sync.Mutex // one reading at a time; guards what is above
	mu      sync.Mutex // guards samples
	samples []history.Sample
}

func newSampler(w func() []metered, m metered) *sampler {
	s := &sampler{parties: map[string][]*life{}, watchers: w, storage: m, period: samplePeriod, now: time.Now}
	s.metrics = func(ctx context.Context) ([]byte, history.Scrape, error) { return joined(ctx, w()[:1]) }
	return s
}

// work sets a party's processes. What former ones had used at their last reading stays in its figures.
func (s *sampler) work(party string, now ...*life) {
	for _, l := range s.parties[party] {
		l.works = slices.ContainsFunc(now, func(n *life) bool { return n.of == l.of })
	}
	for _, n := range now {
		if s.life(party, n.of) == nil {
			n.works = true
			s.parties[party] = append(s.parties[party], n)
		}
	}
}

func (s *sampler) life(party string, of any) *life {
	if i := slices.IndexFunc(s.parties[party], func(l *life) bool { return l.of == of }); i >= 0 {
		return s.parties[party][i]
	}
	return nil
}

// run samples until the context ends.
func (s *sampler) run(ctx context.Context) {
	tick := time.NewTicker(s.period)
	defer tick.Stop()
	for {
		s.sample(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sample takes one reading of everything.
func (s *sampler) sample(ctx context.Context) { s.read(ctx, s.asks) }

// read takes one reading. If ask is set, the watcher's metrics come last, so that their time does not count as a pause
// of this process.
func (s *sampler) read(ctx context.Context, ask bool) history.Sample {
	s.turn.Lock()
	defer s.turn.Unlock()
	x := history.Sample{Time: s.now().UnixNano(), Parties: map[string]history.Use{}}
	if s.asked != nil {
		x.Asked = new(s.asked())
	}
	if c, err := procstat.ReadCPUTime(); err == nil && !s.away {
		x.CPU = &history.CPU{Busy: c.Busy - c.Steal, Steal: c.Steal, Total: c.Total}
	}
	s.use(ctx, x.Parties)
	var text []byte
	var scrapeErr error
	if ask {
		var w history.Scrape
		if text, w, scrapeErr = s.metrics(ctx); scrapeErr == nil {
			x.QueueDepth = w.Sum(metric.EventsQueued, "kind", podKind)
			x.WriterDepth = w.Sum(metric.QueueDepth, "queue", metric.WriterQueueHandler)
			x.HandlerDepth = w.HandlerDepth(metric.QueueDepth, podKind)
			x.Goroutines = w.Sum("go_goroutines")
			x.Sockets = w.Sum("process_open_fds")
		}
	}
	if _, m, err := s.storage.Metrics(ctx); err == nil {
		x.StorageInFlight = m.Sum(metric.MockInFlight)
	}
	x.Until = s.now().UnixNano()
	if ctx.Err() != nil {
		return x // a reading cut short by the end of the cell
	}
	s.mu.Lock()
	s.samples = append(s.samples, x)
	s.mu.Unlock()
	if s.show != nil && ask {
		text, _, _ = bytes.Cut(text, []byte(history.NextReplica))
		s.show(x, text, scrapeErr)
	}
	return x
}

// use reads all parties at once: those on other machines take a while. One that cannot be read is left out, so that
// its figures are unknown rather than 0. Of several watchers that work it gives the sum and each.
func (s *sampler) use(ctx context.Context, into map[string]history.Use) {
	var working []*life
	for _, w := range s.watchers() {
		working = append(working, &life{of: w, use: w.Use})
	}
	s.work(history.PartyWatcher, working...)
	var all sync.WaitGroup
	for _, lives := range s.parties {
		for _, l := range lives {
			if l.last.RSSBytes, l.known = 0, !l.works; l.works && l.use != nil {
				all.Go(func() {
					if use, ok := l.use(ctx); ok {
						l.last, l.known = use, true
					}
				})
			}
		}
	}
	all.Wait()
	for party, lives := range s.parties {
		var sum history.Use
		for i, l := range lives {
			if party == history.PartyWatcher && len(working) > 1 && l.works && l.known {
				into[history.Replica+strconv.Itoa(i+1)] = l.last
			}
			rss := sum.RSSBytes + l.last.RSSBytes
			sum = l.last.After(sum)
			sum.RSSBytes = rss
		}
		if !slices.ContainsFunc(lives, func(l *life) bool { return !l.known }) {
			into[party] = sum
		}
	}
}

// ended closes a watcher's account by what the kernel says it used, which includes lives too short for a reading.
func (s *sampler) ended(w metered, cpu time.Duration) {
	s.turn.Lock()
	defer s.turn.Unlock()
	l := s.life(history.PartyWatcher, w)
	if l == nil {
		l = &life{of: w}
		s.parties[history.PartyWatcher] = append(s.parties[history.PartyWatcher], l)
	}
	l.last.CPUSeconds, l.use = cpu.Seconds(), nil
}

// cluster sets the processes of a cluster's parts.
func (s *sampler) cluster(pids map[string]int) {
	s.turn.Lock()
	defer s.turn.Unlock()
	for from, to := range map[string]string{
		"kube-apiserver": history.PartyAPIServer, "etcd": history.PartyEtcd,
		"kube-controller-manager": history.PartyControllerManager, "kube-scheduler": history.PartyScheduler,
		"kwok": history.PartyKwok,
	} {
		if pid := pids[from]; pid > 0 {
			s.work(to, local(pid))
		}
	}
}

// taken returns the samples so far.
func (s *sampler) taken() []history.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]history.Sample(nil), s.samples...)
}
