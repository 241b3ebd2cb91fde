package runner

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
)

// exitSlack is how long beyond its drain limit a watcher may take to end after
// SIGTERM before it is killed and the run goes on.
const exitSlack = 10 * time.Second

// exitTolerance is how far the end may be from the drain limit.
const exitTolerance = 500 * time.Millisecond

// termination is how a watcher ended after SIGTERM.
type termination struct {
	took      time.Duration
	limit     time.Duration // its drain limit
	killed    bool          // it did not end
	code      int
	abandoned int64 // by its log
	// queued and sent are of the last reading of its metrics, which began at read.
	queued, sent int64
	read         int64
	balanced     bool // received = settled in that reading
	known        bool // there was a reading
}

// launch starts a watcher of the cell.
func (c *cellRun) launch(ctx context.Context, queues int) (*watcher, error) {
	s := c.s.Watcher
	if queues > 0 {
		s.PodQueueNum = queues
	}
	c.launched++
	name := "k8s-watch"
	if c.launched > 1 {
		name += "-" + strconv.Itoa(c.launched)
	}
	setup := watcherSetup{
		bin: c.r.opts.Binaries.Watcher, name: name, cell: c.dir, logs: c.logs, kubeconfig: c.kubeconfig(),
		endpoints: c.mock.endpoints, ignore: c.ignore, spec: s, kinds: c.s.Kinds(), masks: c.rules.Masks,
		conditional: c.s.Storage.Mode == check.ModeConditional,
	}
	if c.customs != nil {
		setup.customs = c.customs.groupVersions()
	}
	if c.certs != nil {
		setup.caFile = c.certs.caFile
	}
	if s.LeaderElection {
		setup.lease = c.lease()
		// Each replica has an instance of storage of its own, so that the ledger tells
		// who wrote.
		i := (c.launched - 1) % len(c.mock.endpoints)
		setup.endpoints = c.mock.endpoints[i : i+1]
		setup.instance = i
	}
	return startWatcher(ctx, setup)
}

// kubeconfig is the watcher's way to the apiserver.
func (c *cellRun) kubeconfig() string {
	if c.account != nil {
		return c.account.kubeconfig
	}
	if c.proxy != nil {
		return c.proxy.kubeconfig
	}
	return c.r.cluster.Kubeconfig
}

// begin starts the watcher that is judged and waits for its first lists.
func (c *cellRun) begin(ctx context.Context, queues int) error {
	c.mark(history.MarkStarted)
	c.started = time.Now()
	w, err := c.launch(ctx, queues)
	if err != nil {
		return err
	}
	c.take(w)
	if err := c.awaitReady(ctx, w); err != nil {
		return err
	}
	c.ready = time.Now()
	c.mark(history.MarkReady)
	return nil
}

// take makes w the watcher whose counters are read.
func (c *cellRun) take(w *watcher) {
	c.watcher = w
	c.live.Store(w)
}

func (c *cellRun) awaitReady(ctx context.Context, w *watcher) error {
	if !w.own {
		return nil
	}
	return w.await(ctx, "the watcher's readiness", 20*time.Millisecond, syncLimit, w.ready)
}

// restarted starts a watcher after the end of another and waits until storage has
// caught up with the cluster.
func (c *cellRun) restart(ctx context.Context, queues int) error {
	if err := c.begin(ctx, queues); err != nil {
		return err
	}
	c.restarts++
	took, why, err := c.caughtUp(ctx, c.started)
	if err != nil {
		return err
	}
	if why != "" {
		c.markNote(history.MarkDiverged, why)
	} else {
		c.markNote(history.MarkConverged, took.Round(time.Millisecond).String())
		c.catchUps = append(c.catchUps, took)
	}
	var errScrape error
	if c.before, errScrape = c.scrapeWatcher(ctx); errScrape != nil {
		return errScrape
	}
	return nil
}

// killWatcher ends it as the kernel would for want of memory.
func (c *cellRun) killWatcher() {
	c.mark(history.MarkKilled)
	c.watcher.kill()
	c.mark(history.MarkExited)
}

