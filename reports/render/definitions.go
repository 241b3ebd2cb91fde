package render

import (
	"slices"
	"strings"
	"unicode"
)

// term is a column's heading with what it means, as the page's definitions list it.
type term struct{ ID, Title, Unit, Meaning string }

// terms are columns that measures do not define.
var terms = []term{
	{"", "n", "", "Valid repetitions, and of how many, where some are invalid."},
	{"", "open load", "", "Whether storage kept up: over the second half of the load its backlog grew by no more than 5 % of the rate of writing."},
	{"", "backlog growth", "writes/s", "By how many writes per second those grow that the API server took and storage has not, nor anything newer; over the second half of the load."},
	{"", "freshness p50", "s", "As freshness p99; half of the operations took no longer."},
	{"", "sends", "", "Whether each event became a request, or one request had the latest of several states; then how many requests an event cost."},
	{"", "objects", "", "That existed before the load."},
	{"", "offered", "events/s", "The rate that the rung asked for; unlimited: as fast as the watcher read."},
	{"", "achieved", "events/s", "Events per second that were written while the load lasted."},
	{"", "first sync", "s", storedMeaning},
	{"", "sync CPU", "s", "CPU time of the watcher in that time."},
	{"", "memory", "MiB", "Resident memory of the watcher in the end, when what the first lists took besides has been given back."},
	{"", "per object", "B", "That memory above the smallest rung of the same rate, for each object more than that has."},
	{"", "peak", "MiB", "The highest resident memory since the start of the process."},
	{"", "gain", "×", "Storage rate divided by that of the line above."},
	{"", "received", "", "Events that the watcher read from watches and lists, by its own counters."},
	{"", "sent", "", "Of these, those whose request storage acknowledged."},
	{"", "coalesced", "", "Events that a newer state of their object replaced before they were sent."},
	{"", "filtered", "", "Events that the configuration excludes."},
	{"", "parked", "", "Events whose requests storage refused; they wait until their object changes, or storage is back."},
	{"", "queued", "", "Events that still waited as the counters were read."},
	{"", "dropped", "", "Events thrown away because a queue was full, where the configuration asks for it."},
	{"", "retried", "", "Requests that were sent again after a failure."},
	{"", "bottleneck", "", "The stage that limited the cell, by fixed rules over its figures, of the first valid repetition."},
	{"", "because", "", "The figures by which the rule chose that stage."},
	{"", "value", "", "The figure at this point: the median over its valid repetitions."},
	{"", "verdict", "", "Whether the bound, or the rule, holds; what is not known holds nowhere."},
}

// storedMeaning is another first sync than that of the measures, which ends with the lists.
const storedMeaning = "From the start of the process until storage had acknowledged all that existed before the load."

// id makes an anchor of a heading.
func (d term) id() string {
	return "def-" + strings.Trim(strings.Map(func(r rune) rune {
		if r = unicode.ToLower(r); r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, d.Title+" "+d.Unit), "-")
}

// definedTerms are all headings that have a definition, the measures' first.
func definedTerms() (all []term) {
	for _, c := range slices.Concat(published, ours, titled(further)) {
		all = append(all, term{Title: c.Title, Unit: c.Unit, Meaning: c.Meaning})
	}
	all = append(all, terms...)
	for i := range all {
		all[i].ID = all[i].id()
		if slices.ContainsFunc(all[:i], func(d term) bool { return d.ID == all[i].ID }) {
			all[i].ID += "-2"
		}
	}
	return all
}

// define gives a table's headings the anchors of their definitions.
func define(s sheet) sheet {
	all := definedTerms()
	s.Heads = slices.Clone(s.Heads)
	for i := range s.Heads {
		h := &s.Heads[i]
		if at := slices.IndexFunc(all, func(d term) bool {
			return d.Title == h.Title && d.Unit == h.Unit && (h.Meaning == "" || h.Meaning == d.Meaning)
		}); at >= 0 {
			h.Def, h.Meaning = all[at].ID, all[at].Meaning
		}
	}
	return s
}

// Terms are the definitions that the page's tables need.
func (t *table) Terms() (all []term) {
	used := map[string]bool{}
	for i, s := range []sheet{t.PageGrid(), t.Costs(), t.Paces(), t.Growth(), t.Flows(), t.Sweeps(), t.Thresholds(), t.Shape(), t.Beside()} {
		for _, h := range define(s).Heads {
			used[h.Def] = used[h.Def] || i < 2 || len(s.Rows) > 0 // the first two always stand there
		}
	}
	return slices.DeleteFunc(definedTerms(), func(d term) bool { return !used[d.ID] })
}
