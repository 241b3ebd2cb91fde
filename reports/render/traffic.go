package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// flow sums up the writes of all valid cells of one load and profile, which share their plan.
type flow struct {
	load, profile string
	lives         float64
	kinds         map[string]*kindFlow
}

type kindFlow struct {
	added, modified, deleted, puts int64
	expected, bytes                float64 // sums; of what is not expected or not known 0
	hasExpected, lived             bool
	expectedBytes                  *float64
}

func (k *kindFlow) events() int64 { return k.added + k.modified + k.deleted }

func (k *kindFlow) add(c result.KindTraffic) {
	k.added, k.modified, k.deleted, k.puts = k.added+c.Added, k.modified+c.Modified, k.deleted+c.Deleted, k.puts+c.Puts
	if c.Expected != nil {
		k.expected, k.hasExpected = k.expected+*c.Expected, true
	}
	if c.Bytes != nil {
		k.bytes += *c.Bytes * float64(c.Puts)
	}
	k.lived = k.lived || c.PerPod != nil
	k.expectedBytes = cmp.Or(k.expectedBytes, c.ExpectedBytes)
}

// profileFlows are the loads that have a profile, in the order of the rows.
func (t *table) profileFlows() (all []*flow) {
	for _, r := range t.rows {
		for _, c := range r.valid {
			if c.Traffic == nil {
				continue
			}
			i := slices.IndexFunc(all, func(f *flow) bool { return f.load == r.load && f.profile == c.Traffic.Profile })
			if i < 0 {
				i = len(all)
				all = append(all, &flow{load: r.load, profile: c.Traffic.Profile, kinds: map[string]*kindFlow{}})
			}
			f := all[i]
			f.lives += c.Traffic.PodLives
			for kind, k := range c.Traffic.Kinds {
				if f.kinds[kind] == nil {
					f.kinds[kind] = &kindFlow{}
				}
				f.kinds[kind].add(k)
			}
		}
	}
	return all
}

// order has the kinds of pod lives first, and of those the most frequent.
func (f *flow) order() []string {
	names := slices.Sorted(maps.Keys(f.kinds))
	slices.SortStableFunc(names, func(a, b string) int {
		x, y := f.kinds[a], f.kinds[b]
		if x.lived != y.lived {
			if x.lived {
				return -1
			}
			return 1
		}
		return cmp.Compare(y.events(), x.events())
	})
	return names
}

// traffic compares the events per kind with the plan.
func (t *table) traffic() Section {
	s := Section{ID: "traffic", Title: "Events per kind", Table: Table{Keys: 3,
		Heads: append(Heads("kind", "profile", "load"),
			Head{Title: "added"}, Head{Title: "modified"}, Head{Title: "deleted"},
			Head{Title: "events", Unit: "per pod"}, Head{Title: "expected", Unit: "per pod"},
			Head{Title: "of expected", Unit: "%"}, Head{Title: "size", Unit: "KB"}, Head{Title: "expected", Unit: "KB"})},
		Notes: []string{"Each acknowledged write is one watch event; expected is what the plan has. Sizes are means over " +
			"storage's requests. 1 KB is 1,000 bytes."}}
	for _, f := range t.profileFlows() {
		for i, kind := range f.order() {
			cells := f.line(kind, f.kinds[kind])
			cells[0].Gap = i == 0
			s.Table.Rows = append(s.Table.Rows, cells)
		}
	}
	if len(s.Table.Rows) == 0 {
		return Section{}
	}
	return s
}

// line is a kind's: its counts, its events per pod, what is expected, and its size.
func (f *flow) line(kind string, k *kindFlow) []Cell {
	measured, expected, part := unknown, unknown, unknown
	n := float64(k.events())
	if k.lived && f.lives > 0 {
		measured = fixedAs(n/f.lives, 2)
		if k.hasExpected {
			expected = fixedAs(k.expected/f.lives, 2)
		}
	}
	if k.hasExpected && k.expected > 0 {
		part = fixedAs(100*n/k.expected, 0)
	}
	mean := ifSome(k.bytes/float64(max(k.puts, 1)), k.puts > 0)
	return Cells(kind, f.profile, f.load, fmt.Sprint(k.added), fmt.Sprint(k.modified), fmt.Sprint(k.deleted), measured,
		expected, part,
		fixed(times(mean, 1e-3), 2), fixed(times(k.expectedBytes, 1e-3), 2))
}
