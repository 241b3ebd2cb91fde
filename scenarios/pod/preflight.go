package pod

import (
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// reachLimit bounds the first request to an agent.
const reachLimit = 10 * time.Second

// Preflight tries whether the cluster takes these parties, all at once: Pods with their images, limits and accounts,
// whose agents start nothing, and the way to them. What would fix it is one error of bad input. The Pods are gone when
// it returns; those of a process that was killed end by themselves.
func Preflight(ctx context.Context, cfg *rest.Config, namespace string, parties ...Spec) (err error) {
	at, err := newPlace(cfg, namespace)
	if err != nil {
		return err
	}
	defer at.close()
	try, within := errgroup.WithContext(ctx)
	for _, s := range parties {
		try.Go(func() error { return at.try(within, trial(s)) })
	}
	err = try.Wait()
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	var remove errgroup.Group
	for _, s := range parties { // all at the end, so that all have had room at once
		remove.Go(func() error { return at.remove(removing, trial(s).Job) })
	}
	if e := remove.Wait(); e != nil && err == nil {
		err = at.refused(e)
	}
	return err
}

func trial(s Spec) Spec {
	s.Job += "-preflight"
	return s
}

// try makes the Pods of a party and reaches their agents.
func (p *place) try(ctx context.Context, s Spec) error {
	job, err := p.ensure(ctx, s.job())
	for s.Index = 0; err == nil && s.Index < s.Of; s.Index++ {
		var pod *corev1.Pod
		if pod, err = p.await(ctx, &s, job); err == nil {
			err = p.reach(ctx, pod.Name)
		}
	}
	return err
}

func (p *place) reach(ctx context.Context, pod string) error {
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	t := p.tunnel(pod)
	defer t.reset()
	agent := newAgentClient(func(context.Context) (net.Conn, error) { return t.open(AgentPort) })
	defer agent.close()
	if _, err := agent.usage(ctx); err != nil {
		return p.refused(fmt.Errorf("forward a port to the Pod %s: %w", pod, err))
	}
	return nil
}
