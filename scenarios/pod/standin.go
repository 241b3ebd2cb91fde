package pod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
)

const (
	askEvery   = 5 * time.Second
	askTimeout = 5 * time.Second
	// removeLimit bounds the removal of a Job; what is left then is the anchor's to remove.
	removeLimit = time.Minute
)

// Standin is a party for its parent: a local process with the party's input, outputs, signals and exit code.
type Standin struct {
	Spec
	In       io.Reader
	Out, Err io.Writer
	Signals  <-chan os.Signal // that the party is to get
}

// ErrStopped is the error of a stand-in that got a signal before its party was there.
var ErrStopped = errors.New("stopped before the party was started")

// Run makes the Pod, is the party until it ends, and removes what it made. An error is a *LostError, bad input, or
// something that kept the party from starting.
func (s *Standin) Run(ctx context.Context) (code int, err error) {
	cfg, err := kubeapi.ReadConfig(s.Kubeconfig, s.Context)
	if err != nil {
		return 0, badinput.Wrap(err)
	}
	at, err := newPlace(cfg, s.Namespace)
	if err != nil {
		return 0, err
	}
	defer at.close()
	pod, err := s.place(ctx, at)
	if err == nil {
		code, err = s.accompany(ctx, at, pod)
	}
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	if err == nil {
		return code, at.release(removing, &s.Spec)
	}
	_ = at.remove(removing, s.Job) // the first error says more
	return code, err
}

// place returns the running Pod, unless a signal comes first.
func (s *Standin) place(ctx context.Context, at *place) (pod *corev1.Pod, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	go func() { // ends before place
		defer close(done)
		job, jobErr := at.ensure(ctx, s.job(), s.Owner)
		if err = jobErr; err == nil {
			pod, err = at.await(ctx, &s.Spec, job)
		}
	}()
	select {
	case <-done:
	case <-s.Signals:
		cancel(ErrStopped)
		<-done
		err = ErrStopped
	}
	return pod, err
}

// accompany is the party in a Pod that runs. The Pod's end, and that it cannot be reached, end it with a *LostError.
func (s *Standin) accompany(ctx context.Context, at *place, pod *corev1.Pod) (code int, err error) {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	tunnels := [2]*tunnel{at.tunnel(pod.Name), at.tunnel(pod.Name)} // what the runner asks cannot hold up the party's output
	defer tunnels[0].reset()
	defer tunnels[1].reset()
	agent := newAgentClient(func(ctx context.Context) (net.Conn, error) { return tunnels[0].dial(ctx, AgentPort) })
	defer agent.close()
	stop, err := s.forward(tunnels[1])
	if err != nil {
		return 0, err
	}
	defer stop()
	guard := &guard{place: at, pod: pod, agent: agent, tunnel: tunnels[0], heard: time.Now()}
	var guarding sync.WaitGroup
	defer guarding.Wait()
	guarding.Go(func() { lose(guard.run(ctx)) })
	defer lose(nil)
	if err := s.begin(ctx, agent, pod); err != nil {
		return 0, err
	}
	end, err := s.follow(ctx, agent)
	if err != nil {
		return 0, err
	}
	switch {
	case end.Dying:
		err := guard.dying(ctx)
		_ = agent.post(ctx, "/end", nil, nil) // it goes without, later
		return 0, err
	case end.Signal == int(syscall.SIGKILL) && end.OOMKills > 0:
		return 0, &LostError{LostOOM, pod.Name, "the container reached its memory limit"}
	}
	for _, path := range s.Results {
		if err := agent.fetch(ctx, path, path); err != nil {
			return 0, err
		}
	}
	if err := agent.post(ctx, "/end", nil, nil); err != nil {
		return 0, err
	}
	if end.Signal != 0 {
		return 128 + end.Signal, nil // as shells have it
	}
	return end.Code, nil
}

// begin says where the party is, and starts it.
func (s *Standin) begin(ctx context.Context, agent *agentClient, pod *corev1.Pod) error {
	said := Placed{Phase: PhasePod, Name: pod.Name, IP: pod.Status.PodIP, Node: pod.Spec.NodeName, Image: s.Image,
		Limits: map[string]string{}}
	for _, c := range pod.Status.ContainerStatuses {
		said.ImageID = c.ImageID
	}
	for name, q := range pod.Spec.Containers[0].Resources.Limits {
		said.Limits[string(name)] = q.String()
	}
	if err := json.NewEncoder(s.Out).Encode(said); err != nil {
		return err
	}
	for _, path := range s.Files {
		if err := agent.upload(ctx, path); err != nil {
			return fmt.Errorf("upload %s to the Pod %s: %w", path, pod.Name, err)
		}
	}
	if err := agent.start(ctx, Start{Argv: s.Argv, Env: s.Env, Dir: s.Dir}); err != nil {
		return fmt.Errorf("start %s in the Pod %s: %w", s.Argv[0], pod.Name, err)
	}
	return nil
}

