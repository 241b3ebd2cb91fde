package measure

import (
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func TestPause(t *testing.T) {
	op := func(name string, finished int64) oplog.Record {
		return opAt(oplog.TypeCreate, name, "u-"+name, 1, finished)
	}
	put := func(name string, at int64) ledger.Entry { return acked("PUT", name, "u-"+name, 1, at) }
	failed := put("c", 160)
	failed.Status, failed.Effect, failed.Applied = 503, ledger.EffectRejected, 0
	other := put("o", 150)
	other.Kind = "ConfigMap"
	for _, tc := range []struct {
		name     string
		ops      []oplog.Record
		entries  []ledger.Entry
		from, to int64
		want     int64
	}{
		{"one waits all the while", []oplog.Record{op("a", 50), op("b", 60)}, []ledger.Entry{put("a", 100), put("b", 200)}, 120, 300, 100},
		{"one that came in between", []oplog.Record{op("a", 50), op("b", 170)}, []ledger.Entry{put("a", 100), put("b", 200)}, 120, 300, 30},
		{"the oldest of those that wait decides", []oplog.Record{op("a", 50), op("b", 170), op("c", 130)}, []ledger.Entry{put("a", 100), put("b", 200), put("c", 210)}, 120, 300, 70},
		{"nobody waits", []oplog.Record{op("a", 50)}, []ledger.Entry{put("a", 100), put("b", 200)}, 120, 300, 0},
		{"a request that fails is one", []oplog.Record{op("a", 50), op("c", 60)}, []ledger.Entry{put("a", 100), failed, put("c", 200)}, 120, 300, 60},
		{"another kind's is none", []oplog.Record{op("a", 50), op("b", 60)}, []ledger.Entry{put("a", 100), other, put("b", 200)}, 120, 300, 100},
		{"before and after", []oplog.Record{op("a", 1), op("b", 1), op("c", 1), op("d", 1)}, []ledger.Entry{put("a", 100), put("b", 200), put("c", 210), put("d", 400)}, 201, 209, 10},
		{"one that came and went unseen", []oplog.Record{op("a", 50), op("x", 60), opAt(oplog.TypeDelete, "x", "u-x", 1, 70), opAt(oplog.TypeCreate, "x", "v-x", 3, 199)},
			[]ledger.Entry{put("a", 100), acked("PUT", "x", "v-x", 3, 200)}, 120, 300, 1},
		{"nothing", nil, nil, 0, 100, 0},
	} {
		if got := Pause(numbered(tc.ops), tc.entries, check.Changes(tc.ops, tc.entries), "Pod", tc.from, tc.to); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// numbered gives the operations IDs.
func numbered(ops []oplog.Record) []oplog.Record {
	for i := range ops {
		ops[i].ID = int64(i + 1)
	}
	return ops
}

func TestInFlight(t *testing.T) {
	slow := acked("PUT", "b", "u", 2, 50)
	slow.Responded = 80
	lost := acked("PUT", "c", "u", 2, 55)
	lost.Responded = 0
	early, late := acked("PUT", "d", "u", 2, 5), acked("PUT", "e", "u", 2, 500)
	early.Responded, late.Responded = 1000, 1000
	all := []ledger.Entry{early, acked("PUT", "a", "u", 1, 40), slow, lost, late}
	if mean, longest := InFlight(all, "Pod", 10, 100); mean != 15 || longest != 30 {
		t.Errorf("%d and %d, want those of 0 and 30", mean, longest)
	}
	if mean, longest := InFlight(all, "Node", 10, 100); mean != 0 || longest != 0 {
		t.Errorf("%d and %d of no request", mean, longest)
	}
}
