package virtual

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

func synced(period time.Duration) func(*config.Config, *config.Filter) {
	return func(c *config.Config, _ *config.Filter) {
		c.Synchronizer.Disabled, c.Synchronizer.Period = false, config.Duration(period)
	}
}

func everything(oplog.Record) bool { return true }

const (
	kindsServed = 8
	// maxWatchBackoff is client-go's longest pause between two lists, with its jitter.
	maxWatchBackoff = 60 * time.Second
)

// freshWithin bounds how long any change took to reach storage.
func freshWithin(d time.Duration) map[rune]func(*outcome) error {
	return map[rune]func(*outcome) error{'T': func(o *outcome) error {
		if _, worst := o.freshness(everything); worst > d {
			return fmt.Errorf("a change took %s to reach storage, want %s", worst, d)
		}
		return nil
	}}
}

// within bounds how long after the end of the faults storage is equal. The look at it is every half a second.
func within(d time.Duration) map[rune]func(*outcome) error {
	return map[rune]func(*outcome) error{'T': func(o *outcome) error { return o.recovered(d) }}
}

func (o *outcome) recovered(d time.Duration) error {
	if took := o.settled.Sub(o.healed); o.settled.IsZero() || took > d+time.Second {
		return fmt.Errorf("recovered after %s, want %s", took, d)
	}
	return nil
}

// writes are the requests that came before storage had settled.
func (o *outcome) writes() (n int) {
	for _, e := range o.entries {
		if e.Received >= o.began.UnixNano() && e.Received <= o.settled.UnixNano() {
			n++
		}
	}
	return n
}

// changes are the operations that must reach storage, but for merging.
func (o *outcome) changes() (n int) {
	for _, r := range o.ops {
		if r.Phase == oplog.PhaseLoad && r.Namespace != ignored && r.Type != oplog.TypeHeartbeat && (r.Kind != "Event" || r.Type != oplog.TypeDelete) {
			n++
		}
	}
	return n
}

func (o *outcome) perChange() float64 { return float64(o.writes()) / float64(o.changes()) }

func merge(maps ...map[rune]func(*outcome) error) map[rune]func(*outcome) error {
	all := map[rune]func(*outcome) error{}
	for _, m := range maps {
		for k, f := range m {
			all[k] = f
		}
	}
	return all
}

// isolated: what the fault does not concern takes at most twice as long as in the
// same history without the fault, and a moment.
func isolated(concerned func(oplog.Record) bool, baseline setup) map[rune]func(*outcome) error {
	return map[rune]func(*outcome) error{'I': func(o *outcome) error {
		others := func(r oplog.Record) bool { return !concerned(r) }
		p99, _ := o.freshness(others)
		base := o.setup
		base.storage, base.watch, base.latency, base.hooks, base.touch = baseline.storage, baseline.watch, baseline.latency, nil, false
		was, _ := o.baseline(base).freshness(others)
		if p99 > 2*was+time.Millisecond {
			return fmt.Errorf("p99 of the others %s, without the fault %s", p99, was)
		}
		return nil
	}}
}

func relistsAtMost(limit func(*outcome) int64) map[rune]func(*outcome) error {
	return map[rune]func(*outcome) error{'A': func(o *outcome) error {
		var n int64
		for _, k := range o.relists {
			n += k
		}
		if most := limit(o); n > most {
			return fmt.Errorf("%d relists, want at most %d: %v", n, most, o.relists)
		}
		return nil
	}}
}

// firings of the faults whose text begins so.
func (o *outcome) firings(prefix string) (n int64) {
	for _, f := range o.fired {
		if strings.HasPrefix(f.Spec, prefix) {
			n += int64(f.Fired)
		}
	}
	return n
}

func allRows() []row {
	return append(slices.Concat(storageRows(), watchRows()), twoWatchers())
}

