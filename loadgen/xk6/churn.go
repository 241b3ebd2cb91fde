package xk6

import (
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"

	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// client is a script's Churn: one per virtual user.
type client struct {
	vu      modules.VU
	metrics *opMetrics
	host    *host

	thread *churn.Thread // of a closed plan, begun with the first step
	start  int64         // of an open plan: the start of the scenario, Unix ns
}

func (i *instance) newChurn(call sobek.ConstructorCall) *sobek.Object {
	rt := i.vu.Runtime()
	o, err := parseOptions(call.Argument(0).Export())
	if err != nil {
		common.Throw(rt, err)
	}
	h, err := i.shared.get(o)
	if err != nil {
		common.Throw(rt, err)
	}
	c := &client{vu: i.vu, metrics: i.metrics, host: h}
	obj := rt.NewObject()
	for name, method := range map[string]any{
		"prepare": c.Prepare, "finish": c.Finish, "step": c.Step, "life": func() error { return errLife },
	} {
		if err := obj.Set(name, method); err != nil {
			common.Throw(rt, err)
		}
	}
	return obj
}

// exit is k6's event.Exit, whose package is not for modules.
const exit = 6

// Prepare begins the load. Should the script never call Finish, as after an exception in setup(), k6's exit does.
func (c *client) Prepare() error {
	var segment *lib.ExecutionSegment
	if state := c.vu.State(); state != nil {
		segment = state.Options.ExecutionSegment
	}
	if err := c.host.prepare(c.vu.Context(), segment); err != nil {
		return err
	}
	_, events := c.vu.Events().Global.Subscribe(exit)
	go func() { // until k6 exits
		for e := range events {
			_ = c.host.finish() // which has logged it
			e.Done()
		}
	}()
	return nil
}

// Finish ends the load, completes the op log and removes what was made.
func (c *client) Finish() error { return c.host.finish() }

func (c *client) running() (*churn.Sender, error) {
	if s := c.host.sender.Load(); s != nil {
		return s, nil
	}
	select {
	case <-c.host.ended:
		if c.host.err != nil {
			return nil, c.host.err
		}
	default:
	}
	return nil, errNotPrepared
}

// Step sends the plan's next operation, in a closed loop this virtual user's thread's. False: there is none.
func (c *client) Step() (bool, error) {
	s, err := c.running()
	if err != nil {
		return false, err
	}
	if c.host.options.Plan.Model == plan.ModelClosed {
		return c.stepThread(s)
	}
	if c.start == 0 {
		scenario := lib.GetScenarioState(c.vu.Context())
		if scenario == nil {
			return false, errors.New("step() belongs into the function of a scenario")
		}
		c.start = s.Now() - int64(time.Since(scenario.StartTime))
	}
	sent, ok := s.Next(c.start)
	if ok {
		c.metrics.push(c.vu, sent)
	}
	return ok, nil
}

func (c *client) stepThread(s *churn.Sender) (bool, error) {
	if c.thread == nil {
		vu, threads, shard := int(c.vu.State().VUID), c.host.options.Plan.Threads, c.host.plan.Shard()
		k := (vu-1)*shard.Of + shard.Index - 1
		if k >= threads {
			return false, fmt.Errorf("virtual user %d has no thread in a plan with %d: use as many vus as threads", vu, threads)
		}
		c.thread, _ = s.Thread(k)
	}
	all, ok := c.thread.Step()
	for _, sent := range all {
		c.metrics.push(c.vu, sent)
	}
	return ok, nil
}

var errLife = errors.New("life() is gone: call step(), which sends the operations of the plan's pods at their times")
