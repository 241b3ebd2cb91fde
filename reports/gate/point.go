package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

var sides = []string{"BASE", "NEW"}

// arrange finds the blocks: a drift falls out only of four cells that were run one after the other, in one session,
// A B B A.
func (p *point) arrange(order []string) {
	p.paired = true
	at, base := map[string]int{}, map[*result.Cell]bool{}
	for i, id := range order {
		at[id] = i
	}
	blocks := map[int][]*result.Cell{}
	for side := range sides {
		for _, c := range p.all[side] {
			base[c] = side == 0
			blocks[(c.Repetition-1)/2] = append(blocks[(c.Repetition-1)/2], c)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(blocks)) {
		cells := blocks[k]
		if len(cells) != 4 {
			continue
		}
		block := [4]*result.Cell{cells[0], cells[2], cells[3], cells[1]} // each side's are in order of repetition
		slices.SortFunc(cells, func(a, b *result.Cell) int { return cmp.Compare(at[a.ID], at[b.ID]) })
		row, whole := true, true
		for i, c := range cells {
			inner := i == 1 || i == 2
			row = row && at[c.ID] == at[cells[0].ID]+i && c.Resumed == cells[0].Resumed && (base[c] != base[cells[0]]) == inner
			whole = whole && c.Valid && !c.Cut
		}
		switch {
		case !row:
			p.apart++
		case whole:
			p.blocks = append(p.blocks, block)
		}
	}
}

// theirs reports whether some cell is of a watcher that is not k8s-watch, which may not report its own account.
func (p *point) theirs() bool {
	return slices.ContainsFunc(slices.Concat(p.all[0], p.all[1]), func(c *result.Cell) bool {
		return c.Handler.Strategy == result.External
	})
}

func (p *point) known(fig figure) (known int) {
	for _, c := range slices.Concat(p.cells[0], p.cells[1]) {
		if fig.value(c) != nil {
			known++
		}
	}
	return known
}

type samples struct {
	sides  [2][]float64
	same   [][2]float64 // base and new of one repetition, which have one plan
	blocks [][4]float64 // of a paired run
	paired bool
}

// samples collects the values; why says what is missing.
func (p *point) samples(fig figure) (s samples, why string) {
	s.paired = p.paired
	for side, cells := range p.cells {
		if len(cells) == 0 {
			return s, sides[side] + " has no cell that is valid and drained"
		}
		for _, c := range cells {
			if v := fig.value(c); v != nil {
				s.sides[side] = append(s.sides[side], *v)
			}
		}
		if missing := len(cells) - len(s.sides[side]); missing > 0 {
			return s, fmt.Sprintf("missing in %d of %d cells of %s", missing, len(cells), sides[side])
		}
	}
	for _, a := range p.cells[0] {
		for _, b := range p.cells[1] {
			if a.Repetition == b.Repetition {
				s.same = append(s.same, [2]float64{*fig.value(a), *fig.value(b)})
			}
		}
	}
	if len(s.same) == 0 {
		return s, "BASE and NEW have no repetition in common"
	}
	for _, b := range p.blocks {
		s.blocks = append(s.blocks, [4]float64{*fig.value(b[0]), *fig.value(b[1]), *fig.value(b[2]), *fig.value(b[3])})
	}
	return s, ""
}

// ratio is NEW ÷ BASE; its N is 0 where that is not known.
func (p *point) ratio(fig figure) (r stats.Ratio) {
	if s, why := p.samples(fig); why == "" {
		r = s.ratio()
	}
	return r
}

// ratio is that within the blocks where there are any.
func (s samples) ratio() stats.Ratio {
	if s.paired {
		return stats.PairedRatio(s.blocks)
	}
	return stats.Against(s.sides[:1], s.sides[1:])[0]
}

type figure struct {
	unit   string
	better string // one of result.Lower and Higher, or neither
	value  func(*result.Cell) *float64
}

// figureOf reads a metric's path, or two with a slash between.
func figureOf(name string) (fig figure, err error) {
	var of [2]result.Metric
	parts := strings.SplitN(name, "/", 2)
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if of[i], err = result.MetricByName(part); err != nil {
			return figure{}, fmt.Errorf("%s: %w", part, err)
		}
	}
	if len(parts) == 1 {
		return figure{of[0].Unit, of[0].Better, of[0].Of}, nil
	}
	unit := of[0].Unit
	if of[1].Unit != "" {
		unit += "/" + of[1].Unit
	}
	return figure{unit, cmp.Or(of[0].Better, result.Lower), func(c *result.Cell) *float64 {
		return stats.Quotient(of[0].Of(c), of[1].Of(c))
	}}, nil
}

// mustFigure is figureOf of a name that is known to be one.
func mustFigure(name string) figure {
	fig, err := figureOf(name)
	if err != nil {
		panic(err)
	}
	return fig
}
