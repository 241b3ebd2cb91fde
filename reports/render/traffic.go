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
}

type kindFlow struct {
	added, modified, deleted, puts int64
	expected, bytes                float64 // sums; of what is not expected or not known 0
	hasExpected, lived             bool
	expectedBytes                  *float64
}

func (k *kindFlow) events() int64 { return k.added + k.modified + k.deleted }

// mean is the mean body of what storage received.
func (k *kindFlow) mean() *float64 {
	if k.puts == 0 {
		return nil
	}
	return new(k.bytes / float64(k.puts))
}

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

// flowsOfProfiles are the loads that have a profile, in the order of the rows.
func (t *table) flowsOfProfiles() (all []*flow) {
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

// Traffic is the table of what profiles wrote beside what their plans have; without rows
// where no load has a profile.
func (t *table) Traffic() (s sheet) {
	flows := t.flowsOfProfiles()
	if len(flows) == 0 {
		return s
	}
	s.Keys, s.Heads = 3, append(words("kind", "profile", "load"),
		heading{Title: "added"}, heading{Title: "modified"}, heading{Title: "deleted"},
		heading{Title: "events", Unit: "per pod"}, heading{Title: "expected", Unit: "per pod"}, heading{Title: "of expected", Unit: "%"},
		heading{Title: "size", Unit: "KB"}, heading{Title: "expected", Unit: "KB"}, heading{Title: "per pod", Unit: "KB"}, heading{Title: "lives", Left: true})
	for i, f := range flows {
		total := kindFlow{}
		perPod, sized := 0.0, true
		lived := 0
		for j, kind := range f.order() {
			k := f.kinds[kind]
			l := sheetRow{First: i > 0 && j == 0}
			l.add(clean(kind), clean(f.profile), clean(f.load), fmt.Sprint(k.added), fmt.Sprint(k.modified), fmt.Sprint(k.deleted))
			l.add(f.compared(k)...)
			mean := k.mean()
			l.add(kilo(mean), kilo(k.expectedBytes))
			if !k.lived {
				l.add(unknown, "")
				s.Rows = append(s.Rows, l)
				continue
			}
			lived++
			total.added, total.modified, total.deleted = total.added+k.added, total.modified+k.modified, total.deleted+k.deleted
			total.expected, total.hasExpected, total.lived = total.expected+k.expected, true, true
			switch {
			case mean != nil:
				of := *mean * float64(k.events()) / f.lives
				perPod += of
				l.add(kilo(&of))
			case k.events() == 0:
				l.add(kilo(new(0.0)))
			default:
				sized = false
				l.add(unknown)
			}
			l.add("")
			s.Rows = append(s.Rows, l)
		}
		if lived == 0 {
			continue
		}
		l := sheetRow{}
		l.add("a pod's life", clean(f.profile), clean(f.load), fmt.Sprint(total.added), fmt.Sprint(total.modified), fmt.Sprint(total.deleted))
		l.add(f.compared(&total)...)
		l.add(unknown, unknown)
		if !sized {
			l.add(unknown)
		} else {
			l.add(kilo(&perPod))
		}
		l.add(t.lifeNote(f))
		s.Rows = append(s.Rows, l)
	}
	return s
}

// compared are a kind's events per pod, what is expected, and the one in percent of the other.
func (f *flow) compared(k *kindFlow) []string {
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
	return []string{measured, expected, part}
}

// lifeNote is how many lives the figures are of, and their estimated size.
func (t *table) lifeNote(f *flow) string {
	note := fmt.Sprintf("%s lives in %s", Brief(f.lives), plural(f.cells, "cell"))
	for _, r := range t.rows {
		for _, c := range r.valid {
			if x := c.Traffic; x != nil && r.load == f.load && x.Profile == f.profile && x.ExpectedBytesPerPod != nil {
				return fmt.Sprintf("%s; about %s KB each by the plan", note, Brief(*x.ExpectedBytesPerPod/1000))
			}
		}
	}
	return note
}

// TrafficNote says how to read the table.
func (t *table) TrafficNote() string {
	return "Each acknowledged write is one watch event. A pod that was only created or only deleted in the load is half a life; expected is what the plan has for that time. " +
		"Sizes are means of what storage received, so a watcher that strips or merges states sends others than the API server did. " +
		"1 KB is 1,000 bytes."
}

// kilo formats bytes in KB.
func kilo(bytes *float64) string {
	if bytes == nil {
		return unknown
	}
	return fixed(new(*bytes/1000), 2)
}
