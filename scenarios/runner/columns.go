package runner

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/watchfault"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// columnChecks are the guarantees of each column of the fault matrix.
var columnChecks = map[string][]string{
	"C": {"G1", "G9", "G12"}, "O": {"G2", "G3", "G4", "G5", "G10", "G11"}, "L": {"G6", "G14"}, "B": {"G7"}, "I": {"G8"}, "S": {"G13"},
}

// conditionalChecks are judged only where a scenario gives them something to look at:
// a restart, tampering, a request of unknown outcome. The others of a column must be
// judged for it to pass.
var required = map[string][]string{"C": {"G1"}, "O": {"G2", "G3"}, "L": {"G6"}, "B": {"G7"}, "I": {"G8"}, "S": {"G13"}}

// minKeys is how many objects a fault must have hit to prove anything.
const minKeys = 3

// evidence is what the facts of a row are computed from.
type evidence struct {
	ops     []oplog.Record
	entries []ledger.Entry
}

// robustness fills the cell's row of the fault matrix after its checks were judged.
func (c *cellRun) robustness(cell *result.Cell) {
	if c.s.Fault == nil {
		return
	}
	facts := c.facts(cell)
	c.fillRow(cell, facts)
	c.notVacuous(cell)
}

func (c *cellRun) fillRow(cell *result.Cell, facts []result.Fact) {
	f := c.s.Fault
	row := &result.Robustness{
		Row: f.Row, Title: f.Title, Profile: c.s.Watcher.Profile, Columns: map[string]result.Column{},
		Facts: facts, Fired: map[string]int64{}, Keys: map[string]int64{},
	}
	if c.s.Watcher.Profile == profileLegacy {
		row.Expected = f.Legacy
	}
	for _, x := range c.fired {
		row.Fired[x.Name] += x.Fired
		row.Keys[x.Name] += x.Keys
	}
	if c.timeline != nil {
		for what, n := range c.timeline.fired {
			row.Fired[what] += n
		}
		for what, n := range c.timeline.keys {
			row.Keys[what] += n
		}
	}
	for _, col := range f.Assert {
		row.Columns[col] = column(col, cell.Checks, facts)
	}
	for _, col := range f.Measure {
		m := column(col, cell.Checks, facts)
		if m.Verdict != result.NotJudged || m.Value != "" {
			if m.Verdict == result.Fail && m.Value == "" {
				m.Value = "violated"
			}
			m.Verdict = result.Measured
		}
		row.Columns[col] = m
	}
	cell.Robustness = row
}

// column sums up one column: a failure decides; to pass, what the column is about must
// have been judged.
func column(col string, checks map[string]result.Check, facts []result.Fact) result.Column {
	out := result.Column{Verdict: result.NotJudged}
	judged, failed := 0, []string(nil)
	for _, g := range columnChecks[col] {
		switch x := checks[g]; x.Verdict {
		case result.Fail, result.Allowed:
			failed = append(failed, fmt.Sprintf("%s: %s", g, x.Counterexample))
		case result.Pass:
			judged++
		default:
			if slices.Contains(required[col], g) && !(col == "S" && hasFact(facts, col)) {
				out.Detail = fmt.Sprintf("%s was not judged: %s", g, x.Note)
			}
		}
	}
	for _, f := range facts {
		if f.Column != col {
			continue
		}
		if out.Value == "" {
			out.Value = factText(f)
		}
		if !f.OK {
			failed = append(failed, fmt.Sprintf("%s: %s%s", f.Name, factText(f), limitText(f)))
			continue
		}
		judged++
	}
	switch {
	case len(failed) > 0:
		out.Verdict, out.Detail = result.Fail, strings.Join(failed, "; ")
	case out.Detail != "":
	case judged > 0:
		out.Verdict = result.Pass
	default:
		out.Detail = "nothing was there to judge"
	}
	return out
}

// hasFact reports whether a column has figures of its own: a watcher that refused
// storage sent nothing in which to search.
func hasFact(facts []result.Fact, col string) bool {
	return slices.ContainsFunc(facts, func(f result.Fact) bool { return f.Column == col })
}

