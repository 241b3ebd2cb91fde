package runner

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
)

// Screen is where progress is shown: lines, and a status that is drawn in place on a terminal
// and is a plain line now and then elsewhere.
type Screen interface {
	Line(text string)
	Status(text string, force bool)
	Clear()
	Live() bool   // drawn in place
	Columns() int // of a status; 0 unknown
}

var _ Screen = (*terminal.Screen)(nil)

// Progress shows how far a run is. A nil Progress is silent.
type Progress struct {
	screen Screen
	now    func() time.Time

	mu       sync.Mutex // guards what follows
	jobs     []job
	expected []time.Duration
	current  int // index of the cell under way; -1 before the first
	phaseNow string
	part     float64 // of the phase
	remark   string  // what is done to the parties just now
	rates    rates
	started  time.Time
	budget   time.Duration // of the run, 0 is none
	cellAt   time.Time
	took     map[string]pace // by the finished cells: of each point, of each kind of cell, and of all
}

// NewProgress shows a run on a screen.
func NewProgress(s Screen) *Progress {
	return &Progress{screen: s, now: time.Now, current: -1}
}

// pace is the time finished cells took, and the time expected.
type pace struct {
	cells           int
	spent, expected time.Duration
}

// paceKeys are what a cell is measured by, the nearest first: its own point in another
// repetition, cells of its kind, which are those with the same watcher, and all.
func paceKeys(j job) [3]string {
	w := j.cell.Scenario.Watcher
	return [3]string{"point " + j.cell.ID, fmt.Sprintf("kind %s %s", w.Strategy, w.Label()), "all"}
}

// likely is how long a cell will take: as long as its point did, else as long as is guessed,
// corrected by how wrong the guesses were for its kind, else for all.
func (p *Progress) likely(i int) time.Duration {
	keys := paceKeys(p.jobs[i])
	if x := p.took[keys[0]]; x.cells > 0 {
		return x.spent / time.Duration(x.cells)
	}
	for _, k := range keys[1:] {
		if x := p.took[k]; x.expected > 0 {
			return time.Duration(x.spent.Seconds() / x.expected.Seconds() * float64(p.expected[i]))
		}
	}
	return p.expected[i]
}

func (p *Progress) begin(jobs []job, budget time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs, p.started, p.took, p.budget = jobs, p.now(), map[string]pace{}, budget
	for _, j := range jobs {
		p.expected = append(p.expected, expect(j.cell.Scenario))
	}
}

// Line shows a line of text above the progress.
func (p *Progress) Line(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Line(text)
}

func (p *Progress) cell(i int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.cellAt, p.phaseNow, p.part, p.remark, p.rates = i, p.now(), "", 0, "", rates{}
}

func (p *Progress) phase(name string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phaseNow, p.part = name, 0
	p.draw(p.screen.Live() || name == PhaseLoad || name == PhaseDrain)
}

// note says what is done to the parties, until it is said anew.
func (p *Progress) note(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remark = text
	p.draw(false)
}

// share says how much of the phase is done.
func (p *Progress) share(part float64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part = min(max(part, 0), 1)
	p.draw(false)
}

// wrote says how many writes the apiserver has taken since the load began.
func (p *Progress) wrote(n int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rates.writes.read(p.now(), float64(n))
	p.draw(false)
}

// sampled says how many requests storage has answered and how many events wait in the
// watcher; nil where that is not known. It neither draws nor waits for what does: a terminal that
// takes nothing must not hold up the samples of the record.
func (p *Progress) sampled(requests, backlog *float64) {
	if p == nil {
		return
	}
	if !p.mu.TryLock() {
		return // the next sample says it
	}
	defer p.mu.Unlock()
	if requests != nil {
		p.rates.requests.read(p.now(), *requests)
	}
	p.rates.backlog = backlog
}

// finished prints a cell's figures in one line.
func (p *Progress) finished(c result.Cell) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range paceKeys(p.jobs[p.current]) {
		x := p.took[k]
		p.took[k] = pace{x.cells + 1, x.spent + p.now().Sub(p.cellAt), x.expected + p.expected[p.current]}
	}
	p.screen.Line(fmt.Sprintf("[%d/%d] %s: %s", p.current+1, len(p.jobs), c.ID, summary(c)))
	p.current++
	p.phaseNow, p.part, p.cellAt, p.rates = "", 0, p.now(), rates{}
}

