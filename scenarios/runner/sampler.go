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

// reading returns the use of a process so far; not ok if it does not exist or cannot be read.
type reading func(context.Context) (use history.Use, ok bool)

// metered is a process with metrics, as text and parsed.
type metered interface {
	Use(context.Context) (use history.Use, ok bool)
	Metrics(context.Context) ([]byte, history.Scrape, error)
}

// local reads a process of this machine.
func local(pid int) reading {
	p, _ := procstat.Open(pid) // nil is unknown
	return func(context.Context) (history.Use, bool) { return pod.UseOf(p) }
}

// sampler reads all parties periodically, from outside; the watcher only on request, as answers cost it CPU.
type sampler struct {
	parties map[string]*account // but the watchers
	// watchers are those that work now, lives all that did; short is the use of those that nobody saw.
	watchers func() []metered
	metrics  func(context.Context) ([]byte, history.Scrape, error) // of them all
	lives    []*life
	short    history.Use
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

// account sums a party's usage, so that figures after a restart cover all its processes.
type account struct {
	process      reading     // that it has now; nil where there is none
	former, last history.Use // by former ones; by this one at the last reading
}

// life is one watcher's process and what it had used at the last reading.
type life struct {
	metered
	account
	read bool // at the last reading
}

// turn goes over to a new process; nil is none. What the former ones used after their last reading is lost.
func (a *account) turn(process reading) {
	a.former, a.last, a.process = a.last.After(a.former), history.Use{}, process
}

// use returns the party's use so far, all its processes together.
func (a *account) use(ctx context.Context) (history.Use, bool) {
	if a.process == nil {
		return history.Use{}, false
	}
	use, ok := a.process(ctx)
	if ok {
		a.last = use
	}
	return use.After(a.former), ok
}

// newSampler has parties by name; one that cannot be read is left out, so that its figures are unknown rather than 0.
func newSampler(parties map[string]reading, w func() []metered, m metered) *sampler {
	s := &sampler{parties: map[string]*account{}, watchers: w, storage: m, period: samplePeriod, now: time.Now}
	s.metrics = func(ctx context.Context) ([]byte, history.Scrape, error) { return w()[0].Metrics(ctx) }
	for name, process := range parties {
		s.parties[name] = &account{process: process}
	}
	return s
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
func (s *sampler) read(ctx context.Context, ask bool) {
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
		return // a reading cut short by the end of the cell
	}
	s.mu.Lock()
	s.samples = append(s.samples, x)
	s.mu.Unlock()
	if s.show != nil && ask {
		text, _, _ = bytes.Cut(text, []byte(history.NextReplica))
		s.show(x, text, scrapeErr)
	}
}

// use reads all parties, at a time: those on other machines take a while. Of the watchers that work it gives the sum
// and, where several do, each.
func (s *sampler) use(ctx context.Context, into map[string]history.Use) {
	working := s.watchers()
	for _, w := range working {
		if s.life(w) == nil {
			s.lives = append(s.lives, &life{metered: w, account: account{process: w.Use}})
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex // guards into
	for name, a := range s.parties {
		all.Go(func() {
			if use, ok := a.use(ctx); ok {
				mu.Lock()
				defer mu.Unlock()
				into[name] = use
			}
		})
	}
	for _, l := range s.lives {
		l.last.RSSBytes, l.read = 0, !slices.Contains(working, l.metered)
		if !l.read {
			all.Go(func() { _, l.read = l.use(ctx) })
		}
	}
	all.Wait()
	sum := s.short
	for i, l := range s.lives {
		if !l.read {
			return
		}
		if len(working) > 1 && slices.Contains(working, l.metered) {
			into[history.Replica+strconv.Itoa(i+1)] = l.last
		}
		rss := sum.RSSBytes + l.last.RSSBytes
		sum = l.last.After(sum)
		sum.RSSBytes = rss
	}
	into[history.PartyWatcher] = sum
}

func (s *sampler) life(w metered) *life {
	if i := slices.IndexFunc(s.lives, func(l *life) bool { return l.metered == w }); i >= 0 {
		return s.lives[i]
	}
	return nil
}

// ended closes a watcher's account by what the kernel says it used, which includes lives too short for a reading.
func (s *sampler) ended(w metered, cpu time.Duration) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if l := s.life(w); l != nil {
		l.last.CPUSeconds, l.process = cpu.Seconds(), nil
		return
	}
	s.short.CPUSeconds += cpu.Seconds()
}

// restarted goes over to the new process of a party other than the watcher.
func (s *sampler) restarted(name string, pid int) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if a := s.parties[name]; a != nil {
		a.turn(local(pid))
	}
}

// latest is the number of goroutines in the last sample, nil where it is not known.
func (s *sampler) latest() *float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) == 0 {
		return nil
	}
	return s.samples[len(s.samples)-1].Goroutines
}

// taken returns the samples so far.
func (s *sampler) taken() []history.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]history.Sample(nil), s.samples...)
}

// clusterPIDs are the processes of a cluster's parts that are measured, by party.
func clusterPIDs(of map[string]int) map[string]int {
	pids := map[string]int{}
	for from, to := range map[string]string{
		"kube-apiserver": history.PartyAPIServer, "etcd": history.PartyEtcd,
		"kube-controller-manager": history.PartyControllerManager, "kube-scheduler": history.PartyScheduler,
		"kwok": history.PartyKwok,
	} {
		if pid := of[from]; pid > 0 {
			pids[to] = pid
		}
	}
	return pids
}
