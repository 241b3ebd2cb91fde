package render

import (
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// equals are settings of one size whose freshness does not tell them apart; the freshest is
// the first.
type equals []*row

// best finds, of settings that are in order, the first that sends every event or does not, and
// its equals.
func (t *table) best(found []*row, every bool) (all equals) {
	for _, r := range found {
		if _, sends := r.sends(); sends == every &&
			(len(all) == 0 || t.bySize(all[0], r) == 0 && !fresher(all[0], r)) {
			all = append(all, r)
		}
	}
	return all
}

// fresher reports whether one row is all but certainly fresher than another.
func fresher(a, b *row) bool {
	p, ok := result.Rank([][]*result.Cell{a.valid, b.valid}, byFreshness.of)
	return ok && p.Rows[0] == 0 && p.Ratio(0, 1).Differs()
}

// are is the end of a sentence that begins with what they are.
func (e equals) are(which string, name func(*row) string) string {
	if len(e) == 1 {
		return which + " that keeps up is " + name(e[0])
	}
	if stem, ok := strings.CutSuffix(which, "y"); ok {
		which = stem + "ie"
	}
	return which + "s that keep up are " + e.names(name)
}

// names are those of all, in a sentence.
func (e equals) names(name func(*row) string) string {
	var all []string
	for _, r := range e {
		all = append(all, name(r))
	}
	if len(all) == 1 {
		return all[0]
	}
	return join(others(all, 3)) + ", not told apart in freshness"
}

// label is the answer at a glance.
func (e equals) label() string {
	if len(e) == 1 {
		return e[0].label()
	}
	return "no winner"
}

// arrived is said of one alone.
func (e equals) arrived() string {
	if len(e) == 1 {
		return e[0].arrived()
	}
	return ""
}

// each continues a sentence about one, or about all of them.
func (e equals) each(does string) string {
	if len(e) == 1 {
		return ", which " + does
	}
	return "; each " + does
}
