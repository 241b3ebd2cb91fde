package pod

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/watchbench/watchbench/internal/badinput"
)

// reachLimit bounds what is asked of an agent.
const reachLimit = 10 * time.Second

// Preflight runs these parties of one run as Pods, all at once, with their images, limits and accounts; their programs
// only report their versions, which have to be this program's. What the user can fix is bad input that says how. The
// Pods are gone when it returns; those of a process that was killed end by themselves.
func (p *Place) Preflight(ctx context.Context, parties ...Spec) error {
	defer p.close()
	try, within := errgroup.WithContext(ctx)
	for _, s := range parties {
		s.Job += "-preflight"
		try.Go(func() error { return p.try(within, s) })
	}
	err := try.Wait()
	// Removed at the end, so that all have had room at once.
	if e := p.remove(ctx, removeLimit, labelInstance+"="+parties[0].Owner); e != nil && err == nil {
		err = p.refused(e)
	}
	return err
}

// try makes the Pods of a party and has them say their program's version.
func (p *Place) try(ctx context.Context, s Spec) error {
	job := s.job()
	job.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(1)) // no agent lingers: there is nothing to fetch
	job, err := p.ensure(ctx, job)
	for ; err == nil && s.Index < s.Of; s.Index++ {
		var pod *corev1.Pod
		if pod, err = p.await(ctx, &s, job); err == nil {
			err = p.ask(ctx, pod.Name, &s)
		}
	}
	return err
}

// ask refuses a Pod whose program reports another version, which is empty if it has no --version.
func (p *Place) ask(ctx context.Context, pod string, s *Spec) error {
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	t := p.tunnel(pod)
	defer t.reset()
	agent := newAgentClient(t.dial)
	defer agent.close()
	var said bytes.Buffer
	err := agent.start(ctx, Start{Argv: []string{s.Argv[0], "--version"}, Dir: s.Dir})
	if err == nil {
		_, err = agent.output(ctx, stdout, &said)
	}
	if err != nil {
		return p.refused(fmt.Errorf("ask the image %s for its version, in the Pod %s: %w", s.Image, pod, err))
	}
	fields := append([]string{""}, strings.Fields(said.String())...)
	return sameVersion(s.Image, fields[len(fields)-1], p.version)
}

// sameVersion refuses an image of another version. A version is the commit and whether the tree was dirty, so that two
// dirty trees of one commit count as equal; unknown, which a plain go build leaves, is compared with nothing.
func sameVersion(image, said, own string) error {
	const unknown = "unknown"
	if own == unknown || said == unknown || said == own {
		return nil
	}
	return badinput.New("build the images of this version with make image, and load them (kind load docker-image) or "+
		"push them; or name the tag of matching ones with --image-tag", "the image %s has version %q, and this program %q",
		image, said, own)
}