func storageRows() []row {
	return []row{
		{id: "F0", asserted: "COLBATS", variants: []variant{
			{name: "200 changes a second", setup: setup{span: 1500 * time.Millisecond}, plain: true, check: merge(within(2*time.Second), map[rune]func(*outcome) error{
				'T': func(o *outcome) error {
					if p99, _ := o.freshness(everything); p99 > 250*time.Millisecond {
						return fmt.Errorf("p99 from change to storage %s, want 250ms", p99)
					}
					return nil
				},
				'A': func(o *outcome) error {
					if n := o.perChange(); n > 1.02 {
						return fmt.Errorf("%.3f writes per change, want 1.02", n)
					}
					return nil
				},
			})},
			{name: "tampering", setup: setup{span: 30 * time.Second, edit: synced(10 * time.Second), after: tamperThree}, check: map[rune]func(*outcome) error{
				'C': func(o *outcome) error {
					if c := o.verdict.Checks["G12"]; c.Verdict != result.Pass {
						return fmt.Errorf("G12 %s: %s %s", c.Verdict, c.Counterexample, c.Note)
					}
					return general('C', o)
				},
			}},
		}},
		{id: "F1", asserted: "COLBI", variants: latencies()},
		{id: "F2", asserted: "COLBATS", variants: refusals()},
		{id: "F2b", asserted: "COLT", variants: startsDown()},
		{id: "F3", asserted: "COLBIAT", variants: []variant{
			{name: "all", setup: setup{span: 80 * time.Second, storage: "blackhole(from=5s,for=60s)"}, check: merge(within(20*time.Second), holes(8))},
			{name: "Pods", setup: setup{span: 80 * time.Second, storage: "blackhole(from=5s,for=60s,kind=Pod)"}, plain: true,
				check: merge(within(20*time.Second), holes(1), isolated(func(r oplog.Record) bool { return r.Kind == "Pod" }, setup{}))},
		}},
		{id: "F4", asserted: "COLBAS", variants: statuses(), total: attemptsPerSuccess},
		{id: "F4b", asserted: "COLBTS", variants: frontEnds()},
		{id: "F5", asserted: "COL", variants: unknowns()},
		{id: "F6", asserted: "COL", variants: []variant{
			{name: "twice at once", setup: setup{span: 30 * time.Second, storage: "double:50%"}},
			{name: "again later, conditional", setup: setup{span: 30 * time.Second, storage: "double(2s):30%", mode: check.ModeConditional}},
			{name: "again later, faithful", setup: setup{span: 30 * time.Second, storage: "double(2s):30%", edit: synced(5 * time.Second)}},
		}},
		{id: "F7", asserted: "COLBIAS", variants: poisons()},
		{id: "settings", asserted: "COL", variants: settings()},
	}
}

// settings under each of which a history must end in the state of the cluster. The seed adds strategies.
func settings() (all []variant) {
	add := func(name string, s setup, set func(*config.Config, *config.Filter)) {
		s.span, s.edit = 20*time.Second, set
		all = append(all, variant{name: name, setup: s})
	}
	add("handlerQueueLen=1", setup{}, func(c *config.Config, _ *config.Filter) { c.BCS.HandlerQueueLen = 1 })
	add("writerQueueLen=1, block", setup{}, func(c *config.Config, _ *config.Filter) {
		c.BCS.HandlerQueueLen, c.BCS.WriterQueueLen, c.BCS.QueueFull = 1, 1, pipeline.Block
	})
	add("podQueueNum=0", setup{}, func(c *config.Config, _ *config.Filter) { c.BCS.PodQueueNum = 0 })
	add("podQueueNum=16", setup{}, func(c *config.Config, _ *config.Filter) { c.BCS.PodQueueNum = 16 })
	add("parkAfter=1", setup{storage: "500(method=PUT|DELETE,max=30):20%"}, func(c *config.Config, _ *config.Filter) {
		c.BCS.ParkAfter = 1
		synced(5*time.Second)(c, nil)
	})
	add("no mask", setup{}, func(_ *config.Config, f *config.Filter) { f.ResourceMaskers = nil })
	add("managedFields kept", setup{}, func(_ *config.Config, f *config.Filter) { f.KeepManagedFields = true })
	add("conditional", setup{mode: check.ModeConditional, storage: "reset-after(method=PUT|DELETE):5%"}, nil)
	return all
}

