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
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// OpResult is what became of one operation. Lag is dispatch minus intended dispatch.
type OpResult struct {
	OK         bool    `js:"ok"`
	Op         string  `js:"op"`
	Kind       string  `js:"kind"`
	Name       string  `js:"name"`
	Error      string  `js:"error"`
	DurationMs float64 `js:"durationMs"`
	LagMs      float64 `js:"lagMs"`
}

// client is a script's Churn: one per virtual user.
type client struct {
	vu      modules.VU
	metrics *opMetrics
	host    *host

	thread *churn.Thread // of a closed plan, begun with the first step
	start  int64         // of an open plan: the start of the scenario, Unix ns
	used   bool          // the current iteration's tick has been taken by an operation
	iter   int64         // which iteration used belongs to
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
		"prepare": c.Prepare, "finish": c.Finish, "step": c.Step, "life": c.Life, "createPod": c.CreatePod,
	} {
		if err := obj.Set(name, method); err != nil {
			common.Throw(rt, err)
		}
	}
	return obj
}

// exit is k6's event.Exit, whose package is not for modules.
const exit = 6

// Prepare makes what the plan wants to exist and begins the load. Should the script never call
// Finish, as k6 has no teardown() after an exception in setup(), k6's exit does.
func (c *client) Prepare() error {
	if err := c.host.prepare(c.vu.Context()); err != nil {
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

// running is the Sender of the load under way.
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

// Step sends the plan's next operation: of the thread with this virtual user's number in
// a closed loop, of the one sequence in an open one. It returns false when there is none.
func (c *client) Step() (bool, error) {
	s, err := c.running()
	if err == nil {
		err = c.host.use("step()")
	}
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
		c.result(sent)
	}
	return ok, nil
}

func (c *client) stepThread(s *churn.Sender) (bool, error) {
	if c.thread == nil {
		k, threads := int(c.vu.State().VUID)-1, c.host.options.Plan.Threads
		if k >= threads {
			return false, fmt.Errorf("virtual user %d has no thread in a plan with %d: use as many vus as threads", k+1, threads)
		}
		c.thread, _ = s.Thread(k)
	}
	all, ok := c.thread.Step()
	for _, sent := range all {
		c.result(sent)
	}
	return ok, nil
}

// result tells k6's metrics about what was sent.
func (c *client) result(s churn.Sent) OpResult {
	r := OpResult{OK: s.Err == nil, Op: s.Op.Type, Kind: s.Op.Target.Kind, Name: s.Op.Target.Name}
	if s.Err != nil {
		r.Error = s.Err.Error()
	}
	if s.Started != 0 {
		r.DurationMs, r.LagMs = float64(s.Finished-s.Started)/1e6, float64(max(0, s.Started-s.Intended))/1e6
	}
	c.metrics.push(c.vu, r, s.Started != 0)
	return r
}

// intended is the executor's time for the first operation of an iteration, and now for
// the others, which follow from answers.
func (c *client) intended(s *churn.Sender) int64 {
	if state := c.vu.State(); state != nil && (!c.used || c.iter != state.Iteration) {
		c.used, c.iter = true, state.Iteration
		if at, ok := tick(c.vu); ok {
			return s.Now() - int64(time.Since(at))
		}
	}
	return s.Now()
}

// Pod is a pod that a script made; its methods send one operation each.
type Pod struct {
	Name string `js:"name"`

	c    *client
	s    *churn.Sender
	ops  []plan.Op // what is left of its life
	sent []OpResult
}

// CreatePod begins the life of a new pod. The result of the creation is pod.results[0].
func (c *client) CreatePod() (*Pod, error) {
	s, err := c.running()
	if err == nil {
		err = c.host.use("createPod() or life()")
	}
	if err != nil {
		return nil, err
	}
	ops := c.host.plan.Life(c.host.lives.Add(1) - 1)
	p := &Pod{Name: ops[0].Target.Name, c: c, s: s, ops: ops}
	_, err = p.send(oplog.TypeCreate)
	return p, err
}

// Results are those so far, in order.
func (p *Pod) Results() []OpResult { return p.sent }

// Next names the operation that comes next in the pod's life; "" after the last.
func (p *Pod) Next() string {
	if len(p.ops) == 0 {
		return ""
	}
	return p.ops[0].Type
}

// Bind sends that operation if it is the next of the pod's life, and is an error otherwise,
// as are the methods that follow.
func (p *Pod) Bind() (OpResult, error) { return p.send(oplog.TypeBind) }

// Running is like Bind.
func (p *Pod) Running() (OpResult, error) { return p.send(oplog.TypeRunning) }

// Ready is like Bind.
func (p *Pod) Ready() (OpResult, error) { return p.send(oplog.TypeReady) }

// Patch is like Bind.
func (p *Pod) Patch() (OpResult, error) { return p.send(oplog.TypePatch) }

// Terminate is like Bind.
func (p *Pod) Terminate() (OpResult, error) { return p.send(oplog.TypeTerminate) }

// Terminated is like Bind.
func (p *Pod) Terminated() (OpResult, error) { return p.send(oplog.TypeTerminated) }

// Delete is like Bind.
func (p *Pod) Delete() (OpResult, error) { return p.send(oplog.TypeDelete) }

func (p *Pod) send(op string) (OpResult, error) {
	if next := p.Next(); next != op {
		if next == "" {
			return OpResult{}, fmt.Errorf("%s: the life of pod %s is over", op, p.Name)
		}
		return OpResult{}, fmt.Errorf("%s: next in the life of pod %s is %s, as the plan's stages say", op, p.Name, next)
	}
	sent := p.s.Do(p.ops[0], p.c.intended(p.s))
	p.ops = p.ops[1:]
	r := p.c.result(sent)
	p.sent = append(p.sent, r)
	return r, nil
}

// Life sends a whole life, with the pauses of the plan's stages, and returns the results.
// After an operation that was given up the rest is not sent.
func (c *client) Life() ([]OpResult, error) {
	p, err := c.CreatePod()
	if err != nil {
		return nil, err
	}
	for len(p.ops) > 0 && p.sent[len(p.sent)-1].OK {
		intended := p.s.Now() + int64(p.ops[0].Gap)
		sent := p.s.Do(p.ops[0], intended)
		p.ops = p.ops[1:]
		p.sent = append(p.sent, p.c.result(sent))
	}
	return p.sent, nil
}