func factText(f result.Fact) string {
	v := fmt.Sprintf("%.4g", f.Value)
	if f.Unit != "" {
		v += " " + f.Unit
	}
	return v
}

func limitText(f result.Fact) string {
	s := ""
	if f.Limit != nil {
		s = fmt.Sprintf(", at most %.4g", *f.Limit)
	}
	if f.Detail != "" {
		s += " (" + f.Detail + ")"
	}
	return s
}

// notVacuous makes a cell invalid whose faults proved nothing.
func (c *cellRun) notVacuous(cell *result.Cell) {
	no := func(format string, args ...any) {
		cell.Valid = false
		cell.InvalidReasons = append(cell.InvalidReasons, fmt.Sprintf(format, args...))
	}
	for _, x := range c.fired {
		if x.Fired == 0 {
			no("the fault %s never fired", x.Name)
		}
	}
	for _, s := range c.s.Storage.FaultSpecs() {
		for _, x := range c.fired {
			if x.Name == s.Name && s.Effect != "refuse" && (s.Max == 0 || s.Max >= minKeys) && x.Fired > 0 && x.Keys < minKeys {
				no("the fault %s hit %d objects; at least %d are needed", x.Name, x.Keys, minKeys)
			}
		}
	}
	for col, x := range cell.Robustness.Columns {
		if x.Verdict == result.NotJudged && slices.Contains(c.s.Fault.Assert, col) {
			no("column %s could not be judged: %s", col, x.Detail)
		}
	}
	// Two reasons may be the same fact told by two rules.
	slices.Sort(cell.InvalidReasons)
	cell.InvalidReasons = slices.Compact(cell.InvalidReasons)
}

// bound completes the evidence for G7 and G8, which need the whole record.
func (c *cellRun) bound(ops []oplog.Record, entries []ledger.Entry, cell *result.Cell) error {
	c.evidence = evidence{ops, entries}
	f := c.s.Fault
	if f == nil {
		return nil
	}
	c.meta.Ceilings = c.ceilings()
	if base := c.r.opts.Baseline; base != nil && (slices.Contains(f.Assert, "I") || slices.Contains(f.Measure, "I")) {
		c.meta.Isolation = c.isolation(base, cell)
	}
	return check.SaveMeta(c.dir, c.meta)
}

// Ceilings that are derived where a scenario gives none.
const (
	// spareGoroutines covers requests under way and the servers' own.
	spareGoroutines = 120
	// returnGoroutines is what may be left of them.
	returnGoroutines = 5
	// overhead of one cached object or queued event beside its JSON.
	objectOverhead = 2 << 10
	cacheFactor    = 1.25
)

// ceilings are the scenario's, and derived ones where it gives none: resident memory
// is bounded by what it was before the load, the objects that can be cached at once,
// and the queues' capacity.
func (c *cellRun) ceilings() *check.Ceilings {
	s := c.s.Ceilings
	w := c.s.Watcher
	var rss, goroutines, sockets float64
	for _, x := range c.sampler.taken() {
		if x.At > c.loadStarted {
			break
		}
		if u, ok := x.Parties[measure.PartyWatcher]; ok {
			rss = max(rss, u.RSSBytes)
		}
		if x.Goroutines != nil {
			goroutines = *x.Goroutines
		}
		if x.Sockets != nil {
			sockets = max(sockets, *x.Sockets)
		}
	}
	size := float64(c.s.Load.ObjectBytes) + objectOverhead
	live := float64(measure.PeakLive(c.evidence.ops) + c.s.Extra.Namespaces*c.s.Extra.Pods)
	queue := min(float64(max(w.WriterQueueLen, leastWriterQueue)+w.HandlerQueueLen), float64(len(c.evidence.ops)))
	rss += cacheFactor*live*size + queue*size
	if s.RSS > 0 {
		rss = float64(s.RSS)
	}
	goroutines += spareGoroutines + float64(len(c.kinds)*w.PodQueueNum)
	if s.Goroutines > 0 {
		goroutines = float64(s.Goroutines)
	}
	// One connection per request in flight, and those that are being replaced.
	sockets += float64(2 * len(c.kinds) * w.PodQueueNum)
	if s.Sockets > 0 {
		sockets = float64(s.Sockets)
	}
	left := float64(returnGoroutines)
	if s.GoroutinesReturn > 0 {
		left = float64(s.GoroutinesReturn)
	}
	out := &check.Ceilings{RSSBytes: &rss, Goroutines: &goroutines, Sockets: &sockets, GoroutinesReturn: &left}
	if s.SlopePerMinute > 0 {
		percent := 100 * float64(s.SlopePerMinute)
		out.SlopePercentPerMinute, out.SlopeWindow = &percent, int64(s.SlopeWindow)
	}
	return out
}