func tamperThree(w *world) {
	have := w.mock.Store().All()
	done := 0
	for _, d := range have {
		if d.Kind == "Event" || d.Kind == "Namespace" {
			continue
		}
		switch done {
		case 0:
			w.tamper(http.MethodDelete, d.Kind, d.Namespace, d.Name, "")
		case 1:
			w.tamper(http.MethodPut, d.Kind, d.Namespace, d.Name, `{"kind":"`+d.Kind+`","metadata":{"name":"`+d.Name+`","namespace":"`+d.Namespace+`"}}`)
		}
		if done++; done == 2 {
			break
		}
	}
	w.mark(history.MarkTamperAdd, "ConfigMap", "gone", "left")
	w.row("ConfigMap", "gone", "left")
	time.Sleep(time.Duration(w.cfg.Synchronizer.Period) + 3*time.Second)
}

func latencies() []variant {
	var all []variant
	for _, l := range []string{"10ms", "50ms", "200ms", "1s", "mix(0.95=10ms,0.05=3s)"} {
		all = append(all, variant{name: l, setup: setup{span: 60 * time.Second, latency: "kind=Pod: " + l + "; 5ms"}, plain: true,
			check: merge(isolated(func(r oplog.Record) bool { return r.Kind == "Pod" }, setup{}), map[rune]func(*outcome) error{})})
	}
	return all
}

func refusals() []variant {
	var all []variant
	for _, d := range []time.Duration{10 * time.Second, 60 * time.Second, 300 * time.Second} {
		span := d + 20*time.Second
		all = append(all, variant{name: d.String(), keys: -1,
			setup: setup{span: span, storage: fmt.Sprintf("refuse(from=5s,for=%s)", d)},
			check: map[rune]func(*outcome) error{
				'T': func(o *outcome) error {
					// The load goes on after the outage: what counts is the age of what waited.
					end := o.began.Add(5*time.Second + d).UnixNano()
					_, worst := o.freshnessAfter(end)
					if limit := 10*time.Second + 2*time.Second; worst > limit {
						return fmt.Errorf("recovered %s after the outage, want %s", worst, limit)
					}
					return nil
				},
				'A': func(o *outcome) error {
					// One try per worker, then one per step of the backoff; the Synchronizer reads beside.
					steps := matrix.BackoffSteps(d)
					limit := 2*kindsServed*4 + kindsServed*steps
					switch o.setup.strategy() {
					case pipeline.Partitioned:
						limit += 2 * 16
					case pipeline.Adaptive: // its eight workers are as many as the keys of a kind
						limit *= 8
					}
					if cfg := o.setup.config(); !cfg.Synchronizer.Disabled {
						limit += int(d/time.Duration(cfg.Synchronizer.Period)+2) * 12
					}
					if o.refused > limit {
						return fmt.Errorf("%d connections tried during %s, want at most %d", o.refused, d, limit)
					}
					return nil
				},
			}})
	}
	return all
}

// holes bounds the tries into a black hole: each takes the storage timeout.
func holes(kinds int) map[rune]func(*outcome) error {
	return map[rune]func(*outcome) error{'A': func(o *outcome) error {
		n := 0
		for _, e := range o.entries {
			if e.Fault == "blackhole" {
				n++
			}
		}
		workers := 4
		switch o.setup.strategy() {
		case pipeline.Partitioned:
			workers = 16
		case pipeline.Adaptive:
			workers = 24 // one per key
		}
		if limit := kinds * (workers + 60/5); n > limit {
			return fmt.Errorf("%d requests into the black hole, want at most %d", n, limit)
		}
		return nil
	}}
}