// follow passes input, output and signals until the party has ended and all that it wrote is here.
func (s *Standin) follow(ctx context.Context, agent *agentClient) (End, error) {
	go func() { _ = agent.feed(ctx, s.In) }() // blocked in a read of our own input, it ends with this process
	signalled, cancel := context.WithCancel(ctx)
	var passing sync.WaitGroup
	passing.Go(func() { s.signal(signalled, agent) })
	var outputs sync.WaitGroup
	var errs [2]error
	outputs.Go(func() { errs[0] = agent.output(ctx, "stdout", s.Out) })
	outputs.Go(func() { errs[1] = agent.output(ctx, "stderr", s.Err) })
	end, err := agent.exit(ctx)
	cancel()
	passing.Wait()
	outputs.Wait()
	if ctx.Err() != nil {
		return end, context.Cause(ctx)
	}
	return end, errors.Join(err, errs[0], errs[1])
}

// signal passes the first signal on, and ends a party that does not obey it. Of a runner that was killed the kernel
// tells several times, as its threads end one by one, and a second signal would end a party's cleaning up.
func (s *Standin) signal(ctx context.Context, agent *agentClient) {
	n := syscall.SIGTERM
	select {
	case <-ctx.Done():
		return
	case got := <-s.Signals:
		if got, ok := got.(syscall.Signal); ok {
			n = got
		}
	}
	if agent.signal(ctx, 1, int(n)) != nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(grace):
		_ = agent.signal(ctx, 2, int(syscall.SIGKILL)) // it ends, or ctx does
	}
}

// forward listens on the ports here that lead into the Pod.
func (s *Standin) forward(t *tunnel) (stop func(), err error) {
	var serving sync.WaitGroup
	var open []net.Listener
	stop = func() {
		for _, l := range open {
			_ = l.Close()
		}
		t.reset() // ends what is passed on
		serving.Wait()
	}
	ports := map[int]int{}
	for _, p := range s.Ports {
		ports[p] = p
	}
	if s.Agent != 0 {
		ports[s.Agent] = AgentPort
	}
	for here, there := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(here)))
		if err != nil {
			stop()
			return nil, fmt.Errorf("forward port %d: %w", here, err)
		}
		open = append(open, l)
		serving.Go(func() { t.serve(l, there) })
	}
	return stop, nil
}

// guard knows whether the Pod lives, and keeps its agent from thinking that nobody is there.
type guard struct {
	*place
	pod    *corev1.Pod
	agent  *agentClient
	tunnel *tunnel
	heard  time.Time // from the agent
}

// run returns once the Pod is lost, or ctx ends.
func (g *guard) run(ctx context.Context) error {
	for every := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(every):
		}
		every = askEvery
		err := g.ask(ctx)
		if err == nil {
			continue
		}
		every = retryEvery
		if lost := g.judge(ctx, err); lost != nil && ctx.Err() == nil {
			return lost
		}
	}
}

func (g *guard) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := g.agent.once(ctx, http.MethodGet, "/usage", nil, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil {
		g.heard = time.Now()
	}
	return err
}

// judge looks at a Pod whose agent did not answer.
func (g *guard) judge(ctx context.Context, failure error) error {
	g.tunnel.reset()
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := g.fate(asking, g.pod.Name, g.pod.UID)
	if _, ok := errors.AsType[*LostError](err); ok {
		return err
	}
	if silent := time.Since(g.heard); silent > Silence {
		return &LostError{LostSilent, g.pod.Name, fmt.Sprintf("it could not be reached for %s: %v",
			silent.Round(time.Second), errors.Join(failure, err))}
	}
	return nil
}

// dying says why a Pod is being ended, which may not show yet.
func (g *guard) dying(ctx context.Context) error {
	for range 20 {
		err := g.fate(ctx, g.pod.Name, g.pod.UID)
		if _, ok := errors.AsType[*LostError](err); ok {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
	return &LostError{LostSilent, g.pod.Name, "its container was told to end"}
}