// leastWriterQueue is what the watcher raises shorter Writer queues to, as the
// original does.
const leastWriterQueue = 10240

// leastBaseline is the freshness p99 below which a baseline is not taken as better:
// on a shared machine a few milliseconds are noise, and the row F0 itself may have
// twice this.
const leastBaseline = 0.125

// isolation compares the bystander kind, and the keys that no fault hit where the
// faults choose keys, with the undisturbed row.
func (c *cellRun) isolation(base, cell *result.Cell) *check.Isolation {
	calm := func(q *result.Quantiles) *result.Quantiles {
		if q == nil {
			return nil
		}
		x := *q
		x.HDR = ""
		x.P99 = max(x.P99, leastBaseline)
		return &x
	}
	bare := func(q *result.Quantiles) *result.Quantiles {
		if q == nil {
			return nil
		}
		x := *q
		x.HDR = ""
		return &x
	}
	out := &check.Isolation{
		Bystander: bare(cell.Bystander.Freshness), BystanderBaseline: calm(base.Bystander.Freshness), Factor: c.s.Fault.Isolation,
	}
	byKey := false
	for _, s := range c.s.Storage.FaultSpecs() {
		byKey = byKey || s.Key != "" || s.Keys < 1
	}
	if byKey {
		h := measure.FreshnessOfOthers(c.evidence.ops, c.evidence.entries, measure.NewAcks(c.evidence.entries))
		if q, err := h.Quantiles(measure.Seconds); err == nil {
			out.Others, out.OthersBaseline = bare(q), calm(base.Freshness)
		}
	}
	return out
}