// startsDown: the watcher is started while something that it needs is away. It is ready
// soon after that is back, and not before.
func startsDown() []variant {
	const away = 60 * time.Second
	var all []variant
	add := func(name string, s setup) {
		s.early, s.span = true, 10*time.Second
		all = append(all, variant{name: name, keys: -1, setup: s, check: map[rune]func(*outcome) error{'T': func(o *outcome) error {
			if o.ready < away || o.ready > away+15*time.Second {
				return fmt.Errorf("ready after %s, want %s to 15 s later", o.ready, away)
			}
			return nil
		}}})
	}
	add("storage refuses", setup{storage: "refuse(for=60s)"})
	add("storage hangs", setup{storage: "blackhole(for=60s)"})
	add("storage answers 500", setup{storage: "500(for=60s)"})
	add("a front end answers", setup{storage: "html(status=404,for=60s)"})
	add("a login page", setup{storage: "html(status=200,for=60s)"})
	add("the apiserver is away", setup{watch: "gone(60s)"})
	return all
}

func statuses() []variant {
	var all []variant
	for _, p := range []string{"1%", "10%", "50%"} {
		for _, s := range []string{"500", "502", "503", "504", "429(retry-after=2s", "503(retry-after=1s"} {
			spec := s + "(method=PUT|DELETE):" + p
			if strings.Contains(s, "(") {
				spec = s + ",method=PUT|DELETE):" + p
			}
			v := variant{name: spec, setup: setup{span: 120 * time.Second, storage: spec}}
			if p == "1%" {
				v.keys, v.setup.ops = 1, 3**opsFlag // so that it fires
			}
			v.check = map[rune]func(*outcome) error{'A': func(o *outcome) error { return o.obeyed() }}
			all = append(all, v)
		}
	}
	return all
}

// obeyed: nothing is sent in the time that storage asked for. A request that was under way when the answer came is no
// offence, and a key that is throttled again and again while others are served holds up itself alone.
func (o *outcome) obeyed() error {
	var wait int64
	switch {
	case strings.HasPrefix(o.setup.storage, "429("):
		wait = int64(2 * time.Second)
	case strings.HasPrefix(o.setup.storage, "503(retry"):
		wait = int64(time.Second)
	default:
		return nil
	}
	type id struct{ kind, ns, name string }
	before := map[id]bool{} // the key's last request was throttled
	for i, a := range o.entries {
		k := id{a.Kind, a.Namespace, a.Name}
		again := before[k]
		before[k] = a.Fault != ""
		if a.Fault == "" || a.Responded == 0 {
			continue
		}
		for _, e := range o.entries[i+1:] {
			if e.Received <= a.Responded || e.Received >= a.Responded+wait {
				continue
			}
			if same := (id{e.Kind, e.Namespace, e.Name}) == k; same || !again {
				return fmt.Errorf("%s %s/%s/%s (seq %d) came %s after seq %d of %s/%s was answered with Retry-After %s",
					e.Method, e.Kind, e.Namespace, e.Name, e.Seq, time.Duration(e.Received-a.Responded), a.Seq, k.kind, k.name, time.Duration(wait))
			}
		}
	}
	return nil
}

// attemptsPerSuccess over all histories of one probability.
func attemptsPerSuccess(all []*outcome) error {
	for p, name := range map[float64]string{0.01: ":1%", 0.1: ":10%", 0.5: ":50%"} {
		tries, good := 0, 0
		for _, o := range all {
			if !strings.HasSuffix(o.setup.storage, name) {
				continue
			}
			for _, e := range o.entries {
				if e.Received < o.began.UnixNano() || e.Received > o.healed.UnixNano() {
					continue
				}
				tries++
				if e.Acked() {
					good++
				}
			}
		}
		if good == 0 {
			continue
		}
		// Four standard errors of the mean of a geometric distribution.
		limit := 1/(1-p)*1.1 + 0.02
		if got := float64(tries) / float64(good); good > 500 && got > limit {
			return fmt.Errorf("%.3f tries per success with%s, want at most %.3f", got, name, limit)
		}
	}
	return nil
}

