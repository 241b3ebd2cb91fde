package render

// grid is the throughput table as text, shared by the formats that print it.
type grid struct {
	keys   []heading // strategy, load, further parameters
	values []heading
	checks heading
	lines  []line
}

type heading struct {
	group       group // "" for keys
	Title, Unit string
}

type line struct {
	row     *row
	keys    []string
	values  []string
	best    int // index of the value that is best of its load, or -1
	verdict string
	invalid bool // values are withheld
}

func (t *table) grid() grid {
	g := grid{
		keys:   []heading{{Title: "strategy"}, {Title: "load"}},
		checks: heading{group: ours, Title: "checks"},
	}
	for _, k := range t.extra {
		g.keys = append(g.keys, heading{Title: clean(k)})
	}
	drainIndex := -1
	for i, c := range columns {
		g.values = append(g.values, heading{group: c.group, Title: c.title, Unit: c.unit})
		if c == drain {
			drainIndex = i
		}
	}
	best := map[*row]bool{}
	for _, h := range headlines(t) {
		best[h.best] = true
	}
	for _, r := range t.rows {
		l := line{row: r, keys: []string{clean(r.strategy), clean(r.load)}, verdict: r.verdict(), invalid: r.state() == stateInvalid, best: -1}
		for _, v := range r.extra {
			l.keys = append(l.keys, clean(v))
		}
		if best[r] {
			l.best = drainIndex
		}
		for _, c := range columns {
			if l.invalid {
				l.values = append(l.values, "")
				continue
			}
			l.values = append(l.values, c.text(c.value(r)))
		}
		g.lines = append(g.lines, l)
	}
	return g
}

// name is how notes refer to a line.
func (r *row) name() string { return r.label() + " / " + clean(r.load) }
