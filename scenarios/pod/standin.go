package pod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/scenarios/history"
)

const (
	askEvery   = 5 * time.Second
	askTimeout = 5 * time.Second
)

// Standin is a party for its parent: a local process with the party's input, outputs, end and exit code.
type Standin struct {
	Spec
	In       io.Reader
	Out, Err io.Writer
}

// Run creates the Pod, acts as the party until it ends, and removes the Pod. The end of ctx is the party's SIGTERM. An
// error is a *LostError, bad input, *terminal.Interrupted, or something else that kept the party from starting.
func (s *Standin) Run(ctx context.Context) (code int, err error) {
	cfg, err := kubeapi.ReadConfig(s.Kubeconfig, "")
	if err != nil {
		return 0, badinput.Wrap(err)
	}
	at, err := NewPlace(cfg, s.Namespace)
	if err != nil {
		return 0, err
	}
	defer at.close()
	var pod *corev1.Pod
	job, err := at.ensure(ctx, s.job())
	if err == nil {
		pod, err = at.await(ctx, &s.Spec, job)
	}
	if err == nil {
		err = at.keep(ctx, &s.Spec)
	}
	switch {
	case err == nil:
		code, err = s.accompany(ctx, at, pod)
	case ctx.Err() != nil:
		err = &terminal.Interrupted{Err: errors.New("the party was not started yet")}
	}
	if s.Of == 1 { // else the Job ends with its last Pod
		if e := at.remove(ctx, removeLimit, labelInstance+"="+s.Owner+","+labelJob+"="+s.Job); err == nil {
			err = e
		}
	}
	return code, err
}

// accompany acts as the party in a Pod that runs, until stopped ends. A Pod that ends, or cannot be reached, is a
// *LostError.
func (s *Standin) accompany(stopped context.Context, at *Place, pod *corev1.Pod) (code int, err error) {
	tunnel := at.tunnel(pod.Name)
	defer tunnel.reset()
	agent := newAgentClient(tunnel.dial)
	defer agent.close()
	proxy, stop, err := tunnel.proxy(agent.http.Transport)
	if err != nil {
		return 0, err
	}
	defer stop()
	ctx, lose := context.WithCancelCause(context.WithoutCancel(stopped))
	var minding sync.WaitGroup
	defer minding.Wait()
	defer lose(nil)
	minding.Go(func() { lose(guard(ctx, at, pod, agent, tunnel)) })
	if err := s.begin(ctx, agent, pod, proxy); err != nil {
		return 0, err
	}
	minding.Go(func() {
		select {
		case <-stopped.Done():
			_ = agent.post(ctx, "/stop", nil, nil) // it arrives, or ctx ends
		case <-ctx.Done():
		}
	})
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
	for _, name := range s.Results {
		if err := agent.fetch(ctx, name, filepath.Join(s.Dir, name)); err != nil {
			return 0, err
		}
	}
	_ = agent.post(ctx, "/end", nil, nil) // all is here; if it does not answer any more, it has ended
	if end.Signal != 0 {
		return 128 + end.Signal, nil // as shells have it
	}
	return end.Code, nil
}

// begin says where the party is, and starts it.
func (s *Standin) begin(ctx context.Context, agent *agentClient, pod *corev1.Pod, proxy string) error {
	is := history.Pod{Name: pod.Name, Node: pod.Spec.NodeName, Image: s.Image, Limits: map[string]string{}}
	for _, c := range pod.Status.ContainerStatuses {
		is.ImageID = c.ImageID
	}
	for name, q := range pod.Spec.Containers[0].Resources.Limits { // the namespace may set some
		is.Limits[string(name)] = q.String()
	}
	if err := json.NewEncoder(s.Out).Encode(Placed{PhasePod, is, pod.Status.PodIP, proxy}); err != nil {
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

// follow passes input and output until the party has ended and all that it wrote is here.
func (s *Standin) follow(ctx context.Context, agent *agentClient) (end End, err error) {
	go func() { _ = agent.feed(ctx, s.In) }() // blocked in a read of our own input, it ends with this process
	var said errgroup.Group
	said.Go(func() error {
		_, err := agent.output(ctx, stderr, s.Err)
		return err
	})
	end, err = agent.output(ctx, stdout, s.Out)
	return end, errors.Join(err, said.Wait())
}

// guard asks the agent often enough that it goes on. It returns once the Pod is lost, or ctx ends.
func guard(ctx context.Context, at *Place, pod *corev1.Pod, agent *agentClient, tunnel *tunnel) error {
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		_, err := Ask(asking, agent.http)
		cancel()
		silent := tunnel.silent() // a large transfer delays the answer, and is a sign of life
		if err == nil || silent < askTimeout {
			_ = lifecycle.Pause(ctx, askEvery)
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