// frontEnds answer in storage's place for a while: an outage, after which nothing is left parked.
func frontEnds() []variant {
	var all []variant
	for _, status := range []int{401, 403, 404, 302, 413} {
		spec := fmt.Sprintf("html(status=%d,method=PUT|DELETE,from=5s,for=20s)", status)
		all = append(all, variant{name: spec, setup: setup{span: 40 * time.Second, storage: spec}, check: map[rune]func(*outcome) error{
			'T': func(o *outcome) error {
				_, worst := o.freshnessAfter(o.began.Add(25 * time.Second).UnixNano())
				if limit := 12 * time.Second; worst > limit {
					return fmt.Errorf("recovered %s after the outage, want %s", worst, limit)
				}
				return nil
			},
			'L': func(o *outcome) error {
				if n := o.counters.Total.Parked; n != 0 {
					return fmt.Errorf("%d objects parked", n)
				}
				return general('L', o)
			},
		}})
	}
	return all
}

func unknowns() []variant {
	var all []variant
	for _, spec := range []string{"late(3s,method=PUT|DELETE):10%", "reset-after(method=PUT|DELETE):10%", "late(3s,answer=reset,method=PUT|DELETE):10%", "late(3s,answer=503,method=PUT|DELETE):10%"} {
		for _, mode := range []string{check.ModeConditional, check.ModeFaithful} {
			s := setup{span: 120 * time.Second, storage: spec, mode: mode}
			if mode == check.ModeFaithful {
				s.edit = synced(15 * time.Second)
			}
			all = append(all, variant{name: spec + " " + mode, setup: s})
		}
	}
	// Given up well before the fence of 5 s ends, so that a write within it can be told from one after it. The last late
	// application comes 4 s after its request, its fence ends after 6 s.
	const period = 10 * time.Second
	all = append(all, variant{name: "given up after 1 s",
		setup: setup{span: 60 * time.Second, storage: "late(3s,method=PUT|DELETE):8%", edit: func(c *config.Config, f *config.Filter) {
			synced(period)(c, f)
			c.BCS.StorageTimeout = config.Duration(time.Second)
		}},
		check: map[rune]func(*outcome) error{'C': func(o *outcome) error {
			return errors.Join(general('C', o), o.recovered(6*time.Second+period+time.Second))
		}}})
	return all
}

func poisons() []variant {
	var all []variant
	for _, status := range []int{400, 413, 422, 500} {
		spec := fmt.Sprintf("%d(key=a/?0,method=PUT|DELETE)", status)
		v := variant{name: spec, plain: true, setup: setup{span: 60 * time.Second, storage: spec, touch: true}}
		v.check = map[rune]func(*outcome) error{
			'I': func(o *outcome) error { return o.poisonIsolated() },
			'A': func(o *outcome) error { return o.parkedInTime(status) },
		}
		all = append(all, v)
	}
	return all
}

// poisonIsolated: keys that no fault hit.
func (o *outcome) poisonIsolated() error {
	hit := map[string]bool{}
	for _, e := range o.entries {
		if e.Fault != "" {
			hit[e.Kind+e.Namespace+"/"+e.Name] = true
		}
	}
	sound := func(r oplog.Record) bool {
		return !hit[r.Kind+r.Namespace+"/"+r.Name] && r.Started < o.healed.UnixNano()
	}
	p99, _ := o.freshness(sound)
	base := o.setup
	base.storage, base.touch = "", false
	was, _ := o.baseline(base).freshness(sound)
	if p99 > 2*was+time.Millisecond {
		return fmt.Errorf("p99 of the sound keys %s, without the fault %s", p99, was)
	}
	return nil
}

// parkedInTime: what storage refuses for good is tried once; what fails again and again is given up at some time.
func (o *outcome) parkedInTime(status int) error {
	type state struct {
		method, kind, ns, name, uid string
		rv                          uint64
	}
	tries := map[state]int{}
	for _, e := range o.entries {
		if e.Fault == "" || e.Method != http.MethodPut || e.UID == "" { // Events come without a uid
			continue
		}
		s := state{e.Method, e.Kind, e.Namespace, e.Name, e.UID, e.ResourceVersion}
		tries[s]++
		limit := 1
		if cfg := o.setup.config(); !cfg.Synchronizer.Disabled { // which has another try made each time
			limit += int(o.setup.span/time.Duration(cfg.Synchronizer.Period)) + 1
		}
		if status < 500 && tries[s] > limit {
			return fmt.Errorf("%+v was tried %d times although the answer was %d, want at most %d", s, tries[s], status, limit)
		}
	}
	return nil
}

