package history

import (
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// TestClock: an effect before its cause is found and named, and what clocks of one host, a retry or an unknown version
// explain is not.
func TestClock(t *testing.T) {
	const base, ms = int64(1767348000_000_000_000), int64(time.Millisecond)
	op := func(edit func(*oplog.Record)) oplog.Record {
		r := oplog.Record{ID: 7, Phase: oplog.PhaseLoad, Type: oplog.TypePatch, Kind: "Pod", Namespace: "n", Name: "p",
			ResourceVersion: 20, Intended: base, Started: base + ms, Finished: base + 3*ms, Status: 200}
		edit(&r)
		return r
	}
	entry := ledger.Entry{Seq: 3, Received: base + 10*ms, Applied: base + 11*ms, Responded: base + 12*ms}
	change := Change{Operation: 7, Kind: "Pod", Intended: base, Started: base + ms, Finished: base + 3*ms, Arrived: base + 10*ms, Stored: base + 12*ms}
	for _, tc := range []struct {
		name string
		feed func(*Clock)
		want string // part of the first contradiction; empty: none
	}{
		{"in order", func(c *Clock) { r := op(func(*oplog.Record) {}); c.Operation(&r); c.Request(&entry); c.Change(&change) }, ""},
		{"ends early", func(c *Clock) { r := op(func(r *oplog.Record) { r.Started += 2000 * ms }); c.Operation(&r) }, "operation 7 (patch Pod n/p) ended before it was dispatched, by 1.998s"},
		{"another CPU's clock", func(c *Clock) { r := op(func(r *oplog.Record) { r.Finished = r.Started - 4*ms }); c.Operation(&r) }, ""},
		{"not answered", func(c *Clock) { r := op(func(r *oplog.Record) { r.Finished, r.Status = 0, 0 }); c.Operation(&r) }, ""},
		{"too early", func(c *Clock) { r := op(func(r *oplog.Record) { r.Intended += 2000 * ms }); c.Operation(&r) }, "dispatched before its intended time, by 1.999s"},
		{"witnessed", func(c *Clock) {
			r := op(func(r *oplog.Record) { r.Phase, r.Intended = oplog.PhaseWitnessed, base+2000*ms })
			c.Operation(&r)
		}, ""},
		{"a writer goes back", func(c *Clock) {
			late := op(func(r *oplog.Record) {
				r.ID, r.ResourceVersion, r.Started, r.Finished = 6, 19, r.Started+2000*ms, r.Finished+2000*ms
			})
			r := op(func(*oplog.Record) {})
			c.Operation(&late)
			c.Operation(&r)
		}, "operation 7 (patch Pod n/p) was answered before operation 6 was dispatched, which has an older version, by 1.998s"},
		{"another kind's versions", func(c *Clock) {
			late := op(func(r *oplog.Record) {
				r.Kind, r.ResourceVersion, r.Started, r.Finished = "Event", 19, r.Started+2000*ms, r.Finished+2000*ms
			})
			r := op(func(*oplog.Record) {})
			c.Operation(&late)
			c.Operation(&r)
		}, ""},
		{"a version read later", func(c *Clock) {
			late := op(func(r *oplog.Record) {
				r.ResourceVersion, r.Started, r.Finished = 19, r.Started+2000*ms, r.Finished+2000*ms
			})
			r := op(func(r *oplog.Record) { r.Type = oplog.TypeBind })
			c.Operation(&late)
			c.Operation(&r)
		}, ""},
		{"applied before received", func(c *Clock) { e := entry; e.Applied -= 2000 * ms; c.Request(&e) }, "request 3 was applied or answered before it was received, by 1.999s"},
		{"answered before received", func(c *Clock) { e := entry; e.Received += 2000 * ms; e.Applied = 0; c.Request(&e) }, "request 3 was applied or answered before it was received"},
		{"received before dispatched", func(c *Clock) { x := change; x.Started += 2000 * ms; c.Change(&x) }, "storage received operation 7 of a Pod before it was dispatched, by 1.991s"},
		{"the state before it", func(c *Clock) { x := change; x.Started += 2000 * ms; x.Unversioned = true; c.Change(&x) }, ""},
		{"never stored", func(c *Clock) { x := change; x.Arrived, x.Stored = 0, 0; c.Change(&x) }, ""},
	} {
		var c Clock
		tc.feed(&c)
		got := c.Reason()
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) || got != "" && !strings.Contains(got, "clock") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestDifference(t *testing.T) {
	rec := func(name, uid, digest string) StateRecord {
		return StateRecord{Kind: "Custom0", Namespace: "n", Name: name, UID: uid, Digest: digest}
	}
	lease := func(version uint64, digest string) StateRecord {
		return StateRecord{Kind: "Lease", Namespace: "n", Name: "a", UID: "1", ResourceVersion: version, Digest: digest}
	}
	all := func(r ...StateRecord) []StateRecord { return r }
	for _, tc := range []struct {
		name      string
		api, have []StateRecord
		want      string
	}{
		{"equal in any order", all(rec("a", "1", "d"), rec("b", "2", "d")), all(rec("b", "2", "d"), rec("a", "1", "d")), ""},
		{"nothing", nil, nil, ""},
		{"missing", all(rec("a", "1", "d")), nil, "Custom0/n/a is not in storage"},
		{"other content of one version, as after a switch", all(rec("a", "1", "d")), all(rec("a", "1", "e")), "or another content"},
		{"an older object", all(rec("a", "2", "d")), all(rec("a", "1", "d")), "storage holds uid 1"},
		{"a lease that was renewed since", all(lease(5, "d")), all(lease(6, "e")), ""},
		{"a lease whose renewal is missing", all(lease(6, "e")), all(lease(5, "d")), "storage holds uid 1 version 5"},
		{"left behind", nil, all(rec("b", "1", "d"), rec("a", "1", "d")), "Custom0/n/a is in storage, the apiserver serves no such object"},
	} {
		if got := Difference(tc.api, tc.have); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
