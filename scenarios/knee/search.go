package knee

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// most valid cells that one rate gets: an odd number, so that most of them say one thing. As
// many cells besides may be invalid.
const most = 3

// mostHalved is the part of the first rate below which a search gives up that has not found a
// rate that is carried.
const mostHalved = 100

// Find searches the knees of all strategies, one after another. After an error, or an
// interruption, the report has what was found so far.
func Find(ctx context.Context, m Measurer, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	all, err := o.searches()
	if err != nil {
		return nil, err
	}
	base := all[0].base
	r := &Report{
		Schema: Schema, Scenario: base.Metadata.Name, Objective: o.Objective.String(), Limit: o.Objective.Limit, Resolution: o.Resolution,
		Unit: unit(base), Provider: base.Cluster.Provider, LoadS: base.Load.Duration.Std().Seconds(), Started: time.Now(),
	}
	var p pace
	for i, s := range all {
		f := &finder{
			Options: o, m: m, s: s, tried: map[float64][]Probe{}, unit: r.Unit, where: fmt.Sprintf("knee of %s (%d of %d)", s.label, i+1, len(all)),
			pace: &p, follow: len(all) - i - 1,
		}
		err = f.run(ctx)
		r.Strategies = append(r.Strategies, f.result())
		if err != nil {
			break
		}
	}
	r.Finished, r.Interrupted = time.Now(), ctx.Err() != nil
	return r, err
}

// finder searches one strategy.
type finder struct {
	Options
	m     Measurer
	s     *searched
	unit  string
	where string // for progress

	pace   *pace // of all strategies
	follow int   // strategies after this one

	probes  []Probe             // in the order in which they were run
	tried   map[float64][]Probe // by rate
	remarks []string
	steady  *Steady
}

// errSpent ends a search that has used its cells.
var errSpent = errors.New("no cells are left")

func (f *finder) run(ctx context.Context) error {
	err := f.search(ctx)
	if errors.Is(err, errSpent) {
		f.remark("the search used all of its %d cells", f.MaxCells)
		err = nil
	}
	if err != nil {
		return err
	}
	low, ok := f.carried()
	if !ok {
		return nil
	}
	return f.settle(ctx, low)
}

// search brackets the knee by doubling or halving, halves the bracket (by the geometric mean)
// until it is narrow enough, and measures the rate below it once more with another plan. If it
// is not carried then, the search goes on below it.
func (f *finder) search(ctx context.Context) error {
	for {
		rate, done := f.next()
		if done {
			low, ok := f.carried()
			if !ok || len(f.tried[low]) > 1 {
				return nil
			}
			if err := f.measure(ctx, low); err != nil { // confirm
				return err
			}
			if err := f.decide(ctx, low); err != nil {
				return err
			}
			if v, _ := verdict(f.tried[low]); v != Carried {
				f.remark("%s %s was carried once, and not when it was measured again", number(low), f.unit)
			}
			continue
		}
		if err := f.measure(ctx, rate); err != nil {
			return err
		}
		if err := f.decide(ctx, rate); err != nil {
			return err
		}
	}
}

// next is the rate to try, or that there is none.
func (f *finder) next() (rate float64, done bool) {
	low, carried := f.carried()
	high, bounded := f.above(low)
	switch {
	case len(f.tried) == 0:
		rate = f.s.first()
	case !carried:
		rate = rounded(high / 2)
		done = rate >= high || rate < f.s.first()/mostHalved
	case !bounded:
		rate = rounded(low * 2)
		done = rate <= low
	default:
		rate = rounded(math.Sqrt(low * high))
		done = (high-low)/high <= f.Resolution || rate <= low || rate >= high
	}
	return rate, done
}

// decide measures a rate again while its cells do not agree or are within noise of the
// objective. Where the first two are invalid, that is what it came to.
func (f *finder) decide(ctx context.Context, rate float64) error {
	for {
		cells := f.tried[rate]
		valid := 0
		for _, p := range cells {
			valid += map[bool]int{true: 1}[p.Verdict != Invalid]
		}
		_, sure := verdict(cells)
		if sure || valid >= most || len(cells) >= 2*most || valid == 0 && len(cells) > 1 {
			return nil
		}
		if err := f.measure(ctx, rate); err != nil {
			return err
		}
	}
}