func watchRows() []row {
	return []row{
		{id: "F8", asserted: "COLBA", variants: []variant{
			{name: "close", setup: setup{span: 60 * time.Second, watch: "close(1s,5s)"}, check: relistsAtMost(func(*outcome) int64 { return 0 })},
			{name: "reset", setup: setup{span: 60 * time.Second, watch: "reset(1s,5s)"}, check: relistsAtMost(func(*outcome) int64 { return 0 })},
			{name: "older", setup: setup{span: 60 * time.Second, watch: "older(20),close(2s,4s)"}, check: relistsAtMost(func(o *outcome) int64 { return o.firings("older") })},
			{name: "no bookmark", keys: 1, setup: setup{span: 60 * time.Second, early: true, watch: "no-bookmark(max=4)"}},
		}},
		{id: "F9", asserted: "COLAT", variants: []variant{
			{name: "Pods", keys: 1, setup: setup{span: 100 * time.Second, early: true, watch: "silent(kind=pods,max=1)"},
				check: merge(freshWithin(60*time.Second), relistsAtMost(func(*outcome) int64 { return 0 }))},
			{name: "four kinds, one after the other", setup: setup{span: 150 * time.Second, early: true, watch: "silent(kind=pods,max=1),silent(kind=configmaps,max=1),silent(kind=secrets,max=1,from=40s),silent(kind=events,max=1,from=40s)"},
				check: merge(freshWithin(60*time.Second), relistsAtMost(func(*outcome) int64 { return 0 }))},
		}},
		{id: "F10", asserted: "COLBAT", variants: []variant{
			{name: "start, each kind once", keys: -1, setup: setup{span: 60 * time.Second, hooks: []hook{{20 * time.Second, compactAndClose}}},
				check: merge(freshWithin(5*time.Second), relistsAtMost(func(*outcome) int64 { return kindsServed }))},
			{name: "start, half of the time", setup: setup{span: 60 * time.Second, watch: "410(start):50%,close(2s,4s)"}, check: merge(within(maxWatchBackoff), expired("410"))},
			{name: "mid", setup: setup{span: 60 * time.Second, watch: "410(mid,kind=pods,max=1),410(mid,kind=configmaps,max=1),410(mid,kind=secrets,max=1)"}, check: merge(freshWithin(5*time.Second), expired("410"))},
			// Each 410 is a first one again, as long as a change came in between. Three in
			// a row without any are possible, four are not to be expected: 8 s.
			{name: "mid, again and again", keys: 1, setup: setup{span: 60 * time.Second, watch: "410(mid):6%"}, check: merge(freshWithin(8*time.Second), expired("410"))},
			{name: "page", keys: 1, setup: setup{span: 60 * time.Second, early: true, watch: "410(verb=page,max=1),no-stream,410(start,verb=watch,kind=pods,max=1)", bulk: 620, noCache: true},
				check: merge(freshWithin(10*time.Second), expired("410"))},
		}},
		{id: "F11", asserted: "CAT", variants: []variant{
			{name: "Pods", keys: 1, setup: setup{span: 300 * time.Second, watch: "500(verb=list|stream,kind=pods,max=10)",
				hooks: []hook{{10 * time.Second, compactAndClose}}},
				check: merge(within(60*time.Second), relistsAtMost(func(*outcome) int64 { return 8 + 2*11 }))},
		}},
		{id: "F12", asserted: "COLAT", variants: []variant{
			{name: "gone", keys: -1, setup: setup{span: 70 * time.Second, watch: "gone(60s,from=5s)"}, check: merge(within(72*time.Second), relistsAtMost(func(*outcome) int64 { return 0 }))},
			{name: "stalls", keys: 1, setup: setup{span: 70 * time.Second, watch: "stall(3s),close(5s)"}},
			{name: "black hole", keys: 1, setup: setup{span: 70 * time.Second, watch: "blackhole(from=20s,for=20s),close(5s)"}},
			{name: "no streaming lists", keys: 1, setup: setup{span: 70 * time.Second, early: true, watch: "no-stream,410(start):30%,close(5s)"}},
			{name: "429", setup: setup{span: 70 * time.Second, watch: "429(retry-after=2s):50%,close(2s,5s)"}, check: merge(within(72*time.Second), relistsAtMost(func(*outcome) int64 { return 0 }))},
		}},
		{id: "F18", asserted: "COL", variants: []variant{
			{name: "connected", setup: setup{span: 30 * time.Second, recreate: true}, check: again},
			{name: "disconnected", keys: -1, setup: setup{span: 60 * time.Second, recreate: true, watch: "gone(5s,from=2s,every=10s)"}, check: again},
			{name: "relisted", setup: setup{span: 60 * time.Second, recreate: true, watch: "410(start):60%,close(1s,4s)"}, check: again},
			{name: "in one batch", setup: setup{span: 200 * time.Millisecond, recreate: true}, check: again},
		}},
		{id: "F21", asserted: "COLBIS", variants: []variant{
			{name: "1.4 MB", setup: setup{span: 30 * time.Second, hooks: []hook{{3 * time.Second, large}, {10 * time.Second, large}}}, plain: true,
				check: isolated(func(r oplog.Record) bool { return r.ID >= 300_000 }, setup{})},
			{name: "truncated", setup: setup{span: 60 * time.Second, watch: "truncate:5%"}},
			{name: "unknown type", setup: setup{span: 60 * time.Second, watch: "unknown:5%"}},
			{name: "no JSON", setup: setup{span: 60 * time.Second, watch: "junk:5%"}},
			{name: "ERROR", setup: setup{span: 60 * time.Second, watch: "error:5%"}},
			{name: "bookmarks", setup: setup{span: 60 * time.Second, bookmarks: 50 * time.Millisecond}},
		}},
		{id: "F27", asserted: "COLT", variants: []variant{
			// The token's file is late: everything is refused, and the watches with it.
			{name: "401", setup: setup{span: 70 * time.Second, watch: "401(from=5s,for=40s),close(2s,5s)"}, check: within(maxWatchBackoff)},
		}},
	}
}

