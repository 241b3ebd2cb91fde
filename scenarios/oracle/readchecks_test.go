package oracle

import (
	"cmp"
	"slices"
)

// readChecks are R1 to R3 by the sentences of docs/query.md.
func (r *record) readChecks(a answers) {
	s := &r.cell.Scenario.Readers
	all := map[string]verdict{}
	if s.Get+s.List > 0 {
		all["R1"] = r.answered()
	}
	if s.Watches > 0 {
		all["R2"] = r.shown()
	}
	if s.Webhooks > 0 {
		all["R3"] = r.notified()
	}
	for g, v := range all {
		at := "checks." + g + "."
		a[at+"judged"] = float64(v.judged)
		switch {
		case v.violations > 0:
			a[at+"verdict"], a[at+"violations"] = "fail", float64(v.violations)
		case v.judged == 0:
			a[at+"verdict"] = "not-judged"
		default:
			a[at+"verdict"] = "pass"
		}
	}
}

// answered is R1. A query that the reader cut off at the end has no answer.
func (r *record) answered() (v verdict) {
	least := r.alwaysThere()
	for _, x := range r.reads {
		if (x.What != "get" && x.What != "list") || x.Code != 200 || x.Error == "cut off at the end" {
			continue
		}
		v.judged++
		if x.Error != "" || x.What == "list" && x.Items < least {
			v.violations++
		}
	}
	return v
}

// watched is what one watch came to.
type watched struct {
	verdict
	first                     map[uint64]int64 // when it had each change for the first time
	missed, resumed, relisted int
}

// watched follows a watch. One that begins anew after a 410 is owed nothing of what was
// between.
func (r *record) watched(h *happening, reader int) watched {
	w := watched{first: map[uint64]int64{}}
	opened, gone, newest := false, false, uint64(0)
	skipped := map[uint64]bool{}
	skip := func(to uint64) {
		for version := range h.changes {
			if version > newest && version <= to {
				skipped[version] = true
			}
		}
	}
	for _, x := range r.reads {
		switch {
		case x.Reader != reader:
		case x.What == "closed":
			gone = gone || x.Code == 410
		case x.What == "opened" && opened && !gone:
			w.resumed++
		case x.What == "opened":
			if opened {
				w.relisted++
			}
			opened, gone = true, false
			skip(x.Version)
		case x.What != "event":
		case x.Type == "BOOKMARK":
			for version := range h.changes {
				if version > newest && version <= x.Version && !skipped[version] {
					w.violations++
					break
				}
			}
		case !h.unknown(x.Version):
			c, is := h.changes[x.Version]
			if !is || c.UID != x.UID || c.Type != x.Type {
				w.violations++
			}
			if !is {
				continue
			}
			w.judged++
			if w.first[x.Version] != 0 || x.Version < newest {
				w.violations++
			}
			w.first[x.Version] = cmp.Or(w.first[x.Version], x.Ended)
			newest = max(newest, x.Version)
		}
	}
	for version := range h.changes {
		if w.first[version] == 0 && !skipped[version] {
			w.missed++
		}
	}
	w.violations += int64(w.missed)
	return w
}

// shown is R2.
func (r *record) shown() (v verdict) {
	h := r.happened()
	for reader := 1; reader <= r.cell.Scenario.Readers.Watches; reader++ {
		w := r.watched(h, reader)
		v.judged, v.violations = v.judged+w.judged, v.violations+w.violations
	}
	return v
}

// notified is R3. Deliveries are recorded as they end; their order is that in which they came.
func (r *record) notified() (v verdict) {
	h := r.happened()
	all := slices.DeleteFunc(slices.Clone(r.reads), func(x read) bool { return x.What != "delivery" })
	slices.SortStableFunc(all, func(a, b read) int { return cmp.Compare(a.Started, b.Started) })
	for reader := 1; reader <= r.cell.Scenario.Readers.Webhooks; reader++ {
		last, seen := map[string]uint64{}, map[uint64]bool{}
		for _, x := range all {
			if x.Reader == reader && x.Error != "" {
				v.violations++
			}
			switch c, is := h.changes[x.Version]; {
			case x.Reader != reader:
			case !x.told() || h.unknown(x.Version):
			case !is:
				v.violations++
			default:
				v.judged++
				for _, wrong := range []bool{c.UID != x.UID || c.Type != x.Type, !x.Signed, x.Version < last[c.UID]} {
					if wrong {
						v.violations++
					}
				}
				last[c.UID], seen[x.Version] = max(last[c.UID], x.Version), true
			}
		}
		v.violations += int64(len(h.changes) - len(seen))
	}
	return v
}

// readersValid says that the readers did what they were there for, and that the control saw
// what the load did.
func (r *record) readersValid(a answers, least float64) bool {
	s := &r.cell.Scenario.Readers
	if !s.records() {
		return true
	}
	number := func(path string) float64 {
		v, _ := a["readers."+path].(float64)
		return v
	}
	enough := func(done, planned float64) bool { return done > 0 && done >= least*planned }
	valid := (s.Get == 0 || enough(number("get.done"), number("get.planned"))) && (s.List == 0 || enough(number("list.done"), number("list.planned")))
	valid = valid && (s.Watches == 0 || enough(number("watches.events"), number("watches.changes")*float64(s.Watches)))
	due := number("webhooks.receivers") * number("webhooks.changes")
	valid = valid && (s.Webhooks == 0 || number("webhooks.delivered") > 0 && due-number("webhooks.missed") >= least*due)
	h := r.happened()
	for version := range h.due {
		_, seen := h.changes[version]
		valid = valid && seen
	}
	listed := slices.ContainsFunc(r.reads, func(x read) bool { return x.What == "closed" && x.Reader == 0 && x.Code == 410 })
	return valid && len(h.due) > 0 && !listed
}