// verdict is what the cells of a rate say together, and whether another could say nothing
// else.
func verdict(cells []Probe) (v string, sure bool) {
	yes, no, near := 0, 0, false
	for _, p := range cells {
		switch {
		case p.hard:
			return Not, true
		case p.Verdict == Carried:
			yes++
		case p.Verdict == Not:
			no++
		}
		near = near || p.near
	}
	switch {
	case yes+no == 0:
		return Invalid, false
	case yes > no:
		return Carried, yes > most/2 || !near && no == 0
	}
	return Not, no > most/2 || !near && yes == 0
}

// carried is the highest rate that was carried below any that was not. A carried rate above
// one that was not is chance, and no knee.
func (f *finder) carried() (rate float64, ok bool) {
	for _, r := range slices.Sorted(maps.Keys(f.tried)) {
		switch v, _ := verdict(f.tried[r]); v {
		case Not:
			return rate, ok
		case Carried:
			rate, ok = r, true
		}
	}
	return rate, ok
}

// above is the lowest rate above another that was not carried or was invalid.
func (f *finder) above(low float64) (rate float64, ok bool) {
	for _, r := range slices.Sorted(maps.Keys(f.tried)) {
		if v, _ := verdict(f.tried[r]); r > low && v != Carried {
			return r, true
		}
	}
	return 0, false
}

// measure runs one cell at a rate, each with a plan of its own.
func (f *finder) measure(ctx context.Context, rate float64) error {
	if len(f.probes) >= f.MaxCells {
		return errSpent
	}
	seed := f.s.base.Seed + uint64(len(f.tried[rate]))
	res, err := f.cells(ctx, rate, seed, 1)
	p, ok := f.read(res)
	if !ok {
		return errors.Join(fmt.Errorf("%s at %s %s: no cell was measured", f.s.label, number(rate), f.unit), err)
	}
	if err != nil && (ctx.Err() != nil || res.Crashes() == "") {
		return err
	}
	p.Rate, p.Seed = rate, seed
	f.probes = append(f.probes, p)
	f.tried[rate] = append(f.tried[rate], p)
	f.say(p)
	return nil
}

// cells runs so many at a rate.
func (f *finder) cells(ctx context.Context, rate float64, seed uint64, n int) (*result.Results, error) {
	file, err := f.s.at(rate, seed, n)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	res, err := f.m.Measure(ctx, file)
	f.pace.add(n, time.Since(began))
	return res, err
}

// read judges the one cell of a probe.
func (f *finder) read(res *result.Results) (p Probe, ok bool) {
	switch {
	case res == nil:
		return p, false
	case res.Crashes() != "":
		p = Probe{Verdict: Not, Why: res.Crashes(), hard: true}
	case len(res.Cells) == 0:
		return p, false
	default:
		p = f.Objective.judge(&res.Cells[0], f.s.base.Limits)
	}
	p.Run = res.Run.ID
	return p, true
}

func (f *finder) remark(format string, args ...any) {
	f.remarks = append(f.remarks, fmt.Sprintf(format, args...))
}

// report tells of progress.
func (f *finder) report(line string) {
	if f.Report != nil {
		f.Report(f.where + ": " + line)
	}
}

// say reports a probe, the bracket and how long all will take.
func (f *finder) say(p Probe) {
	line := fmt.Sprintf("%s %s %s", number(p.Rate), f.unit, p.Verdict)
	if p.Why != "" {
		line += " (" + p.Why + ")"
	}
	low, carried := f.carried()
	high, bounded := f.above(low)
	switch {
	case carried && bounded:
		line += fmt.Sprintf("; the knee is between %s and %s", number(low), number(high))
	case carried:
		line += fmt.Sprintf("; the knee is above %s", number(low))
	case bounded:
		line += fmt.Sprintf("; the knee is below %s", number(high))
	}
	f.report(fmt.Sprintf("%s; cell %d, at most %d%s", line, len(f.probes), f.MaxCells, f.pace.left(f.ahead()+f.Repeat+f.later())))
}
