package measure

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// churned is a closed load of service-churn: four pods were created and two deleted within
// ten seconds, so that there are three lives.
func churned() *evidence {
	e := backlog(0)
	e.cell.Scenario.Load = spec.Load{Load: plan.Default().Load}
	l := &e.cell.Scenario.Load.Load
	l.Model, l.Threads, l.Profile = plan.ModelClosed, 1, plan.ProfileServiceChurn
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
	n := func(v float64) *float64 { return &v }
	// A service pod's life has 5.65 and 4 writes of the Pod, 6.9063 and 2.5563 Events, 1.7688 and
	// 1.7688 of the ReplicaSet, 2.025 and 1.7688 of the Deployment and 1.05 and 0.8794 of the
	// EndpointSlice.
	want := &result.Traffic{
		Profile: plan.ProfileServiceChurn, PodLives: 3,
		Kinds: map[string]result.KindTraffic{
			"Pod": {
				Added: 4, Modified: 7, Deleted: 2, Expected: n(30.6), PerPod: n(4.33333), ExpectedPerPod: n(10.2), Source: plan.SourceRecorded,
				Puts: 8, Bytes: n(9000),
			},
			"Event":         {Added: 4, Expected: n(32.7376), PerPod: n(1.33333), ExpectedPerPod: n(10.9125), Source: plan.SourceDerived, Puts: 4, Bytes: n(1000)},
			"ReplicaSet":    {Modified: 1, Expected: n(10.6127), PerPod: n(0.333333), ExpectedPerPod: n(3.53756), Source: plan.SourceDerived, Puts: 1, Bytes: n(5000)},
			"Deployment":    {Expected: n(11.6377), PerPod: n(0), ExpectedPerPod: n(3.87924), Source: plan.SourceDerived},
			"EndpointSlice": {Expected: n(5.95876), PerPod: n(0), ExpectedPerPod: n(1.98625), Source: plan.SourceDerived},
			"Gadget":        {Modified: 1, Puts: 1, Bytes: n(10)},
		},
		EventsPerPod: n(6), ExpectedEventsPerPod: n(30.5156),
		// 13 × 9000 + 4 × 1000 + 1 × 5000
		BytesPerPod: n(42000), ExpectedBytesPerPod: n(190_000),
	}
	for kind, k := range want.Kinds {
		k.ExpectedBytes = known(e.cell.Scenario.Load.ExpectedBytes(kind))
		want.Kinds[kind] = k
	}
	if d := cmp.Diff(want, got); d != "" {
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
	l.Model, l.Rate, l.Nodes = plan.ModelOpen, 1, 30
	got := e.figures(t).Traffic.Kinds["Lease"]
	seconds := float64(len(e.ops)-1)*0.1 + 0.005
	approx(t, "expected", got.Expected, 3*seconds, 1e-6)
	if got.PerPod != nil || got.ExpectedPerPod != nil || got.Bytes != nil || got.Source != plan.SourceSetting {
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
	if got.PodLives != 0 || got.EventsPerPod != nil || got.BytesPerPod != nil || got.Kinds["Event"].Events() != 1 || got.Kinds["Event"].PerPod != nil || got.Kinds["Event"].Expected != nil {
		t.Errorf("%+v", got)
	}
	e = churned()
	e.entries = e.entries[:1] // no Event came to storage, so nobody knows its size
	if got := e.figures(t).Traffic; got.BytesPerPod != nil || got.EventsPerPod == nil || got.Kinds["Event"].Bytes != nil {
		t.Errorf("%+v", got)
	}
}
