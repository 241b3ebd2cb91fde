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
	spent    time.Duration // in finished cells
	guessed  time.Duration // expected for those
	drawn    int           // columns of the line on the terminal
	drawnAt  time.Time
}

// NewProgress writes to w; terminal says whether lines can be redrawn.
func NewProgress(w io.Writer, terminal bool) *Progress {
	return &Progress{w: w, terminal: terminal, now: time.Now, current: -1}
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
	p.jobs, p.started = jobs, p.now()
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
	p.spent += p.now().Sub(p.cellAt)
	p.guessed += p.expected[p.current]
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

// estimate is the time spent and the time left, the guesses corrected by how wrong
// they were so far.
func (p *Progress) estimate() (done, left time.Duration) {
	factor := 1.0
	if p.guessed > 0 {
		factor = p.spent.Seconds() / p.guessed.Seconds()
	}
	for j := p.current; j < len(p.expected); j++ {
		left += time.Duration(factor * float64(p.expected[j]))
	}
	inCell := p.now().Sub(p.cellAt)
	if p.current < len(p.expected) {
		inCell = min(inCell, time.Duration(factor*float64(p.expected[p.current])))
	}
	return p.now().Sub(p.started), max(0, left-inCell)
}
