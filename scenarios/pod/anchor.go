package pod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const (
	// AnchorSilence is how long an anchor outlives its runner: the agents' silence and a generator's teardown come first.
	AnchorSilence = 3 * time.Minute
	anchorEvery   = 10 * time.Second
)

// AnchorConfig says of what an anchor is made.
type AnchorConfig struct {
	REST        *rest.Config
	Namespace   string
	Name        string        // of its Job, the run's Owner in a Spec
	Image       string        // of watchbench
	CPU, Memory string        // limits; empty: none
	Bound       time.Duration // of the run
}

// Anchored is a Job in the cluster that owns all that a run makes there. It ends when its runner does not ask for
// AnchorSilence, and at the run's bound; the cluster then removes it with all that it owns.
type Anchored struct {
	place *place
	name  string
	stop  context.CancelFunc
	ended chan struct{} // closed when nobody asks any more
}

// Anchor makes a run's anchor, and asks it until Close. What is wrong with the cluster is bad input.
func Anchor(ctx context.Context, c AnchorConfig) (*Anchored, error) {
	at, err := newPlace(c.REST, c.Namespace)
	if err != nil {
		return nil, err
	}
	s := Spec{Namespace: c.Namespace, Job: c.Name, Owner: c.Name, Of: 1, Image: c.Image, AgentImage: c.Image,
		CPU: c.CPU, Memory: c.Memory}
	job := s.job()
	job.Spec.TTLSecondsAfterFinished = new(int32(0))
	job.Spec.ActiveDeadlineSeconds = new(int64(c.Bound.Seconds()))
	party := &job.Spec.Template.Spec.Containers[0]
	party.Command = append(party.Command, "--silence", AnchorSilence.String())
	job, err = at.ensure(ctx, job, "")
	if err != nil {
		at.close()
		return nil, err
	}
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &Anchored{place: at, name: c.Name, stop: stop, ended: make(chan struct{})}
	pod, err := at.await(ctx, &s, job)
	if err != nil {
		close(a.ended)
		return nil, errors.Join(err, a.Close(ctx))
	}
	go func() { // ends with Close
		defer close(a.ended)
		a.keep(asking, at.tunnel(pod.Name))
	}()
	return a, nil
}

// keep asks the anchor. One that is lost takes the run's Pods with it, whose stand-ins say so.
func (a *Anchored) keep(ctx context.Context, t *tunnel) {
	agent := newAgentClient(func(ctx context.Context) (net.Conn, error) { return t.dial(ctx, AgentPort) })
	defer t.reset()
	defer agent.close()
	for {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		var u Usage
		if _, err := agent.ask(asking, "/usage", &u); err != nil {
			t.reset()
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-time.After(anchorEvery):
		}
	}
}

// Close removes the anchor and all that it owns, and returns once nothing of the run is left in the namespace.
func (a *Anchored) Close(ctx context.Context) error {
	a.stop()
	<-a.ended
	defer a.place.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+removeLimit)
	defer cancel()
	if err := a.place.remove(ctx, a.name); err != nil {
		return err
	}
	of := metav1.ListOptions{LabelSelector: labelInstance + "=" + a.name}
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		jobs, err := a.place.client.BatchV1().Jobs(a.place.namespace).List(ctx, of)
		if err != nil || len(jobs.Items) > 0 {
			return false, nil
		}
		pods, err := a.place.client.CoreV1().Pods(a.place.namespace).List(ctx, of)
		return err == nil && len(pods.Items) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait until nothing of the run %s is left in the namespace %s: %w", a.name, a.place.namespace,
			context.Cause(ctx))
	}
	return nil
}
