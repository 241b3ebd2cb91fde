package collector

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// Pauses between two looks at what the cluster serves, and the least after each, whatever asks for one.
const (
	LookAgain  = time.Minute
	LookBroken = 10 * time.Second // what was learned is not all
	lookLeast  = 2 * time.Second
)

// Lookout polls an apiserver for what it serves, on behalf of all listeners.
type Lookout struct {
	discovery *Discovery
	wanted    func(gv string) bool
	soon      chan struct{} // size 1: one token asks for a look

	mu     sync.Mutex
	told   []func([]APIGroup, error) time.Duration // guarded by mu
	looked bool                                    // guarded by mu
	pause  time.Duration                           // guarded by mu; until the next look
}

// NewLookout asks nothing yet. What other group-versions than the wanted ones have may be left out.
func NewLookout(cfg *rest.Config, wanted func(gv string) bool) (*Lookout, error) {
	d, err := NewDiscovery(cfg)
	if err != nil {
		return nil, err
	}
	return &Lookout{discovery: d, wanted: wanted, soon: make(chan struct{}, 1)}, nil
}

// Tell registers f to receive each answer, which it must not change; f returns how long to wait before asking again.
func (l *Lookout) Tell(f func([]APIGroup, error) time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, f)
}

// Look asks now. Nobody learns of a look that ctx has ended.
func (l *Lookout) Look(ctx context.Context) ([]APIGroup, error) {
	groups, err := l.discovery.GroupsOf(ctx, l.wanted)
	l.discovery.Close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	told := l.told
	l.mu.Unlock()
	pause := LookAgain
	for _, f := range told {
		pause = min(pause, f(groups, err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked, l.pause = true, pause
	return groups, err
}

// Run looks until ctx ends: at once, unless somebody has looked already, after the pauses that were asked
// for, and soon after a token of one of the channels, which say that something is not served.
func (l *Lookout) Run(ctx context.Context, notFound ...<-chan struct{}) error {
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range notFound {
		all.Go(func() { l.forward(ctx, c) })
	}
	for ctx.Err() == nil {
		l.mu.Lock()
		looked, pause := l.looked, l.pause
		l.mu.Unlock()
		if looked && !l.wait(ctx, pause) {
			break
		}
		_, _ = l.Look(ctx) // listeners get the error
	}
	return nil
}

// wait returns false at the end of ctx.
func (l *Lookout) wait(ctx context.Context, pause time.Duration) bool {
	if lifecycle.Pause(ctx, min(pause, lookLeast)) != nil {
		return false
	}
	if pause <= lookLeast {
		return true
	}
	timer := time.NewTimer(pause - lookLeast)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.soon:
	case <-ctx.Done():
		return false
	}
	return true
}

func (l *Lookout) forward(ctx context.Context, from <-chan struct{}) {
	for {
		select {
		case <-from:
		case <-ctx.Done():
			return
		}
		lifecycle.Signal(l.soon)
	}
}

// ServerVersion returns the release of the apiserver, such as v1.36.3.
func (l *Lookout) ServerVersion(ctx context.Context) (string, error) {
	defer l.discovery.Close()
	return l.discovery.ServerVersion(ctx)
}
