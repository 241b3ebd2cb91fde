package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/dashboards/live"
	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/runner"
)

// farewell is how long the page of a run that has ended is served to its viewers: a page asks each half second.
const farewell = 1500 * time.Millisecond

// livePage shows runs while they go on. A nil one shows nothing.
type livePage struct {
	server *live.Server
	err    error // of the server, once serving is done
	stop   context.CancelFunc
	done   chan struct{}

	mu  sync.Mutex // guards run
	run live.Run
}

var _ runner.Observer = (*livePage)(nil)

func openLive(cmd *cobra.Command, addr string) (*livePage, error) {
	l, err := listenLive(cmd, cmd.ErrOrStderr(), "--live", addr)
	if err != nil {
		return nil, err
	}
	p := &livePage{server: live.New("Live run"), done: make(chan struct{})}
	ctx, stop := context.WithCancel(cmd.Context())
	p.stop = stop
	go func() { // ends with stop; close awaits it
		defer close(p.done)
		p.err = p.server.Run(ctx, l, nil)
	}()
	return p, nil
}

// listenLive opens the address of a page and says where it is.
func listenLive(cmd *cobra.Command, say io.Writer, flag, addr string) (net.Listener, error) {
	l, err := live.Listen(addr)
	if err != nil {
		return nil, badinput.New("", "%s %s: %v", flag, addr, err)
	}
	fmt.Fprintf(say, "live page: http://%s/\n", l.Addr())
	warnRemote(cmd, live.Remote(l), flag, addr)
	return l, nil
}

func warnRemote(cmd *cobra.Command, remote bool, flag, addr string) {
	if remote {
		fmt.Fprintf(cmd.ErrOrStderr(), "watchbench: %s %s: other machines can reach it, and nobody has to authenticate\n",
			flag, addr)
	}
}

// observer receives the runner's progress; nil without a page.
func (p *livePage) observer() runner.Observer {
	if p == nil {
		return nil
	}
	return p
}

// Observe implements runner.Observer.
func (p *livePage) Observe(m runner.Moment) {
	r := live.Reading{Time: time.Now(), Metrics: m.Metrics, Err: m.Err}
	if s := m.Sample; s != nil {
		r.Time, r.InFlight, r.Memory = time.Unix(0, s.Time), s.StorageInFlight, s.Memory()
		if u, ok := s.Parties[history.PartyWatcher]; ok {
			r.CPUSeconds = &u.CPUSeconds
		}
	}
	p.show(r, func(run *live.Run) {
		run.Cell, run.Number, run.Of, run.Phase, run.Fault, run.Note = m.Cell, m.Number, m.Of, m.Phase, m.Fault, m.Note
		if m.Verdict != nil {
			run.Add(verdictOf(m.Cell, m.Verdict))
		}
	})
}

func verdictOf(cell string, v *runner.Verdict) live.Verdict {
	state := live.StatePassed
	switch {
	case len(v.Violated) > 0:
		state = live.StateFailed
	case !v.Valid:
		state = live.StateInvalid
	case v.Allowed:
		state = live.StateAllowed
	case v.Open:
		state = live.StateOpen
	}
	return live.Verdict{Cell: cell, State: state, Text: v.Text}
}

func (p *livePage) show(r live.Reading, change func(*live.Run)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.run)
	r.Run = new(p.run)
	p.server.Show(r)
}

func (p *livePage) begin(scenario string) {
	if p != nil {
		p.show(live.Reading{Time: time.Now()}, func(run *live.Run) { *run = live.Run{Scenario: scenario} })
	}
}

// close ends the page, once those who view it know how the run ended.
func (p *livePage) close() error {
	if p == nil {
		return nil
	}
	p.show(live.Reading{Time: time.Now()}, func(run *live.Run) {
		*run = live.Run{Scenario: run.Scenario, Verdicts: run.Verdicts, Judged: run.Judged, Failed: run.Failed, Ended: true}
	})
	if p.server.Viewed() {
		time.Sleep(farewell)
	}
	p.stop()
	<-p.done
	if p.err != nil {
		return fmt.Errorf("serve the live page: %w", p.err)
	}
	return nil
}
