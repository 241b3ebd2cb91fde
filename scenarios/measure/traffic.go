package measure

import (
	"time"

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

// cause is a kind of operation.
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

// beside holds the counts against what the plan has, of which a record of another version
// may say nothing; seconds is how long the load lasted by the plan's clock.
func (t *profiled) beside(cfg plan.Config, seconds float64) *result.Traffic {
	out := &result.Traffic{Profile: cfg.Profile, Kinds: map[string]result.KindTraffic{}}
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
	var expected map[string]plan.Expected
	if p, err := plan.New(cfg); err == nil { // a closed load of a former version has none
		expected = p.Expect(time.Duration(seconds * float64(time.Second)))
	}
	for kind := range expected {
		if _, came := out.Kinds[kind]; !came {
			out.Kinds[kind] = result.KindTraffic{}
		}
	}
	lives := float64(out.Kinds[podKind].Added+out.Kinds[podKind].Deleted) / 2
	out.PodLives = lives
	for kind, k := range out.Kinds {
		p := t.puts[kind]
		k.Puts, k.Bytes = p.n, ptr(float64(p.bytes)/float64(p.n)) // NaN of none, which is nil
		if e, ok := expected[kind]; ok {
			k.Expected, k.ExpectedBytes = ptr(float64(e.Writes)), known(e.Bytes)
			if !plan.ByTheClock(kind) && lives > 0 {
				k.PerPod = ptr(float64(k.Events()) / lives)
			}
		}
		out.Kinds[kind] = k
	}
	return out
}

// known is nil for 0.
func known(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return ptr(v)
}
