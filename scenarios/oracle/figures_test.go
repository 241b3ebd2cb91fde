package oracle

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answers are figures and verdicts by their path in a cell of results.json, such as
// "storage.qps": float64, string or bool. A path that is not there must not be published.
type answers map[string]any

func (a answers) number(path string, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		a[path] = v
	}
}

func (a answers) quantiles(path string, nanos []int64, unit float64) {
	if !strings.HasSuffix(path, "behindMs") { // the reader may well be the first
		nanos = slices.DeleteFunc(slices.Clone(nanos), func(v int64) bool { return v < -5e6 }) // no duration
	}
	for name, v := range quantiles(nanos, unit) {
		a[path+"."+name] = v
	}
	if len(nanos) > 0 {
		a[path+".hdr"] = histogram(nanos)
	}
}

// window is the load from the first dispatch to the last answer, and the last
// acknowledgement that belongs to it.
type window struct{ first, last int64 }

func (r *record) loadWindow() (w window) {
	for i := range r.ops {
		o := &r.ops[i]
		if o.Phase != "load" || o.Bystander || o.Type == "heartbeat" {
			continue
		}
		if w.first == 0 || o.Started < w.first {
			w.first = o.Started
		}
		w.last = max(w.last, o.Finished)
	}
	return w
}

const milli = 1e-3

func (r *record) loadFigures(a answers, w window) {
	l := r.cell.Scenario.Load
	a["load.model"] = l.Model
	if n := l.Warmup.Operations; n > 0 {
		a["load.warmupOperations"] = float64(n)
	}
	if l.Model == "open" {
		a["load.arrival"] = cmp.Or(l.Arrival, "constant")
		if l.Profile != "" {
			a["load.arrival"] = cmp.Or(l.Arrival, "poisson")
		}
	}
	if l.Model == "closed" {
		a["load.threads"] = float64(l.Threads)
	}
	var done, errors float64
	attempted := map[int64]bool{}
	var lag, fromIntent, fromActual []int64
	wrote := map[int]float64{}
	for i := range r.ops {
		o := &r.ops[i]
		if o.Phase != "load" || o.Bystander || o.Type == "heartbeat" {
			continue
		}
		attempted[o.ID] = true
		if o.Attempt == 0 {
			lag = append(lag, o.Started-o.Intended)
		}
		if !o.ok() {
			errors++
			continue
		}
		done++
		wrote[o.Shard]++
		fromIntent = append(fromIntent, o.Finished-o.Intended)
		fromActual = append(fromActual, o.Finished-o.Started)
	}
	for i := range r.cell.Generators {
		a["load.generators."+strconv.Itoa(i)] = wrote[i+1]
	}
	length := seconds(w.last - w.first)
	a.number("load.durationSeconds", length)
	a["load.done"], a["load.errors"] = done, errors
	a["load.planned"] = float64(r.cell.Planned)
	if r.cell.Planned == 0 {
		a["load.planned"] = float64(len(attempted))
	}
	a.number("load.qps", done/length)
	if length, err := time.ParseDuration(l.Duration); l.Model == "open" && err == nil {
		a.number("load.plannedQPS", a["load.planned"].(float64)/length.Seconds())
	}
	if l.Model == "open" && l.Profile == "" {
		a.number("load.offeredQPS", l.Rate)
	}
	a.quantiles("load.lagMs", lag, milli)
	a.quantiles("load.latencyIntendedMs", fromIntent, milli)
	a.quantiles("load.latencyActualMs", fromActual, milli)
}

func (r *record) freshness(a answers, changes []change) {
	var own, others []int64
	for _, c := range changes {
		switch {
		case c.stored == 0:
		case c.Bystander:
			others = append(others, c.stored-c.Intended)
		case slices.Contains(r.cell.Kinds, c.Kind):
			own = append(own, c.stored-c.Intended)
		}
	}
	a.quantiles("freshness", own, 1)
	a.quantiles("bystander.freshness", others, 1)
	if b := r.cell.Scenario.Load.Bystander; b != nil {
		a["bystander.kind"] = b.Kind
	}
}

// concurrency is the number of Pod requests that may be in flight: the watcher's, or the
// storage's capacity if that is less.
func (r *record) concurrency() float64 {
	w, c := r.cell.Scenario.Watcher, r.cell.Scenario.Storage.Capacity
	n := w.PodQueueNum
	if w.Strategy == "adaptive" { // it finds the number
		return nan
	}
	if w.Strategy == "single" {
		n = 1
	}
	if c.Inflight > 0 && (len(c.Kinds) == 0 || slices.Contains(c.Kinds, "Pod")) {
		n = min(n, c.Inflight)
	}
	return float64(n)
}

