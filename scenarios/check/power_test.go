package check

import (
	"cmp"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestPower: operations are answered after 1 ms, requests after 6 ms. What all histories have in common is in
// TestPowerByDefinition.
func TestPower(t *testing.T) {
	for _, tc := range []struct {
		name  string
		story story
		want  [4]int64 // G2 to G5
	}{
		{"swapped", story{
			ops:      []string{"0 create web u1 10", "4 patch web u1 11"},
			requests: []string{"6 PUT web u1 11", "7 PUT web u1 10"},
		}, [4]int64{1, 1, 0, 0}},
		{"made while no watcher ran", story{
			ops:      []string{"0 create web u1 10", "40 patch web u1 11", "44 patch web u1 12", "48 delete web u1", "52 create web u2 13"},
			requests: []string{"2 PUT web u1 10", "80 DELETE web", "90 PUT web u2 13"},
			marks: []history.Mark{{Time: at(-9), What: history.MarkStarted}, {Time: at(-8), What: history.MarkReady}, {Time: at(30), What: history.MarkKilled}, {Time: at(31), What: history.MarkExited},
				{Time: at(70), What: history.MarkStarted}, {Time: at(75), What: history.MarkReady}},
		}, [4]int64{0, 0, 0, 0}},
		{"what never arrived shows nothing", story{
			ops: []string{"0 create web u1 10", "4 patch web u1 11"},
		}, [4]int64{0, 0, 0, 0}},
		{"a write that changed nothing is no state", story{
			ops:      []string{"0 create web u1 10", "4 patch web u1 10"},
			requests: []string{"20 PUT web u1 10"},
		}, [4]int64{0, 0, 0, 0}},
		{"made before the load", story{
			ops:      []string{"0 create web u1 10 prepare", "4 patch web u1 11"},
			requests: []string{"20 PUT web u1 10", "21 PUT web u1 11"},
		}, [4]int64{0, 0, 0, 0}},
		{"created again while everything waits", story{
			ops:      []string{"0 create web u1 10", "2 delete web u1", "4 create web u2 12", "6 patch web u2 13"},
			requests: []string{"20 PUT web u1 10", "30 DELETE web", "40 PUT web u2 12", "50 PUT web u2 13"},
		}, [4]int64{1, 2, 1, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := Judge(t.Context(), tc.story.history(t))
			if err != nil {
				t.Fatal(err)
			}
			var got [4]int64
			for i, g := range []string{"G2", "G3", "G4", "G5"} {
				if v.Checks[g].Power == nil {
					t.Fatalf("%s has no power figure", g)
				}
				got[i] = *v.Checks[g].Power
			}
			if got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestPowerIsUnknown where the record does not tell it, and not defined elsewhere.
func TestPowerIsUnknown(t *testing.T) {
	s := story{ops: []string{"0 create web u1 10"}, requests: []string{"2 PUT web u1 10"}}
	for name, change := range map[string]func(*History){
		"no op log": func(h *History) { h.Ops = nil },
		"no ledger": func(h *History) { h.Ledger = nil },
		"whole":     func(*History) {},
	} {
		h := s.history(t)
		change(h)
		v, err := Judge(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		for g, c := range v.Checks {
			order := slices.Contains([]string{"G2", "G3", "G4", "G5"}, g)
			if known := c.Power != nil; known != (order && name == "whole") {
				t.Errorf("%s: %s: power known: %t", name, g, known)
			}
		}
	}
}

// TestPowerByDefinition counts the pairs by the definition in docs/measures.md, with maps and loops over whole
// histories.
func TestPowerByDefinition(t *testing.T) {
	var seen power
	for seed := range uint64(400) {
		rng := newRand(seed)
		ops := simulate(seed, 1, 4+rng.IntN(16)).ops
		entries := anyRequests(rng, ops)
		want := definedPower(ops, define(ops, entries))
		h := &History{Ops: items(ops), Ledger: items(entries)}
		j := newJudge(h)
		if err := j.read(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := j.book.power(nil, false); got != want {
			t.Fatalf("seed %d: got %+v, want %+v", seed, got, want)
		}
		seen.ordered += want.ordered
		seen.stale += want.stale
		seen.resurrected += want.resurrected
		seen.recreated += want.recreated
	}
	if min(seen.ordered, seen.stale-seen.ordered, seen.resurrected, seen.recreated) < 50 {
		t.Errorf("the histories show little: %+v", seen)
	}
}

// definedPower is the definition, for the operations on one name.
func definedPower(ops []oplog.Record, d *definition) (p power) {
	states := slices.DeleteFunc(slices.Clone(ops), func(r oplog.Record) bool { return !r.OK() })
	slices.SortStableFunc(states, func(a, b oplog.Record) int {
		// A deletion carries its object's last version and follows it.
		return cmp.Or(cmp.Compare(a.ResourceVersion, b.ResourceVersion), cmp.Compare(kindOf(a), kindOf(b)), cmp.Compare(a.ID, b.ID))
	})
	states = slices.CompactFunc(states, func(a, b oplog.Record) bool {
		return a.ResourceVersion == b.ResourceVersion && kindOf(a) == kindOf(b)
	})
	waited := func(a, b oplog.Record) bool {
		stored, _ := d.stored(a)
		return stored != 0 && b.Finished < stored
	}
	var write *oplog.Record
	for i := range states {
		b := states[i]
		if b.Type != oplog.TypeDelete {
			if write != nil && waited(*write, b) {
				p.stale++
				if write.UID == b.UID {
					p.ordered++
				}
			}
			write = &states[i]
		}
		if i == 0 || !waited(states[i-1], b) {
			continue
		}
		switch a := states[i-1]; {
		case a.Type != oplog.TypeDelete && b.Type == oplog.TypeDelete && a.UID == b.UID:
			p.resurrected++
		case a.Type == oplog.TypeDelete && b.Type != oplog.TypeDelete:
			p.recreated++
		}
	}
	return p
}

func kindOf(r oplog.Record) int {
	if r.Type == oplog.TypeDelete {
		return 1
	}
	return 0
}