var again = map[rune]func(*outcome) error{'O': func(o *outcome) error {
	if c := o.verdict.Checks["G5"]; c.Verdict != result.Pass {
		return fmt.Errorf("G5 %s: %s %s", c.Verdict, c.Counterexample, c.Note)
	}
	return general('O', o)
}}

// expired: at most one list per answer that said 410, and one more per kind for a list that was refused.
func expired(prefix string) map[rune]func(*outcome) error {
	return relistsAtMost(func(o *outcome) int64 { return o.firings(prefix) + o.firings("no-stream") })
}

func compactAndClose(w *world) {
	w.api.Compact()
	if err := w.api.CloseWatches(""); err != nil {
		w.t.Error(err)
	}
}

func large(w *world) {
	for i := range 3 {
		w.do(op{id: 300_000 + int64(i), typ: oplog.TypePatch, resource: apisim.ConfigMaps, ns: "a", name: fmt.Sprint("large-", i), size: 1_400_000}, oplog.PhaseLoad)
	}
}

// twoWatchers write for a while, as when one replaces the other.
func twoWatchers() row {
	return row{id: "F23", asserted: "CO", variants: []variant{
		{name: "conditional", setup: overlap(setup{span: 60 * time.Second, mode: check.ModeConditional})},
		{name: "faithful", setup: overlap(setup{span: 60 * time.Second, edit: synced(10 * time.Second)}), check: map[rune]func(*outcome) error{
			'O': func(*outcome) error { return nil }, // two writers without preconditions
		}},
	}}
}

// overlap starts a second watcher in the middle and ends the first 30 s later.
func overlap(s setup) setup {
	s.hooks = []hook{{s.span / 4, func(w *world) {
		first := w.last()
		second := w.start()
		if err := second.ready(time.Minute); err != nil {
			w.t.Error(err)
		}
		time.Sleep(30 * time.Second)
		first.stop()
	}}}
	return s
}