var meanText = regexp.MustCompile(`^(?:constant\(|\w+\(mean=)?([0-9.]+(?:ms|us|s))\)?(?:,p99=[^)]*\))?$`)

var mixText = regexp.MustCompile(`^mix\(([0-9.]+)=(\w+),([0-9.]+)=(\w+)\)$`)

// meanLatency reads the configured mean of a PUT of a Pod, in seconds, from a text such
// as "5ms" or "lognormal(mean=87ms,p99=110ms)"; NaN for other distributions.
func (r *record) meanLatency(t *testing.T) float64 {
	for _, rule := range strings.Split(r.cell.Scenario.Storage.Latency, ";") {
		who, what, selected := strings.Cut(rule, ":")
		if !selected {
			who, what = "", who
		}
		if selected && strings.Contains(who, "kind=") && !strings.Contains(who, "Pod") || strings.Contains(who, "method=") && !strings.Contains(who, "PUT") {
			continue
		}
		if _, mean, _, ok := configured(strings.TrimSpace(what)); ok {
			return mean
		}
		if b := mixText.FindStringSubmatch(strings.TrimSpace(what)); b != nil {
			fast, _ := time.ParseDuration(b[2])
			slow, _ := time.ParseDuration(b[4])
			v, w := share(t, b[1]), share(t, b[3])
			return (fast.Seconds()*v + slow.Seconds()*w) / (v + w)
		}
		if m := meanText.FindStringSubmatch(strings.TrimSpace(what)); m != nil {
			d, err := time.ParseDuration(m[1])
			if err != nil {
				t.Fatal(err)
			}
			return d.Seconds()
		}
		return nan
	}
	return 0
}

// during says that storage received the request between the first dispatch of the load,
// without the bystander's, and the end of the drain, or the cut.
func (r *record) during(q *request, w window) bool {
	return q.Received >= w.first && q.Received <= max(r.cell.DrainEnd, w.last)
}

// storedDigest hashes what storage held in the end; empty where the record has no contents.
func (r *record) storedDigest() string {
	return digest(slices.DeleteFunc(slices.Clone(r.states), func(s state) bool { return s.Side != "storage" }))
}

func digest(states []state) string {
	var lines []string
	for _, s := range states {
		if s.Content == "" {
			return ""
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\n", s.Kind, s.Namespace, s.Name, s.UID, s.Content))
	}
	if lines == nil {
		return ""
	}
	slices.Sort(lines)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, ""))))
}

func (r *record) storageFigures(t *testing.T, a answers, w window) {
	mean := r.meanLatency(t)
	a["storage.latencySpec"] = r.cell.Scenario.Storage.Latency
	if d := r.storedDigest(); d != "" && !r.cell.Cut {
		a["storage.digest"] = d
	}
	a.number("storage.latencyMeanMs", mean*1e3)
	if p50, _, p99, ok := configured(r.cell.Scenario.Storage.Latency); ok {
		a["storage.latencyP50Ms"], a["storage.latencyP99Ms"] = within{p50 * 1e3, 1e-6}, within{p99 * 1e3, 1e-6} // whole nanoseconds
	}
	var acks, served []int64
	requests, received, pods, bytes := 0.0, 0.0, 0.0, 0.0
	for i := range r.ledger {
		q := &r.ledger[i]
		if !q.mine() || !r.during(q, w) {
			continue
		}
		received++
		if q.acked() {
			requests++
		}
		if q.Kind != "Pod" {
			continue
		}
		pods++
		bytes += float64(q.Bytes)
		if q.acked() {
			acks = append(acks, q.Responded)
			served = append(served, q.Responded-q.Received)
		}
	}
	a["storage.requests"] = requests
	r.received = received
	a.quantiles("storage.latencyMs", served, milli)
	if len(served) > 0 {
		total := 0.0
		for _, v := range served {
			total += float64(v)
		}
		a.number("storage.latencyMeanSeenMs", total/float64(len(served))/1e6)
		// Where storage lets nobody wait, latency is as served.
		if c, n := r.cell.Scenario.Storage.Capacity, r.concurrency(); c.Rate == 0 && (c.Inflight == 0 || float64(c.Inflight) > n) {
			mean = six(total/float64(len(served))/1e6) / 1e3
		}
	}
	limit := r.concurrency() / mean
	r.limit = limit
	a.number("storage.limitQPS", limit)
	if len(acks) > 1 {
		qps := float64(len(acks)-1) / seconds(slices.Max(acks)-slices.Min(acks))
		a.number("storage.qps", qps)
		a.number("storage.efficiency", six(qps)/six(limit))
	}
	sum, _ := r.grown("bkbcs_k8swatch_storage_request_latency_time_sum", `resource_type="Pod"`, `status="success"`)
	count, known := r.grown("bkbcs_k8swatch_storage_request_latency_time_count", `resource_type="Pod"`, `status="success"`)
	if known {
		a.number("storage.latencyMeanWatcherMs", sum/count*1e3)
	}
	if received, known := r.grown("k8swatch_events_received_total", `kind="Pod"`); known && r.cell.Watcher.Restarts == 0 {
		a.number("storage.requestsPerEvent", pods/received)
		a.number("storage.bytesPerEvent", bytes/received)
	}
	if opened, known := r.grown("k8swatch_storage_connections_opened_total"); known && r.cell.Watcher.Restarts == 0 {
		a.number("storage.connectionsOpened", opened)
	}
}

