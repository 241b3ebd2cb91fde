package check

import (
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// second is a time of these histories.
func second(s float64) int64 { return int64(s * 1e9) }

// held is a state of a Lease, seen as it was written.
func held(shard, instance int, acquired, renewed, lasts float64, transitions int) history.Lease {
	l := history.Lease{Time: second(renewed), Shard: shard, Instance: instance, Acquired: second(acquired), Renewed: second(renewed), Lasts: second(lasts), Transitions: transitions}
	if instance >= -1 {
		l.Holder = fmt.Sprint("host-", instance, "-x")
	}
	return l
}

// nobody stands for the holder of a Lease that was given back.
const nobody = -2

// TestTenures: each request is judged by who held the Lease of its shard when it left.
func TestTenures(t *testing.T) {
	name := func(by kubeapi.By, shard int) (uid, name string) { // of shard 0 or 1 of two
		for i := range 1000 {
			uid, name = fmt.Sprint(i, "-uid"), fmt.Sprint(i, "-pod")
			if kubeapi.Split(2, by)[shard].Holds("ns", name, uid) {
				return uid, name
			}
		}
		t.Fatal("none")
		return "", ""
	}
	type write struct {
		at       float64
		instance int
		shard    int // of the object
		delete   bool
		gone     float64 // after how long its client gave up
	}
	both := []history.Lease{held(0, 0, 0, 0, 16, 0), held(1, 1, 0, 0, 16, 0), held(0, 0, 0, 10, 16, 0), held(1, 1, 0, 10, 16, 0)}
	next := func(l ...history.Lease) []history.Lease { return append(append([]history.Lease{}, both...), l...) }
	for _, tc := range []struct {
		name   string
		leases []history.Lease
		writes []write
		judged int64
		fails  int64
	}{
		{"each its own", both, []write{{1, 0, 0, false, 0}, {2, 1, 1, false, 0}, {3, 0, 0, true, 0}}, 3, 0},
		{"another's shard", both, []write{{1, 0, 1, false, 0}}, 1, 1},
		{"a row of another's is removed", both, []write{{1, 1, 1, false, 0}, {2, 0, 1, true, 0}}, 2, 1},
		{"before it had the Lease", next(held(1, 0, 30, 30, 16, 1)), []write{{29, 0, 1, false, 0}, {31, 0, 1, false, 0}}, 2, 1},
		{"after another had it", next(held(1, 0, 27, 27, 16, 1)), []write{{25, 1, 1, false, 0}, {28, 1, 1, false, 0}}, 2, 1},
		{"after it expired", both, []write{{27, 0, 0, false, 0}}, 1, 1},
		{"after it was given back", next(held(0, nobody, 0, 12, 1, 0)), []write{{11, 0, 0, false, 0}, {13, 0, 0, false, 0}}, 2, 1},
		{"after it was left to settle", next(held(0, 0, 0, 12, 8, 0)), []write{{11, 0, 0, false, 0}, {13, 0, 0, false, 0}}, 2, 1},
		{"sent before it was left to settle, which took long", next(held(0, 0, 0, 12, 8, 0)), []write{{13, 0, 0, false, 0.01}, {19, 0, 0, false, 0.2}}, 2, 0},
		{"sent after it was left to settle, and given up", next(held(0, 0, 0, 12, 8, 0)), []write{{13, 0, 0, false, 1}, {19, 0, 0, false, 5}}, 2, 2},
		{"later than what it was left for", next(held(0, 0, 0, 12, 8, 0)), []write{{21, 0, 0, false, 0.01}}, 1, 1},
		{"while another has what was left to settle", next(held(0, 0, 0, 12, 8, 0), held(0, 1, 14, 14, 16, 1)), []write{{15, 0, 0, false, 0.01}}, 1, 1},
		{"taken by a stranger, who waits for nobody", next(held(0, -1, 12, 12, 16, 1)), []write{{25, 0, 0, false, 0}, {27, 0, 0, false, 0}}, 2, 1},
		{"somebody unseen in between", next(held(0, 1, 40, 40, 16, 2)), []write{{35, 1, 0, false, 0}, {41, 1, 0, false, 0}, {41, 0, 0, false, 0}}, 2, 1},
	} {
		for _, by := range []kubeapi.By{kubeapi.ByUID, kubeapi.ByName} {
			h := &History{Meta: Meta{Shards: 2, ShardBy: by, Mode: ModeConditional, Rules: Rules{Kinds: []string{"Pod"}}}, Leases: tc.leases}
			h.Ledger = func(yield func(ledger.Entry, error) bool) {
				for i, w := range tc.writes {
					uid, name := name(by, w.shard)
					e := ledger.Entry{Seq: uint64(i + 1), Instance: w.instance, Method: "PUT", Kind: "Pod", Namespace: "ns", Name: name, UID: uid,
						ResourceVersion: uint64(i + 1), Received: second(w.at), Applied: second(w.at) + 1, Responded: second(w.at) + 2, Status: 200, Effect: ledger.EffectReplaced}
					if w.gone != 0 {
						e.Gone = second(w.at + w.gone)
					}
					if w.delete {
						e.Method, e.Effect = "DELETE", ledger.EffectDeleted
					}
					if !yield(e, nil) {
						return
					}
				}
			}
			v, err := Judge(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			if c := v.Checks["G10"]; c.Judged != tc.judged || c.Violations != tc.fails {
				t.Errorf("%s, by %s: %+v, want %d of %d", tc.name, by, c, tc.fails, tc.judged)
			}
		}
	}
	v, err := Judge(t.Context(), &History{Meta: Meta{Shards: 2}, Ledger: func(func(ledger.Entry, error) bool) {}})
	if c := v.Checks["G10"]; err != nil || c.Verdict != result.NotJudged || c.Note == "" {
		t.Errorf("without a record of the Leases: %+v, %v", c, err)
	}
}

// TestTenuresByUID: a name that has had objects of two shards may be removed by either's replica where nothing is there.
func TestTenuresByUID(t *testing.T) {
	all := newTenures(&Meta{Shards: 2, ShardBy: kubeapi.ByUID}, []history.Lease{held(0, 0, 0, 0, 16, 0), held(1, 1, 0, 0, 16, 0)})
	var uids []string
	for i := 0; len(uids) < 2; i++ {
		if uid := fmt.Sprint(i); all.shard(history.Key{}, uid) == len(uids) {
			uids = append(uids, uid)
		}
	}
	e := &ledger.Entry{Method: "DELETE", Kind: "Pod", Instance: 1, Received: second(1)}
	for want, k := range map[string]*keyState{
		"0 of 0": nil, "1 of 1": {lives: []life{{uid: uids[0]}}}, "0 of 1": {lives: []life{{uid: uids[0]}, {uid: uids[1]}}},
	} {
		var g tally
		all.judge(&g, e, k)
		if got := fmt.Sprint(g.violations, " of ", g.judged); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