// terminate sends SIGTERM and follows the drain to its end.
func (c *cellRun) terminate(ctx context.Context, w *watcher) error {
	t := termination{limit: c.s.Watcher.DrainTimeout.Std()}
	c.mark(history.MarkTerminated)
	began := time.Now()
	w.signal(syscall.SIGTERM)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(t.limit + exitSlack)
	defer limit.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.done:
			ended = true
		case <-limit.C:
			t.killed = true
			w.kill()
		case <-tick.C:
			t.look(ctx, w)
		}
	}
	t.took = time.Since(began)
	t.code = w.exitCode()
	c.mark(history.MarkExited)
	t.abandoned = abandonedIn(w.log)
	c.terminations = append(c.terminations, t)
	return nil
}

// look reads the counters while the watcher still answers.
func (t *termination) look(ctx context.Context, w *watcher) {
	at := time.Now().UnixNano()
	s, err := w.scrape(ctx)
	if err != nil {
		return
	}
	if e := measure.EventsOf(s); e != nil {
		t.known, t.read, t.queued, t.sent = true, at, e.Queued, e.Sent
		t.balanced = e.Received == e.Sent+e.Coalesced+e.Filtered+e.Parked+e.Queued+e.Dropped
	}
}

// abandonedLine is what the watcher says of events it did not send.
var abandonedLine = regexp.MustCompile(`msg="events dropped" .*\bevents=(\d+)`)

// abandonedIn reads from a watcher's log what it gave up at its end.
func abandonedIn(log string) int64 {
	data, err := os.ReadFile(log)
	if err != nil {
		return 0
	}
	var n int64
	for _, m := range abandonedLine.FindAllSubmatch(data, -1) {
		if v, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
			n += v
		}
	}
	return n
}

// leads reports whether a replica works, by what it has received.
func leads(ctx context.Context, w *watcher) bool {
	s, err := w.scrape(ctx)
	return err == nil && value(s.Sum(metric.EventsReceived)) > 0
}

// startReplicas starts the other replicas beside the first.
func (c *cellRun) startReplicas(ctx context.Context) error {
	for range c.s.Watcher.Replicas - 1 {
		w, err := c.launch(ctx, 0)
		if err != nil {
			return err
		}
		c.others = append(c.others, w)
		if err := c.awaitReady(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// takeOver is a leader's end and its successor's beginning.
type takeOver struct {
	killed   int64
	before   int // instance of storage the former leader wrote to
	took     time.Duration
	replaced bool
}

// takeOverLimit bounds the wait for another replica to lead.
const takeOverLimit = 40 * time.Second

// killLeader kills the replica that leads and waits for another.
func (c *cellRun) killLeader(ctx context.Context) error {
	all := append([]*watcher{c.watcher}, c.others...)
	i := -1
	for j, w := range all {
		if leads(ctx, w) {
			i = j
		}
	}
	if i < 0 {
		return fmt.Errorf("kill the leader: none of the %d replicas has received anything (logs: %s)", len(all), c.logs)
	}
	t := takeOver{before: all[i].instance, killed: time.Now().UnixNano()}
	c.mark(history.MarkKilled)
	all[i].kill()
	c.others = nil
	for j, w := range all {
		if j != i {
			c.others = append(c.others, w)
		}
	}
	began := time.Now()
	deadline := began.Add(takeOverLimit)
	for time.Now().Before(deadline) && !t.replaced {
		for j, w := range c.others {
			if !leads(ctx, w) {
				continue
			}
			t.replaced, t.took = true, time.Since(began)
			c.others = append(c.others[:j:j], c.others[j+1:]...)
			// Its account begins with the end of the former leader. What that one had on
			// its way arrives at once; a successor takes longer to begin.
			c.marks = append(c.marks, history.Mark{Time: t.killed + int64(100*time.Millisecond), What: history.MarkStarted})
			c.take(w)
			c.started = began
			break
		}
		if !t.replaced {
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
	}
	c.takeOvers = append(c.takeOvers, t)
	if !t.replaced {
		c.markNote(history.MarkDiverged, fmt.Sprintf("no replica took over within %s", takeOverLimit))
		return &timeoutError{what: "the take-over by another replica", after: takeOverLimit, log: c.logs}
	}
	if err := c.awaitReady(ctx, c.watcher); err != nil {
		return err
	}
	c.ready = time.Now()
	c.mark(history.MarkReady)
	c.restarts++
	took, why, err := c.caughtUp(ctx, began)
	if err != nil {
		return err
	}
	if why != "" {
		c.markNote(history.MarkDiverged, why)
	} else {
		c.markNote(history.MarkConverged, took.Round(time.Millisecond).String())
		c.catchUps = append(c.catchUps, took)
	}
	c.before, err = c.scrapeWatcher(ctx)
	return err
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
