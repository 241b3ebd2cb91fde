package measure

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// churned is a load of service-churn: four pods were created and two deleted within
// ten seconds, so that there are three lives.
func churned() *evidence {
	e := backlog(0)
	e.cell.Scenario.Load = spec.Load{Load: plan.Default().Load}
	l := &e.cell.Scenario.Load.Load
	l.Model, l.Rate, l.Duration, l.Nodes, l.Namespaces, l.Profile = plan.ModelOpen, 60, units.Duration(time.Second/4), 20, 5,
		plan.ProfileServiceChurn
	e.ops, e.entries = nil, nil
	rv := uint64(0)
	write := func(kind, typ, name string, bytes int) *oplog.Record {
		rv++
		ms := float64(rv) * 100
		o := op(typ, name, "u"+name, rv, ms, ms, ms+5)
		o.Kind = kind
		e.ops = append(e.ops, o)
		if bytes > 0 {
			p := put(name, "u"+name, rv, ms+6, ms+50)
			p.Kind, p.Bytes = kind, bytes
			e.entries = append(e.entries, p)
		}
		return &e.ops[len(e.ops)-1]
	}
	for i := range 4 {
		name := fmt.Sprint("pod-", i)
		write("Pod", oplog.TypeCreate, name, 6000)
		write("Pod", oplog.TypeReady, name, 12_000)
		write("Event", oplog.TypeCreate, "of-"+name, 1000)
		if i < 3 {
			write("Pod", oplog.TypeTerminate, name, 0) // merged into what follows
		}
		if i < 2 {
			write("Pod", oplog.TypeDelete, name, 0)
		}
	}
	write("ReplicaSet", oplog.TypeStatus, "rs", 5000)
	write("Gadget", oplog.TypeUpdate, "unheard-of", 10)
	return e
}

func TestTraffic(t *testing.T) {
	e := churned()
	got := e.figures(t).Traffic
	p, err := plan.New(e.cell.Scenario.Load.Plan("r", e.cell.Seed))
	if err != nil {
		t.Fatal(err)
	}
	planned := p.Expect(time.Hour)
	want := &result.Traffic{
		Profile: plan.ProfileServiceChurn, PodLives: 3,
		Kinds: map[string]result.KindTraffic{
			"Pod":           {Added: 4, Modified: 7, Deleted: 2, PerPod: new(13.0 / 3), Puts: 8, Bytes: new(9000.0)},
			"Event":         {Added: 4, PerPod: new(4.0 / 3), Puts: 4, Bytes: new(1000.0)},
			"ReplicaSet":    {Modified: 1, PerPod: new(1.0 / 3), Puts: 1, Bytes: new(5000.0)},
			"Deployment":    {PerPod: new(0.0)},
			"EndpointSlice": {PerPod: new(0.0)},
			"Gadget":        {Modified: 1, Puts: 1, Bytes: new(10.0)}, // of which the plan knows nothing
		},
	}
	for kind, x := range planned {
		n := float64(x.Writes)
		k := want.Kinds[kind]
		k.Expected, k.ExpectedBytes = new(n), known(x.Bytes)
		want.Kinds[kind] = k
	}
	for kind := range want.Kinds {
		if _, ok := planned[kind]; !ok && kind != "Gadget" {
			delete(want.Kinds, kind)
		}
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-5, 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestTrafficIsOfTheLoad: what is not the load's, or did not come to be, is not counted.
func TestTrafficIsOfTheLoad(t *testing.T) {
	want := churned().figures(t).Traffic
	e := churned()
	stray := func(change func(*oplog.Record, *ledger.Entry)) {
		o, p := op(oplog.TypePatch, "stray", "s", 900, 150, 150, 155), put("stray", "s", 900, 156, 160)
		p.Bytes = 1e6
		change(&o, &p)
		e.ops, e.entries = append(e.ops, o), append(e.entries, p)
	}
	stray(func(o *oplog.Record, p *ledger.Entry) { o.Phase, p.Received = oplog.PhaseWarmup, at(-5000) })
	stray(func(o *oplog.Record, p *ledger.Entry) { o.Type, p.Received = oplog.TypeHeartbeat, at(-5000) })
	stray(func(o *oplog.Record, p *ledger.Entry) { o.Status, p.Status = 409, 500 })
	stray(func(o *oplog.Record, p *ledger.Entry) { o.Bystander, o.Kind, p.Kind = true, "Gadget", "Gadget" })
	stray(func(o *oplog.Record, p *ledger.Entry) { o.Phase, p.Method = oplog.PhasePrepare, "DELETE" })
	if d := cmp.Diff(want, e.figures(t).Traffic); d != "" {
		t.Errorf("strays are counted (-without +with):\n%s", d)
	}
}

// TestTrafficByTheClock: in an open load Leases are expected by time, not by life; and plain
// pods have no traffic at all.
func TestTrafficByTheClock(t *testing.T) {
	e := churned()
	l := &e.cell.Scenario.Load.Load
	l.Model, l.Threads, l.Operations, l.Rate, l.Duration, l.Nodes = plan.ModelOpen, 0, 0, 1, units.Duration(60e9), 30
	got := e.figures(t).Traffic.Kinds["Lease"]
	seconds := float64(len(e.ops)-1)*0.1 + 0.005
	if want := 3 * seconds; got.Expected == nil || *got.Expected < want-2 || *got.Expected > want+2 {
		t.Errorf("%v Leases are expected, want %v", got.Expected, want)
	}
	if got.PerPod != nil || got.Bytes != nil {
		t.Errorf("%+v", got)
	}
	l.Profile = ""
	if got := e.figures(t).Traffic; got != nil {
		t.Errorf("plain pods have %+v", got)
	}
}

// TestTrafficWithoutLives: what is not known is nil.
func TestTrafficWithoutLives(t *testing.T) {
	e := churned()
	e.ops, e.entries = e.ops[2:3], e.entries[2:3]
	got := e.figures(t).Traffic
	if got.PodLives != 0 || got.Kinds["Event"].Events() != 1 || got.Kinds["Event"].PerPod != nil {
		t.Errorf("%+v", got)
	}
	e = churned()
	e.entries = e.entries[:1] // no Event came to storage, so nobody knows its size
	if got := e.figures(t).Traffic; got.Kinds["Event"].Bytes != nil {
		t.Errorf("%+v", got)
	}
}
