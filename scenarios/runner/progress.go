package runner

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Progress shows how far a run is, on a screen and to an Observer. A nil Progress is silent.
type Progress struct {
	screen   *terminal.Screen // nil: none
	observer Observer         // nil: nobody
	now      func() time.Time

	mu              sync.Mutex // guards what follows; held while the observer is notified, which keeps the order
	at              Moment
	jobs            []job
	expected        []time.Duration
	current         int     // index of the cell under way; -1 before the first
	part            float64 // of the phase
	started, cellAt time.Time
	budget          time.Duration // of the run, 0 is none
	spent, guessed  time.Duration // by the finished cells
}

// NewProgress shows a run on a screen.
func NewProgress(s *terminal.Screen) *Progress {
	return &Progress{screen: s, now: time.Now, current: -1}
}

func (p *Progress) do(change func()) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// tell notifies the observer of a change, then clears what applies to one moment only.
func (p *Progress) tell() {
	if p.observer != nil {
		p.observer.Observe(p.at)
	}
	p.at.Sample, p.at.Metrics, p.at.Err, p.at.Verdict = nil, nil, nil, nil
}

func (p *Progress) begin(jobs []job, budget time.Duration) {
	p.do(func() {
		p.jobs, p.started, p.budget = jobs, p.now(), budget
		for _, j := range jobs {
			p.expected = append(p.expected, expect(j.cell.Scenario))
		}
	})
}

// Line shows a line of text above the progress.
func (p *Progress) Line(text string) { p.do(func() { p.line(text) }) }

func (p *Progress) line(text string) {
	if p.screen != nil {
		p.screen.Line(text)
	}
}

func (p *Progress) cell(i int) {
	p.do(func() {
		p.current, p.cellAt, p.part = i, p.now(), 0
		p.at = Moment{Cell: p.jobs[i].id, Number: i + 1, Of: len(p.jobs)}
		p.tell()
	})
}

func (p *Progress) phase(name string) {
	p.do(func() {
		p.at.Phase, p.at.Note, p.part = name, "", 0
		p.tell()
		p.draw(name == PhaseLoad || name == PhaseDrain || p.screen != nil && p.screen.Live())
	})
}

// note says what is done to the parties, until it is said anew.
func (p *Progress) note(text string) { p.do(func() { p.at.Note = text; p.tell(); p.draw(false) }) }

// fault says which faults of storage and watch are in force.
func (p *Progress) fault(text string) { p.do(func() { p.at.Fault = text; p.tell() }) }

// sample shows a reading, with the watcher's metrics as text, or why there are none.
func (p *Progress) sample(x history.Sample, metrics []byte, err error) {
	p.do(func() { p.at.Sample, p.at.Metrics, p.at.Err = &x, metrics, err; p.tell() })
}

// share says how much of the phase is done.
func (p *Progress) share(part float64) { p.do(func() { p.part = min(max(part, 0), 1); p.draw(false) }) }

// finished prints a cell's figures in one line.
func (p *Progress) finished(c result.Cell) {
	p.do(func() {
		p.spent += p.now().Sub(p.cellAt)
		p.guessed += p.expected[p.current]
		p.line(fmt.Sprintf("[%d/%d] %s: %s", p.current+1, len(p.jobs), c.ID, summary(c)))
		p.current++
		p.part, p.cellAt = 0, p.now()
		p.at.Phase, p.at.Fault, p.at.Note, p.at.Verdict = "", "", "", verdictOf(&c)
		p.tell()
	})
}

func (p *Progress) end() {
	p.do(func() {
		if p.screen != nil {
			p.screen.Clear()
		}
	})
}

func (p *Progress) draw(force bool) {
	if p.screen != nil && p.current >= 0 && p.current < len(p.jobs) && p.at.Phase != "" {
		p.screen.Status(p.text(), force)
	}
}

// text is the line: which cell, what it does, how far all is and how long still.
func (p *Progress) text() string {
	s := fmt.Sprintf("[%d/%d] %s: %s", p.current+1, len(p.jobs), p.at.Cell, p.at.Phase)
	if p.part > 0 {
		s += fmt.Sprintf(" %.0f%%", 100*p.part)
	}
	if done, left := p.estimate(); done+left > 0 {
		s += fmt.Sprintf(", %.0f%% of the run, %s left", 100*done.Seconds()/(done+left).Seconds(), left.Round(time.Second))
	}
	if p.at.Note != "" {
		s += " (" + p.at.Note + ")"
	}
	return s
}

// estimate is the time spent and the time left: what is guessed, corrected by how wrong the guesses were so far.
func (p *Progress) estimate() (done, left time.Duration) {
	factor := 1.0
	if p.guessed > 0 {
		factor = p.spent.Seconds() / p.guessed.Seconds()
	}
	likely := func(i int) time.Duration { return time.Duration(factor * float64(p.expected[i])) }
	for j := p.current; j < len(p.expected); j++ {
		left += likely(j)
	}
	if p.current < len(p.expected) {
		left -= min(p.now().Sub(p.cellAt), likely(p.current))
	}
	if done = p.now().Sub(p.started); p.budget > 0 {
		left = min(left, max(0, p.budget-done))
	}
	return done, left
}

// summary is a cell in a few words.
func summary(c result.Cell) string {
	if !c.Valid {
		w := []string{"invalid: " + strings.Join(c.InvalidReasons, "; ")}
		if bad := violated(&c); len(bad) > 0 {
			w = append(w, "FAIL "+strings.Join(bad, " "))
		}
		return strings.Join(w, ", ")
	}
	w := []string{fmt.Sprintf("%.0f writes/s", c.Load.QPS)}
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
	return strings.Join(append(w, render.CellChecks(&c)), ", ")
}
