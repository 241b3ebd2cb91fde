package runner

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Progress shows how far a run is: one line that is redrawn on a terminal, plain
// lines elsewhere. A nil Progress is silent.
type Progress struct {
	// Columns of the terminal; a longer line is cut off, because one that the terminal wraps
	// cannot be redrawn. 0: not known.
	Columns int

	w        io.Writer
	terminal bool
	now      func() time.Time

	mu       sync.Mutex // guards what follows
	jobs     []job
	expected []time.Duration
	current  int // index of the cell under way; -1 before the first
	phaseNow string
	part     float64 // of the phase
	remark   string  // what is done to the parties just now
	started  time.Time
	cellAt   time.Time
	took     map[string]pace // by the finished cells: of each point, of each kind of cell, and of all
	drawn    int             // columns of the line on the terminal
	drawnAt  time.Time
}

// NewProgress writes to w; terminal says whether lines can be redrawn.
func NewProgress(w io.Writer, terminal bool) *Progress {
	return &Progress{w: w, terminal: terminal, now: time.Now, current: -1}
}

// pace is what finished cells took, and what was expected of them.
type pace struct {
	cells           int
	spent, expected time.Duration
}

// paceKeys are what a cell is measured by, the nearest first: its own point in another
// repetition, cells of its kind, which are those with the same watcher, and all.
func paceKeys(j job) [3]string {
	w := j.cell.Scenario.Watcher
	return [3]string{"point " + j.cell.ID, fmt.Sprintf("kind %v %s %s", j.cell.Calibrates, w.Strategy, w.Label()), "all"}
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

// Overheads used to guess how long a cell takes; corrected by the cells already run.
const (
	cellOverhead = 4 * time.Second // start, sync, check, tear down
	guessedRate  = 700.0           // writes per second of a closed loop on two CPUs
)

// expect guesses the length of a cell: its warm-up until storage has it, its load, then
// its backlog by Little's law.
func expect(s spec.Scenario) time.Duration {
	l := s.Load
	load := l.Duration.Std().Seconds()
	events := l.Rate * load
	if l.Model == result.ModelClosed {
		rate := min(guessedRate, float64(l.Threads)*100)
		events = rate * load
		if n := float64(l.Operations); n > 0 && (load == 0 || n < events) {
			events, load = n, n/rate
		}
	}
	if s.Simulated() {
		load = s.Speed().Length(l.Duration.Std()).Seconds() // events stay as many
	}
	warm := float64(l.Warmup.Operations)
	drain, warmup := 0.0, warm/guessedRate
	if mean := s.Storage.MeanLatency(podKind).Seconds(); mean > 0 && s.Watcher.Command == "" {
		senders := float64(s.Largest().Concurrency())
		if c := s.Storage.Capacity.Inflight; c > 0 {
			senders = min(senders, float64(c))
		}
		drain = min(max(0, events*mean/senders-load), s.DrainTimeout.Std().Seconds())
		warmup = max(warmup, warm*mean/senders)
	}
	return cellOverhead + time.Duration((warmup+load+drain)*float64(time.Second))
}

func (p *Progress) begin(jobs []job) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs, p.started, p.took = jobs, p.now(), map[string]pace{}
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
	p.clear()
	fmt.Fprintln(p.w, text)
}

func (p *Progress) cell(i int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.cellAt, p.phaseNow, p.part, p.remark = i, p.now(), "", 0, ""
}

func (p *Progress) phase(name string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phaseNow, p.part = name, 0
	if p.current < 0 {
		return
	}
	if p.terminal {
		p.draw(true)
	} else if name == PhaseLoad || name == PhaseDrain {
		fmt.Fprintln(p.w, p.text())
	}
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

// finished tells the figures of a cell in one line.
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
	p.clear()
	fmt.Fprintf(p.w, "[%d/%d] %s: %s\n", p.current+1, len(p.jobs), c.ID, summary(c))
	p.current++
	p.phaseNow, p.part, p.cellAt = "", 0, p.now()
}

// skipped says that a cell is not run.
func (p *Progress) skipped(id, why string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, "[%d/%d] %s: skipped: %s\n", p.current+1, len(p.jobs), id, why)
}

// summary is a cell in a few words.
func summary(c result.Cell) string {
	var w []string
	if !c.Valid {
		return "invalid: " + strings.Join(c.InvalidReasons, "; ")
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
	if len(bad) == 0 {
		bad = []string{"checks pass"}
	}
	return strings.Join(append(w, strings.Join(bad, ", ")), ", ")
}

func (p *Progress) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear takes the redrawn line off a terminal.
func (p *Progress) clear() {
	if p.terminal && p.drawn > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.drawn))
		p.drawn = 0
	}
}

// redrawEvery keeps a terminal calm.
const redrawEvery = 200 * time.Millisecond

func (p *Progress) draw(always bool) {
	if !p.terminal || p.current < 0 || p.current >= len(p.jobs) {
		return
	}
	if now := p.now(); always || now.Sub(p.drawnAt) >= redrawEvery {
		p.drawnAt = now
		text := p.text()
		if r := []rune(text); p.Columns > 0 && len(r) >= p.Columns {
			text = string(r[:max(0, p.Columns-2)]) + "…"
		}
		pad := max(0, p.drawn-len([]rune(text)))
		fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", pad))
		p.drawn = len([]rune(text))
	}
}

// text is the line: which cell, what it does, how far all is and how long still.
func (p *Progress) text() string {
	i := min(p.current, len(p.jobs)-1)
	s := fmt.Sprintf("[%d/%d] %s: %s", i+1, len(p.jobs), p.jobs[i].id, p.phaseNow)
	if p.part > 0 {
		s += fmt.Sprintf(" %.0f%%", 100*p.part)
	}
	if p.remark != "" {
		s += " (" + p.remark + ")"
	}
	done, left := p.estimate()
	if total := done + left; total > 0 {
		s += fmt.Sprintf(", %.0f%% of the run, %s left", 100*done.Seconds()/total.Seconds(), left.Round(time.Second))
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
	return p.now().Sub(p.started), max(0, left-inCell)
}
