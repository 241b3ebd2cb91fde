package measure

import (
	"maps"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// profiled counts what a profile's load wrote and what of it storage received, by kind.
type profiled struct {
	done       map[cause]int64
	puts       map[string]sum
	bystanders map[object]bool // few: they are written in turn
}

// cause is a kind of operation. The profile's ratios are per such operation.
type cause struct{ kind, typ string }

type object struct{ kind, namespace, name string }

type sum struct{ n, bytes int64 }

func newProfiled() *profiled {
	return &profiled{done: map[cause]int64{}, puts: map[string]sum{}, bystanders: map[object]bool{}}
}

func (t *profiled) operation(r *oplog.Record) {
	if r.Bystander {
		t.bystanders[object{r.Kind, r.Namespace, r.Name}] = true
		return
	}
	if r.Phase == oplog.PhaseLoad && r.Type != oplog.TypeHeartbeat && r.OK() {
		t.done[cause{r.Kind, r.Type}]++
	}
}

func (t *profiled) request(e *ledger.Entry) {
	if e.Method != "PUT" || !e.Acked() || t.bystanders[object{e.Kind, e.Namespace, e.Name}] {
		return
	}
	s := t.puts[e.Kind]
	t.puts[e.Kind] = sum{s.n + 1, s.bytes + int64(e.Bytes)}
}

// beside holds the counts against the ratios of the load's profile; seconds is how long the
// load lasted by the plan's clock.
func (t *profiled) beside(l *plan.Load, seconds float64) *result.Traffic {
	out := &result.Traffic{Profile: l.Profile, Kinds: map[string]result.KindTraffic{}}
	for c, n := range t.done {
		k := out.Kinds[c.kind]
		switch c.typ {
		case oplog.TypeCreate:
			k.Added += n
		case oplog.TypeDelete:
			k.Deleted += n
		default:
			k.Modified += n
		}
		out.Kinds[c.kind] = k
	}
	lives := float64(out.Kinds[podKind].Added+out.Kinds[podKind].Deleted) / 2
	out.PodLives = lives

	expected, ofLives, source := map[string]float64{}, map[string]bool{}, map[string]string{}
	for _, r := range l.Ratios() {
		times := seconds
		if r.PerLife() {
			times = float64(t.done[cause{r.Of, r.On}])
		}
		if times == 0 {
			continue // it did not happen
		}
		expected[r.Kind] += r.Events * times
		ofLives[r.Kind] = ofLives[r.Kind] || r.PerLife() && r.Of != nodeKind
		source[r.Kind] = plan.WeakestSource(source[r.Kind], r.Source)
		if _, seen := out.Kinds[r.Kind]; !seen {
			out.Kinds[r.Kind] = result.KindTraffic{} // expected all the same
		}
	}

	var events, should, bytes float64
	sized := true
	for _, kind := range slices.Sorted(maps.Keys(out.Kinds)) {
		k, p := out.Kinds[kind], t.puts[kind]
		k.Puts, k.Source = p.n, source[kind]
		n := float64(k.Events())
		mean := float64(p.bytes) / float64(p.n) // NaN of none, which is nil
		k.Bytes, k.ExpectedBytes = ptr(mean), known(l.ExpectedBytes(kind))
		if k.Source != "" {
			k.Expected = ptr(expected[kind])
		}
		if ofLives[kind] && lives > 0 {
			k.PerPod, k.ExpectedPerPod = ptr(n/lives), ptr(expected[kind]/lives)
			events, should = events+n, should+expected[kind]
			if n > 0 {
				bytes, sized = bytes+n*mean, sized && p.n > 0
			}
		}
		out.Kinds[kind] = k
	}
	if events > 0 {
		out.EventsPerPod, out.ExpectedEventsPerPod = ptr(events/lives), ptr(should/lives)
		out.ExpectedBytesPerPod = known(l.ExpectedBytesPerLife())
		if sized {
			out.BytesPerPod = ptr(bytes / lives)
		}
	}
	return out
}

// nodeKind is written when a node is lost, which is no part of a pod's life.
const nodeKind = "Node"

// known is nil for 0.
func known(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return ptr(v)
}