// span is a time in which an object is owed to storage.
type span struct{ from, to int64 }

// owed lists for each Pod when storage was owed it, until end.
func owed(changes []change, end int64) map[key][]span {
	out := map[key][]span{}
	for _, c := range changes {
		if c.Kind != "Pod" || c.Bystander {
			continue
		}
		to := c.stored
		if to == 0 || to > end {
			to = end
		}
		if to > c.Finished {
			out[c.key()] = append(out[c.key()], span{c.Finished, to})
		}
	}
	return out
}

// backlog samples the beginning of each millisecond.
func (r *record) backlog(t *testing.T, a answers, changes []change, w window) {
	const ms = int64(time.Millisecond)
	start := w.first
	acks := map[int64]int{}
	last := int64(0)
	for i := range r.ledger {
		q := &r.ledger[i]
		if r.during(q, w) && q.mine() && q.acked() && q.Kind == "Pod" && q.Responded >= start {
			acks[(q.Responded-start)/ms]++
			last = max(last, q.Responded)
		}
	}
	end := r.cell.DrainEnd
	change := map[int64]int{} // by how many more objects are owed from this millisecond on
	for _, spans := range owed(changes, end) {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		counted := int64(0) // milliseconds below this are
		for _, s := range spans {
			from, to := max((s.from-start+ms-1)/ms, counted), (s.to-start+ms-1)/ms
			if from < to {
				change[from]++
				change[to]--
				counted = to
			}
		}
	}
	count, done, objects := 0, 0, 0
	for m := int64(0); m <= (end-start)/ms+1; m++ {
		if objects += change[m]; float64(objects) >= r.concurrency() {
			count++
			done += acks[m]
		}
	}
	if math.IsNaN(r.concurrency()) {
		return
	}
	a.number("storage.backlogSeconds", float64(count)/1e3)
	if mean := r.meanLatency(t); float64(count)/1e3 >= 10*mean {
		a.number("storage.efficiencyBacklog", float64(done)/(float64(count)/1e3)/six(r.limit))
	}
}

func (r *record) handlerFigures(a answers, changes []change, w window) {
	s := r.cell.Scenario.Watcher
	a["handler.strategy"] = s.Strategy
	if s.Profile == "legacy" {
		a["handler.strategy"] = s.Profile
	}
	a["handler.capacity"] = float64(s.HandlerQueueLen)
	a["handler.queues"], a["handler.workers"] = 1.0, 1.0
	switch s.Strategy {
	case "single":
	case "adaptive":
		a["handler.workers"] = 0.0
	case "partitioned":
		a["handler.queues"], a["handler.workers"] = float64(s.PodQueueNum), float64(s.PodQueueNum)
	default:
		a["handler.workers"] = float64(s.PodQueueNum)
	}
	a["writer.capacity"] = float64(s.WriterQueueLen)
	if full, known := r.grown("k8swatch_writer_full_seconds_total"); known {
		a.number("writer.fullSeconds", full)
	}
	end := int64(0)
	for _, c := range changes {
		if c.Kind == "Pod" && !c.Bystander {
			end = max(end, c.stored)
		}
	}
	depth, known := r.grown("k8swatch_queue_depth_seconds_total", `queue="Pod`)
	wait, _ := r.grown("k8swatch_queue_wait_seconds_total", `queue="Pod`)
	if known {
		a["handler.littleDiscrepancy"] = optional{math.Abs(depth-wait) / depth}
	}
	r.gap(a, changes)
	if !r.cell.Cut {
		a["handler.drainSeconds"] = seconds(end - w.first)
		a["handler.drainAfterLoadSeconds"] = max(0, seconds(end-w.last)) // storage had all before the last answer
		return
	}
	r.projection(a, changes, w)
}

// terminating says that storage acknowledged a state after the last that the op log
// has of a deleted object.
func (r *record) terminating(c *change) bool {
	return slices.ContainsFunc(r.ledger, func(q request) bool {
		return q.key() == c.key() && q.Method == "PUT" && q.UID == c.UID && q.acked() && q.ResourceVersion > c.ResourceVersion
	})
}

