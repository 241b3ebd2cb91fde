package pod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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
	// removeLimit bounds the removal of a Job; what is left then is the run's to remove.
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
	if s.Of == 1 { // else the Job ends with its last Pod
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
		defer cancel()
		if e := at.remove(removing, s.Job); err == nil {
			err = e
		}
	}
	if lost, ok := errors.AsType[*LostError](err); ok {
		return 0, lost
	}
	return code, err
}

// place returns the running Pod, unless a signal comes first.
func (s *Standin) place(ctx context.Context, at *place) (pod *corev1.Pod, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { // ends before place
		defer close(done)
		job, e := at.ensure(ctx, s.job())
		if err = e; err == nil {
			pod, err = at.await(ctx, &s.Spec, job)
		}
		if err == nil {
			err = at.keep(ctx, s.Job)
		}
	}()
	select {
	case <-done:
		return pod, err
	case <-s.Signals:
		cancel()
		<-done
		return nil, ErrStopped
	}
}

// accompany is the party in a Pod that runs. The Pod's end, and that it cannot be reached, end it with a *LostError.
func (s *Standin) accompany(ctx context.Context, at *place, pod *corev1.Pod) (code int, err error) {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	tunnel := at.tunnel(pod.Name)
	defer tunnel.reset()
	agent := newAgentClient(func(context.Context) (net.Conn, error) { return tunnel.open(AgentPort) })
	defer agent.close()
	stop, err := s.forward(tunnel)
	if err != nil {
		return 0, err
	}
	defer stop()
	var guarding sync.WaitGroup
	defer guarding.Wait()
	guarding.Go(func() { lose(guard(ctx, at, pod, agent, tunnel)) })
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
		err := at.whyDying(ctx, pod)
		_ = agent.post(ctx, "/end", nil, nil) // it goes without, later
		return 0, err
	case end.Signal == int(syscall.SIGKILL) && end.OOMKills > 0:
		return 0, &LostError{LostOOM, pod.Name, sayMemory}
	}
	for _, path := range s.Results {
		name, err := filepath.Rel(s.Dir, path)
		if err == nil {
			err = agent.fetch(ctx, name, path)
		}
		if err != nil {
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
	start := Start{Argv: s.Argv, Env: s.Env, Dir: s.Dir, Files: map[string][]byte{}}
	for _, path := range s.Files {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("upload to the Pod %s: %w", pod.Name, err)
		}
		start.Files[path] = data
	}
	if err := agent.start(ctx, start); err != nil {
		return fmt.Errorf("start %s in the Pod %s: %w", s.Argv[0], pod.Name, err)
	}
	return nil
}

// follow passes input, output and signals until the party has ended and all that it wrote is here.
func (s *Standin) follow(ctx context.Context, agent *agentClient) (end End, err error) {
	go func() { _ = agent.feed(ctx, s.In) }() // blocked in a read of our own input, it ends with this process
	signalled, cancel := context.WithCancel(ctx)
	var passing, said sync.WaitGroup
	passing.Go(func() { s.signal(signalled, agent) })
	var err2 error
	said.Go(func() { _, err2 = agent.output(ctx, stderr, s.Err) })
	end, err = agent.output(ctx, stdout, s.Out)
	said.Wait()
	cancel()
	passing.Wait()
	return end, errors.Join(err, err2)
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

// guard keeps an agent from thinking that nobody is there. It returns once its Pod is lost, or ctx ends.
func guard(ctx context.Context, at *place, pod *corev1.Pod, agent *agentClient, tunnel *tunnel) error {
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		_, err := agent.usage(asking)
		cancel()
		silent := tunnel.silent() // what is large holds up the answer, and shows life as well
		if err == nil || silent < askTimeout {
			select {
			case <-ctx.Done():
			case <-time.After(askEvery):
			}
			continue
		}
		tunnel.reset()
		asking, cancel = context.WithTimeout(ctx, askTimeout)
		fate := at.fate(asking, pod)
		cancel()
		if _, ok := errors.AsType[*LostError](fate); ok {
			return fate
		}
		if silent > Silence {
			return &LostError{LostSilent, pod.Name, fmt.Sprintf("it could not be reached for %s: %v",
				silent.Round(time.Second), errors.Join(err, fate))}
		}
	}
	return context.Cause(ctx)
}
