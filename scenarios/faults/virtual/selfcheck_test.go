package virtual

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// TestBadHistoriesAreRed: the record of a good run, damaged in one place, is not
// believed.
func TestBadHistoriesAreRed(t *testing.T) {
	o := simulate(t, setup{seed: 3, ops: *opsFlag, span: 30 * time.Second})
	if f := o.failures(check.Guarantees...); len(f) > 0 {
		t.Fatalf("the good run fails: %v", f)
	}
	type pair struct{ a, b int }
	// puts are two PUTs of one object, one after the other, not its last ones.
	puts := func(entries []ledger.Entry) (pair, bool) {
		last := map[string]int{}
		for i, e := range entries {
			if e.Method != http.MethodPut || e.Received < o.began.UnixNano() || e.UID == "" || e.Kind == "Node" {
				continue
			}
			if a, ok := last[e.UID]; ok {
				return pair{a, i}, true
			}
			last[e.UID] = i
		}
		return pair{}, false
	}
	for _, tt := range []struct {
		name   string
		red    string
		damage func([]ledger.Entry) []ledger.Entry
	}{
		{"swapped versions", "G2", func(all []ledger.Entry) []ledger.Entry {
			p, ok := puts(all)
			if !ok {
				t.Fatal("no two PUTs of one object")
			}
			all[p.a].ResourceVersion, all[p.b].ResourceVersion = all[p.b].ResourceVersion, all[p.a].ResourceVersion
			return all
		}},
		{"an old state written again", "G3", func(all []ledger.Entry) []ledger.Entry {
			p, _ := puts(all)
			e := all[p.a]
			e.Received, e.Applied, e.Responded = all[p.b].Received+1, all[p.b].Applied+1, all[p.b].Responded+1
			e.Effect = ledger.EffectReplaced
			return slices.Insert(all, p.b+1, e)
		}},
		{"a deleted object written again", "G4", func(all []ledger.Entry) []ledger.Entry {
			for i, e := range all {
				if e.Method != http.MethodDelete || e.Effect != ledger.EffectDeleted {
					continue
				}
				for k := i - 1; k >= 0; k-- {
					if put := all[k]; put.UID == e.UID && put.Method == http.MethodPut {
						put.Received, put.Applied, put.Responded, put.Effect = e.Received+1, e.Applied+1, e.Responded+1, ledger.EffectCreated
						return slices.Insert(all, i+1, put)
					}
				}
			}
			t.Fatal("no deletion")
			return nil
		}},
		{"a request that the watcher counted is missing", "G6", func(all []ledger.Entry) []ledger.Entry {
			p, _ := puts(all)
			return slices.Delete(all, p.a, p.a+1)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries := tt.damage(slices.Clone(o.entries))
			for i := range entries {
				entries[i].Seq = uint64(i + 1)
			}
			h := *o.history
			h.Ledger, h.Ops, h.State = sequence(entries), sequence(o.ops), sequence(o.state)
			v, err := check.Judge(context.Background(), &h)
			if err != nil {
				t.Fatal(err)
			}
			bad := *o
			bad.verdict = v
			if f := bad.failures(tt.red); len(f) == 0 {
				t.Errorf("%s is not red: %+v", tt.red, v.Checks[tt.red])
			}
		})
	}
	t.Run("storage lacks an object", func(t *testing.T) {
		h := *o.history
		state := slices.Clone(o.state)
		i := slices.IndexFunc(state, func(r history.StateRecord) bool { return r.Side == history.SideStorage && r.Kind == "Pod" })
		h.Ledger, h.Ops, h.State = sequence(o.entries), sequence(o.ops), sequence(slices.Delete(state, i, i+1))
		v, err := check.Judge(context.Background(), &h)
		if err != nil {
			t.Fatal(err)
		}
		bad := *o
		bad.verdict = v
		if f := bad.failures("G1"); len(f) == 0 {
			t.Errorf("G1 is not red: %+v", v.Checks["G1"])
		}
	})
}