// faultEnd is when the last fault of the cell ended, and whether that was before the
// end of the load.
func (c *cellRun) faultEnd() (end int64, windowed bool) {
	type window struct {
		from, length, every time.Duration
		max                 int
	}
	var all []window
	for _, s := range c.s.Storage.FaultSpecs() {
		all = append(all, window{s.From, s.For, s.Every, s.Max})
	}
	if specs, err := watchfault.Parse(c.s.Watch.FaultText()); err == nil {
		for _, s := range specs {
			all = append(all, window{s.From, s.For, s.Every, s.Max})
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	for _, w := range all {
		if w.length == 0 || w.every > 0 || w.max > 0 {
			return c.loadFinished, false
		}
		end = max(end, c.faultsSet+int64(w.from+w.length))
	}
	return min(end, c.loadFinished), end < c.loadFinished
}

// facts are what columns are judged by beside the guarantees.
func (c *cellRun) facts(cell *result.Cell) []result.Fact {
	var out []result.Fact
	add := func(f result.Fact) {
		f.Value = round3(f.Value)
		out = append(out, f)
	}
	within := func(col, name, unit string, v, limit float64) result.Fact {
		f := result.Fact{Column: col, Name: name, Unit: unit, Value: v, OK: true}
		if limit > 0 {
			f.Limit, f.OK = &limit, v <= limit
		}
		return f
	}
	row := c.s.Fault
	limit := row.Recovery.Std().Seconds()
	c.timeFacts(within, add, limit)
	c.amplificationFacts(within, add)
	c.orderFacts(add)
	c.lossFacts(add)
	if q := c.s.Ceilings.Queued; q > 0 {
		most := 0.0
		for _, x := range c.sampler.taken() {
			if x.QueueDepth != nil {
				most = max(most, *x.QueueDepth)
			}
		}
		add(within("B", "events queued", "events", most, float64(q)))
	}
	if q := cell.Bystander.Freshness; q != nil {
		add(result.Fact{Column: "I", Name: "bystander freshness p99", Unit: "s", Value: q.P99, OK: true})
	}
	return out
}

type bounded func(col, name, unit string, v, limit float64) result.Fact

func (c *cellRun) timeFacts(within bounded, add func(result.Fact), limit float64) {
	acks := measure.NewAcks(c.evidence.entries)
	acks.Learn(c.evidence.ops)
	if end, windowed := c.faultEnd(); windowed {
		if s, ok := measure.Recovery(c.evidence.ops, acks, end); ok {
			add(within("T", "recovery after the fault", "s", s, limit))
		}
	} else if end > 0 || len(c.s.Events) == 0 {
		longest := 0.0
		for _, op := range c.evidence.ops {
			if op.Phase != oplog.PhaseLoad || op.Type == oplog.TypeHeartbeat || !op.OK() {
				continue
			}
			if t, ok := acks.Of(op); ok {
				longest = max(longest, float64(t-op.Intended)/1e9)
			}
		}
		add(within("T", "longest delay of a change", "s", longest, limit))
	}
	if len(c.catchUps) > 0 && len(c.takeOvers) == 0 {
		add(within("T", "longest catch-up after a restart", "s", slices.Max(c.catchUps).Seconds(), limit))
	}
	for _, t := range c.takeOvers {
		f := within("T", "take-over by another replica", "s", t.took.Seconds(), limit)
		f.OK = f.OK && t.replaced
		add(f)
	}
	for _, t := range c.terminations {
		f := within("T", "end after SIGTERM", "s", t.took.Seconds(), (t.limit + exitTolerance).Seconds())
		f.Detail = fmt.Sprintf("drain limit %s, exit code %d", t.limit, t.code)
		f.OK = f.OK && !t.killed && t.code == 0
		if t.abandoned > 0 && t.took < t.limit-exitTolerance {
			f.OK, f.Detail = false, fmt.Sprintf("it gave up %d events before its drain limit of %s", t.abandoned, t.limit)
		}
		add(f)
	}
	if c.timeline.fired[spec.EventRotateCA] > 0 {
		if s, ok := measure.Recovery(c.evidence.ops, acks, c.lastEvent); ok {
			add(within("T", "recovery after the new CA", "s", s, limit))
		}
	}
	if s, n, ok := c.repairs(); ok {
		f := within("T", "longest repair of a row", "s", s, limit)
		f.Detail = fmt.Sprintf("%d rows", n)
		add(f)
	}
}

// repairs is the longest time that a row which was tampered with stayed so; ok is
// false if there was none.
func (c *cellRun) repairs() (seconds float64, rows int, ok bool) {
	for _, m := range c.marks {
		if m.What != check.MarkTamperAdd && m.What != check.MarkTamperEdit && m.What != check.MarkTamperRemove {
			continue
		}
		took := math.Inf(1)
		for _, e := range c.evidence.entries {
			if e.Kind == m.Kind && e.Namespace == m.Namespace && e.Name == m.Name && e.Took() && e.Applied >= m.Time && (e.Method == "DELETE") == (m.What == check.MarkTamperAdd) {
				took = float64(e.Applied-m.Time) / 1e9
				break
			}
		}
		rows++
		if math.IsInf(took, 1) {
			took = float64(c.scraped[1].UnixNano()-m.Time) / 1e9 // G12 says that it was never repaired
		}
		seconds = max(seconds, took)
	}
	return seconds, rows, rows > 0
}

func (c *cellRun) amplificationFacts(within bounded, add func(result.Fact)) {
	row := c.s.Fault
	until := c.scraped[1].UnixNano()
	attempts, states := measure.Attempts(c.evidence.entries, c.loadStarted, until)
	if states > 0 {
		add(within("A", "write attempts per state", "", float64(attempts)/float64(states), row.Amplification))
	}
	if row.PerStep {
		c.stepFacts(within, add)
	}
	if row.Lists != nil {
		most := 0.0
		for _, n := range c.after.By(metric.Relists, "kind") {
			most = max(most, n)
		}
		limit := float64(*row.Lists)
		add(result.Fact{Column: "A", Name: "lists of a kind after its first", Value: most, Limit: &limit, OK: most <= limit})
	}
	pauses := map[string]int64{}
	for _, s := range c.s.Storage.FaultSpecs() {
		if s.RetryAfter > 0 {
			pauses[s.Name] = int64(s.RetryAfter)
		}
	}
	if len(pauses) > 0 {
		const slack = int64(20e6) // between the mock's clock reading and the socket
		obeyed, disobeyed, first := measure.Disobeyed(c.evidence.entries, func(f string) int64 { return pauses[f] }, slack)
		zero := 0.0
		add(result.Fact{Column: "A", Name: "Retry-After disobeyed", Value: float64(disobeyed), Limit: &zero,
			OK: disobeyed == 0 && obeyed > 0, Detail: strings.TrimPrefix(fmt.Sprintf("%s, obeyed %d times", first, obeyed), ", ")})
	}
}

// stepFacts counts what a watcher tried while nobody listened. Its own counter is the
// only record of that; G14 holds the counter to the ledger where there is one.
func (c *cellRun) stepFacts(within bounded, add func(result.Fact)) {
	var down time.Duration
	for _, s := range c.s.Storage.FaultSpecs() {
		down += s.For
	}
	failed := func(s measure.Scrape) float64 {
		return value(s.Sum(metric.StorageRequests, "resource_type", podKind, "status", "failure"))
	}
	tried := failed(c.after) - failed(c.before)
	steps := backoffSteps(down)
	workers := c.s.Watcher.Concurrency()
	f := within("A", "attempts while storage was down", "", tried, float64(steps*workers))
	f.Detail = fmt.Sprintf("%d workers, %d steps in %s", workers, steps, down)
	f.OK = f.OK && tried > 0
	add(f)
}

// backoffSteps is how many steps of the backoff fit into a time at most: delays double
// from 100 ms to 5 s, and jitter may halve each.
func backoffSteps(in time.Duration) int {
	const first, longest = 100 * time.Millisecond, 5 * time.Second
	steps, at, d := 1, time.Duration(0), first
	for at+d/2 <= in {
		at += d / 2
		steps++
		d = min(2*d, longest)
	}
	return steps
}

// orderFacts: a name that the runner re-created must end with the uid of its last
// object.
func (c *cellRun) orderFacts(add func(result.Fact)) {
	if len(c.recreated) == 0 {
		return
	}
	last := map[objectID]string{}
	for _, r := range c.recreated {
		last[objectID{podKind, r.namespace, r.name}] = r.uid
	}
	wrong, first := 0.0, ""
	for id, uid := range last {
		have := ""
		for _, s := range c.drained.state {
			if idOf(s) == id {
				have = s.UID
			}
		}
		if have != uid {
			wrong++
			first = fmt.Sprintf("%s/%s ends with uid %q, its last object is %s", id.namespace, id.name, have, uid)
		}
	}
	zero := 0.0
	add(result.Fact{Column: "O", Name: "re-created names with a wrong uid", Value: wrong, Limit: &zero, OK: wrong == 0, Detail: first})
}

// lossFacts: what a watcher gave up when it was told to end is what its counters
// still had queued, and only one leader wrote at a time.
func (c *cellRun) lossFacts(add func(result.Fact)) {
	for _, t := range c.terminations {
		if !t.known {
			continue
		}
		// What was acknowledged after the last reading is no longer queued.
		var since int64
		for _, e := range c.evidence.entries {
			if e.Acked() && e.Responded >= t.read {
				since++
			}
		}
		f := result.Fact{Column: "L", Name: "events given up at the end", Unit: "events", Value: float64(t.abandoned)}
		f.OK = t.balanced && t.abandoned <= t.queued && t.abandoned >= t.queued-since
		f.Detail = fmt.Sprintf("%d were queued at the last reading", t.queued)
		add(f)
	}
	for _, t := range c.takeOvers {
		double := 0.0
		for _, e := range c.evidence.entries {
			if e.Instance == t.before && e.Received > t.killed+int64(100*time.Millisecond) ||
				e.Instance != t.before && e.Received < t.killed {
				double++
			}
		}
		zero := 0.0
		add(result.Fact{Column: "O", Name: "requests of a replica that did not lead", Value: double, Limit: &zero, OK: double == 0})
	}
}

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }
