package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// podKind is the kind of the load.
const podKind = "Pod"

// queuesField is the axis over which laws are fitted.
const queuesField = "watcher.podQueueNum"

// point is a point of the matrix with what its valid cells measured.
type point struct {
	name     string // the cells' id without the repetition
	group    string // strategy, and what else tells it apart but for the queues
	scenario spec.Scenario
	cells    []*result.Cell
	loads    []*load // of the cells; nil where there is no op log
}

func (p *point) strategy() string { return p.scenario.Watcher.Strategy }
func (p *point) queues() int      { return p.scenario.Watcher.Concurrency() }

// label names the point in a table.
func (p *point) label() string {
	if p.queues() == 1 {
		return p.group + ", 1 queue"
	}
	return fmt.Sprintf("%s, %d queues", p.group, p.queues())
}

// inFlight is how many requests for Pods storage may be answering.
func (p *point) inFlight() int {
	n := p.queues()
	if c := p.allowed().Inflight; c > 0 {
		n = min(n, c)
	}
	return n
}

// allowed is storage's capacity for Pods.
func (p *point) allowed() spec.Capacity {
	c := p.scenario.Storage.Capacity
	if len(c.Kinds) > 0 && !slices.Contains(c.Kinds, podKind) {
		return spec.Capacity{}
	}
	return c
}

// median of what the cells have; nil where one of them has none.
func (p *point) median(of func(*result.Cell) *float64) *float64 {
	var all []float64
	for _, c := range p.cells {
		v := of(c)
		if v == nil {
			return nil
		}
		all = append(all, *v)
	}
	return median(all)
}

// median of values, nil without any.
func median(values []float64) *float64 {
	m, ok := stats.Median(values)
	if !ok {
		return nil
	}
	return &m
}

// leastBacklog is the part of the drain in which there was a backlog in a cell whose rate is
// a limit.
const leastBacklog = 0.5

// limited reports whether storage's rate was a limit rather than that of the load.
func (p *point) limited() bool {
	return !slices.ContainsFunc(p.cells, func(c *result.Cell) bool {
		b, d := c.Storage.BacklogSeconds, c.Handler.DrainSeconds
		return c.Pace != nil && c.Pace.KeepsUp || b == nil || d == nil || *b < leastBacklog**d
	})
}

// read finds the points of a run that models can be held against.
func read(dir string, res *result.Results, r *Report) (points []*point, err error) {
	byName := map[string]*point{}
	for i := range res.Cells {
		c := &res.Cells[i]
		out := func(why string) { r.LeftOut = append(r.LeftOut, c.ID+": "+why) }
		switch {
		case c.Calibrates:
			continue
		case !c.Valid:
			out("invalid: " + strings.Join(c.InvalidReasons, "; "))
			continue
		case c.Cut:
			out("its drain was cut")
			continue
		}
		folder := history.CellDir(dir, c.ID)
		record, err := history.LoadCell(folder)
		if err != nil {
			return nil, badinput.New("name the folder of a run, with its cells", "%s: the record of the cell %s cannot be read: %v", dir, c.ID, err)
		}
		s := record.Scenario
		switch {
		case !record.Watcher.Own:
			out("of another watcher it is not known how it queues")
			continue
		case s.Watcher.Strategy == "adaptive":
			out("adaptive finds the number of requests in flight itself")
			continue
		case len(s.Events)+len(s.Storage.Faults)+len(s.Watch.Faults) > 0:
			out("with faults there is no steady rate")
			continue
		}
		name := c.Point()
		p := byName[name]
		if p == nil {
			p = &point{name: name, group: group(&s, c.Params), scenario: s}
			byName[name] = p
			points = append(points, p)
		}
		l, err := readLoad(folder, &s)
		if err != nil {
			return nil, err
		}
		p.cells, p.loads = append(p.cells, c), append(p.loads, l)
	}
	slices.SortStableFunc(points, func(a, b *point) int {
		if a.group != b.group {
			return strings.Compare(a.group, b.group)
		}
		return a.queues() - b.queues()
	})
	return points, nil
}

// group is the strategy and the other coordinates of the point.
func group(s *spec.Scenario, params map[string]string) string {
	words := []string{s.Watcher.Strategy}
	if label := s.Watcher.Label(); label != "" {
		words = append(words, label)
	}
	var names []string
	for name := range params {
		if name != queuesField && name != "watcher.strategy" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		words = append(words, params[name])
	}
	return strings.Join(words, " ")
}