// skipped says that a cell is not run.
func (p *Progress) skipped(id, why string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Line(fmt.Sprintf("[%d/%d] %s: skipped: %s", p.current+1, len(p.jobs), id, why))
}

// summary is a cell in a few words.
func summary(c result.Cell) string {
	var w []string
	if !c.Valid {
		w = append(w, "invalid: "+strings.Join(c.InvalidReasons, "; "))
		if bad := violated(&c); len(bad) > 0 {
			w = append(w, strings.Join(bad, " ")+" failed")
		}
		return strings.Join(w, ", ")
	}
	w = append(w, fmt.Sprintf("%.0f writes/s", c.Load.QPS))
	if q := c.Storage.QPS; q != nil {
		w = append(w, fmt.Sprintf("storage %.1f/s", *q))
	}
	if d := c.Handler.DrainSeconds; d != nil {
		how := "drained in"
		if c.Cut {
			how = "cut, Pods drained in"
		}
		if c.Handler.DrainProjected {
			how = fmt.Sprintf("cut at %.0f%%, would drain in", 100*c.CutFraction)
		}
		w = append(w, fmt.Sprintf("%s %.1f s", how, *d))
	}
	var bad []string
	for _, g := range check.Guarantees {
		switch v := c.Checks[g].Verdict; v {
		case result.Fail:
			bad = append(bad, g+" failed")
		case result.Allowed:
			bad = append(bad, g+" failed as expected")
		}
	}
	if unjudged, weak := open(&c); len(bad) == 0 {
		bad = []string{"checks pass"}
		if len(unjudged)+len(weak) > 0 {
			bad = []string{"no check failed"}
		}
		if len(unjudged) > 0 {
			bad = append(bad, strings.Join(unjudged, " ")+" not judged")
		}
		if len(weak) > 0 {
			bad = append(bad, strings.Join(weak, " ")+" without power")
		}
	}
	return strings.Join(append(w, bad...), ", ")
}

// open are the core checks of a cell that could not be judged, and those that too little could
// have failed.
func open(c *result.Cell) (unjudged, weak []string) {
	for _, g := range result.Core {
		switch c.Checks[g].Verdict {
		case result.NotJudged:
			unjudged = append(unjudged, g)
		case result.NoPower:
			weak = append(weak, g)
		}
	}
	return unjudged, weak
}

func (p *Progress) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Clear()
}

func (p *Progress) draw(force bool) {
	if p.current >= 0 && p.current < len(p.jobs) && p.phaseNow != "" {
		p.screen.Status(p.text(p.screen.Columns()), force)
	}
}

// leastID is how much of a cell's name stays where there is no room for all of it.
const leastID = 12

// text is the line: which cell, what it does, how far all is and how long still, then how fast
// it goes. Of what a narrow screen has no room for, the last go first.
func (p *Progress) text(columns int) string {
	head, id := fmt.Sprintf("[%d/%d] ", p.current+1, len(p.jobs)), p.jobs[p.current].id
	phase := ": " + p.phaseNow
	if p.part > 0 {
		phase += fmt.Sprintf(" %.0f%%", 100*p.part)
	}
	var more []string
	done, left := p.estimate()
	if total := done + left; total > 0 {
		more = append(more, fmt.Sprintf(", %.0f%% of the run, %s left", 100*done.Seconds()/total.Seconds(),
			left.Round(time.Second)))
	}
	for _, r := range p.rates.texts(p.phaseNow, p.now()) {
		more = append(more, ", "+r)
	}
	if p.remark != "" {
		more = append(more, " ("+p.remark+")")
	}
	if columns <= 0 {
		return head + id + phase + strings.Join(more, "")
	}
	room := columns - terminal.Columns(head+phase)
	if len(more) > 0 {
		id = terminal.Cut(id, max(leastID, room-terminal.Columns(more[0])))
	}
	s := head + id + phase
	for _, m := range more {
		if terminal.Columns(s+m) > columns {
			break
		}
		s += m
	}
	return s
}

// estimate is the time spent and the time left.
func (p *Progress) estimate() (done, left time.Duration) {
	for j := p.current; j < len(p.expected); j++ {
		left += p.likely(j)
	}
	inCell := p.now().Sub(p.cellAt)
	if p.current < len(p.expected) {
		inCell = min(inCell, p.likely(p.current))
	}
	done, left = p.now().Sub(p.started), max(0, left-inCell)
	if p.budget > 0 {
		left = min(left, max(0, p.budget-done))
	}
	return done, left
}
