package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// flow is what all valid cells of one load and profile wrote: their plans are the same for
// every strategy and alike for every repetition.
type flow struct {
	load, profile string
	lives         float64
	kinds         map[string]*kindFlow
	cells         int
	estimate      *float64 // bytes of a pod's life
}

type kindFlow struct {
	added, modified, deleted, puts int64
	expected, bytes                float64 // sums; of what is not expected or not known 0
	hasExpected, lived             bool
	source                         string
	expectedBytes                  *float64
}

func (k *kindFlow) events() int64 { return k.added + k.modified + k.deleted }

// mean is the mean body of what storage received.
func (k *kindFlow) mean() *float64 { return ifSome(k.bytes/float64(max(k.puts, 1)), k.puts > 0) }

func (k *kindFlow) add(c result.KindTraffic) {
	k.added, k.modified, k.deleted, k.puts = k.added+c.Added, k.modified+c.Modified, k.deleted+c.Deleted, k.puts+c.Puts
	if c.Expected != nil {
		k.expected, k.hasExpected = k.expected+*c.Expected, true
	}
	if c.Bytes != nil {
		k.bytes += *c.Bytes * float64(c.Puts)
	}
	k.lived = k.lived || c.PerPod != nil
	k.source, k.expectedBytes = cmp.Or(k.source, c.Source), cmp.Or(k.expectedBytes, c.ExpectedBytes)
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
			f.estimate = cmp.Or(f.estimate, c.Traffic.ExpectedBytesPerPod)
			f.cells++
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

// traffic is what profiles wrote beside what their ratios say.
func (t *table) traffic() Section {
	flows := t.profileFlows()
	if len(flows) == 0 {
		return Section{}
	}
	s := Section{ID: "traffic", Title: "Events per kind", Table: Table{Keys: 3, Heads: append(Heads("kind", "profile", "load"),
		Head{Title: "added"}, Head{Title: "modified"}, Head{Title: "deleted"},
		Head{Title: "events", Unit: "per pod"}, Head{Title: "expected", Unit: "per pod"}, Head{Title: "of expected", Unit: "%"},
		Head{Title: "size", Unit: "KB"}, Head{Title: "expected", Unit: "KB"}, Head{Title: "per pod", Unit: "KB"},
		Head{Title: "expectation", Words: true,
			Meaning: "Recorded: counted on a real cluster. Estimate: by the mechanisms of Kubernetes. Setting: of the scenario."})},
		Notes: []string{"Each acknowledged write is one watch event; expected is by what happened in the load, of which half a " +
			"pod's life is a part. Sizes are means of what storage received. 1 KB is 1,000 bytes."}}
	for _, f := range flows {
		s.Table.Rows = append(s.Table.Rows, f.rows()...)
	}
	return s
}

// rows are the kinds, and their sum over a pod's life.
func (f *flow) rows() (rows [][]Cell) {
	total := kindFlow{lived: true, hasExpected: true}
	perPod, sized, lived := 0.0, true, false
	for _, kind := range f.order() {
		k, mean, each := f.kinds[kind], f.kinds[kind].mean(), unknown
		if k.lived {
			lived = true
			total.added, total.modified, total.deleted = total.added+k.added, total.modified+k.modified, total.deleted+k.deleted
			total.expected += k.expected
			switch {
			case mean != nil:
				of := *mean * float64(k.events()) / f.lives
				perPod += of
				each = kilo(&of)
			case k.events() == 0:
				each = kilo(new(0.0))
			default:
				sized = false
			}
		}
		rows = append(rows, f.line(kind, k, kilo(mean), kilo(k.expectedBytes), each, cmp.Or(k.source, "none")))
	}
	rows[0][0].Gap = true
	if !lived {
		return rows
	}
	each, note := unknown, fmt.Sprintf("%s lives in %s", Brief(f.lives), plural(f.cells, "cell"))
	if sized {
		each = kilo(&perPod)
	}
	if f.estimate != nil {
		note += fmt.Sprintf("; about %s KB each by estimate", Brief(*f.estimate/1000))
	}
	return append(rows, f.line("a pod's life", &total, unknown, unknown, each, note))
}

// line has a kind's counts, its events per pod, what is expected, the one in percent of the other, and what follows.
func (f *flow) line(kind string, k *kindFlow, rest ...string) []Cell {
	measured, expected, part := unknown, unknown, unknown
	n := float64(k.events())
	if k.lived && f.lives > 0 {
		measured = fixed(new(n/f.lives), 2)
		if k.hasExpected {
			expected = fixed(new(k.expected/f.lives), 2)
		}
	}
	if k.hasExpected && k.expected > 0 {
		part = fixed(new(100*n/k.expected), 0)
	}
	counts := []string{kind, f.profile, f.load, fmt.Sprint(k.added), fmt.Sprint(k.modified), fmt.Sprint(k.deleted)}
	return Cells(slices.Concat(counts, []string{measured, expected, part}, rest)...)
}

// kilo formats bytes in KB.
func kilo(bytes *float64) string {
	if bytes == nil {
		return unknown
	}
	return fixed(new(*bytes/1000), 2)
}
