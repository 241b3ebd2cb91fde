package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Growth is the table of a ladder; without rows for other scenarios.
func (t *table) Growth() (s sheet) {
	g := t.res.Growth
	if g == nil || len(g.Rungs) == 0 {
		return s
	}
	s.Keys, s.Heads = 1, append(words("rung"),
		heading{Title: "objects"}, heading{Title: "offered", Unit: "events/s"}, heading{Title: "achieved", Unit: "events/s"},
		heading{Title: "first sync", Unit: "s", Meaning: storedMeaning}, heading{Title: "sync CPU", Unit: "s"}, heading{Title: "memory", Unit: "MiB"}, heading{Title: "per object", Unit: "B"}, heading{Title: "peak", Unit: "MiB"},
		heading{Title: "freshness p50", Unit: "s"}, heading{Title: "freshness p99", Unit: "s"}, heading{Title: "", Left: true})
	for i := range g.Rungs {
		x := &g.Rungs[i]
		l := sheetRow{}
		if x.Skipped != "" {
			l.add(clean(x.Point), unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, "skipped: "+clean(x.Skipped))
			s.Rows = append(s.Rows, l)
			continue
		}
		rate, note := fixed(x.Rate, 0), ""
		switch {
		case x.Valid == 0:
			note = "invalid"
		case x.Rate == nil:
			rate, note = "unlimited", "as fast as the watcher reads: the ingest ceiling"
		}
		l.add(clean(x.Point), strconv.FormatInt(x.Objects, 10), rate, fixed(x.QPS, 0), fixed(x.Stored, 2), fixed(x.SyncCPU, 2),
			fixed(x.HeldMiB, 1), fixed(x.BytesPerObject, 0), fixed(x.PeakMiB, 1), fixed(x.FreshP50, 4), fixed(x.FreshP99, 4), note)
		s.Rows = append(s.Rows, l)
	}
	return s
}

// GrowthNote says how the costs grow; empty where too few rungs are known.
func (t *table) GrowthNote() string {
	g := t.res.Growth
	if g == nil {
		return ""
	}
	var parts []string
	for _, x := range []struct {
		name string
		s    *result.Slope
	}{{"memory", g.Memory}, {"peak memory", g.Peak}, {"sync CPU", g.SyncCPU}} {
		if x.s == nil {
			parts = append(parts, x.name+": too few rungs")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s grows as objects^%.2f (%d rungs; ^%.2f between the last two)", x.name, x.s.Exponent, x.s.Rungs, x.s.Last))
	}
	return "Beyond the smallest rung of the lowest rate, " + strings.Join(parts, "; ") + "."
}