// gap is the shortest twentieth of the times from an answer to the next request for the same Pod with a state, not a
// deletion, that the API server had when that answer came.
func (r *record) gap(a answers, changes []change) {
	byKey := map[key][]*change{}
	for i := range changes {
		if c := &changes[i]; c.Kind == "Pod" && !c.Bystander && c.stored != 0 {
			byKey[c.key()] = append(byKey[c.key()], c)
		}
	}
	var gaps []int64
	for _, of := range byKey {
		for _, c := range of {
			last := int64(0)
			for _, other := range of {
				if other.stored <= c.arrived && other.stored > last {
					last = other.stored
				}
			}
			if !c.delete() && last != 0 && c.Finished <= last {
				gaps = append(gaps, c.arrived-last)
			}
		}
	}
	slices.Sort(gaps)
	if n := len(gaps); n >= 20 {
		a.number("handler.gapSeconds", seconds(gaps[n/20]))
	}
}

// projection counts the events that are still owed when the cell is cut. A deletion is
// two if storage has seen the terminating state.
func (r *record) projection(a answers, changes []change, w window) {
	var settled, owed, deletions, states, late, lateStates float64
	var firstAck, lastAck int64
	for i := range changes {
		c := &changes[i]
		if c.Kind != "Pod" || c.Bystander {
			continue
		}
		seen := c.delete() && r.terminating(c)
		if seen {
			settled++
		}
		switch {
		case c.stored != 0:
			settled++
			if firstAck == 0 || c.stored < firstAck {
				firstAck = c.stored
			}
			lastAck = max(lastAck, c.stored)
			if c.delete() {
				deletions++
			}
			if seen {
				states++
			}
		case c.delete():
			late++
			if seen {
				lateStates++
			}
		default:
			owed++
		}
	}
	each := 1.0
	if deletions > 0 {
		each = states / deletions
	}
	owed += late + math.Max(0, math.Round(late*each-lateStates))
	a["handler.owedEvents"] = owed
	a.number("cutFraction", settled/(settled+owed))
	if owed == 0 { // the Pods were done; other kinds were waited for
		a.number("handler.drainSeconds", seconds(lastAck-w.first))
		a.number("handler.drainAfterLoadSeconds", max(0, seconds(lastAck-w.last)))
		return
	}
	a["handler.drainProjected"] = true
	drain := seconds(r.cell.DrainEnd-w.first) + owed*seconds(lastAck-firstAck)/settled
	a.number("handler.drainSeconds", drain)
	a.number("handler.drainAfterLoadSeconds", drain-seconds(w.last-w.first))
}

func (r *record) identity(a answers) {
	c := &r.cell
	a["id"], a["repetition"] = c.ID, float64(c.Repetition)
	for k, v := range c.Params {
		a["params."+k] = v
	}
	if c.Cut {
		a["cut"] = true
	}
	for i, arg := range c.Watcher.Command {
		a["watcher.command."+strconv.Itoa(i)] = arg
	}
	if c.Watcher.Version != "" {
		a["watcher.version"] = c.Watcher.Version
	}
	if c.Watcher.ExitCode != nil {
		a["watcher.exitCode"] = float64(*c.Watcher.ExitCode)
	}
	if c.Watcher.Restarts > 0 {
		a["watcher.restarts"] = float64(c.Watcher.Restarts)
	}
	if c.Watcher.FirstSync != nil {
		a.number("watcher.firstSyncSeconds", *c.Watcher.FirstSync)
	}
	if c.Watcher.FirstSyncCPU != nil {
		a.number("watcher.firstSyncCPUSeconds", *c.Watcher.FirstSyncCPU)
	}
	last := int64(0)
	for i := range r.ledger {
		if q := &r.ledger[i]; q.acked() && q.Responded <= c.Watcher.Stored {
			last = max(last, q.Responded)
		}
	}
	if last > 0 {
		a.number("watcher.storedSeconds", seconds(last-c.Watcher.Started))
		a.number("watcher.storedCPUSeconds", *c.Watcher.StoredCPU)
	}
	for name, n := range c.StorageFaults {
		a["faults."+name] = float64(n)
	}
}

// compute is the whole oracle for one cell.
func compute(t *testing.T, r *record) answers {
	a := answers{}
	r.identity(a)
	w := r.loadWindow()
	changes := r.changes(r.cell.DrainEnd)
	r.loadFigures(a, w)
	r.freshness(a, changes)
	r.storageFigures(t, a, w)
	r.backlog(t, a, changes, w)
	r.pace(a, changes, w)
	r.handlerFigures(a, changes, w)
	r.watcherFigures(a, changes, w)
	r.eventFigures(a)
	r.checkFigures(a)
	r.readerFigures(a)
	r.readChecks(a)
	r.validity(t, a, w)
	r.ratios(t, a)
	r.series(a, changes, w)
	return a
}
