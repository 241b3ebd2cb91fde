package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

const (
	// longestProfile bounds a CPU profile, which begins with the load and lasts as long as that is to take.
	longestProfile = 30 * time.Second
	// profileGrace is for asking and answering, beyond the length of a profile.
	profileGrace = 10 * time.Second
)

// profileSource is a process that serves profiles.
type profileSource interface {
	Profile(ctx context.Context, what string) ([]byte, error)
}

// profiler takes a CPU and a heap profile of processes. On nil its methods do nothing.
type profiler struct {
	parties map[string]profileSource
	ctx     context.Context // of the profiles under way
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex // guards taken
	taken   []taken
}

// taken is a profile, or why there is none.
type taken struct {
	result.Profile
	data []byte
	err  error
}

// startProfiling begins with the CPU profiles, if any are asked for.
func (c *cell) startProfiling(ctx context.Context) *profiler {
	if !c.r.opts.Profile {
		return nil
	}
	seconds, _ := extent(c.s)
	return newProfiler(ctx, min(max(time.Second, time.Duration(seconds)*time.Second), longestProfile),
		map[string]profileSource{history.PartyWatcher: c.live.Load(), history.PartyStorage: c.storage})
}

func newProfiler(ctx context.Context, length time.Duration, parties map[string]profileSource) *profiler {
	p := &profiler{parties: parties}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.take(result.ProfileCPU, fmt.Sprintf("profile?seconds=%.0f", length.Seconds()), length)
	return p
}

// heap takes the heap profiles in the background: a process that hangs must not lengthen the drain.
func (p *profiler) heap() {
	if p != nil {
		p.take(result.ProfileHeap, "heap", 0)
	}
}

func (p *profiler) take(kind, what string, length time.Duration) {
	for party, source := range p.parties {
		p.running.Go(func() {
			ctx, cancel := context.WithTimeout(p.ctx, length+profileGrace)
			defer cancel()
			data, err := source.Profile(ctx, what)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.taken = append(p.taken, taken{
				result.Profile{Party: party, Kind: kind, File: party + "-" + kind + ".pprof", Seconds: length.Seconds()}, data, err,
			})
		})
	}
}

// abandon ends the profiles under way.
func (p *profiler) abandon() {
	if p != nil {
		p.cancel()
		p.running.Wait()
	}
}

// saveProfiles waits for the profiles and writes them below the cell's folder. A watcher need not serve
// profiles; what is missing is said.
func (c *cell) saveProfiles() error {
	if c.profiles == nil {
		return nil
	}
	c.profiles.running.Wait()
	slices.SortFunc(c.profiles.taken, func(a, b taken) int { return strings.Compare(a.File, b.File) })
	for _, x := range c.profiles.taken {
		if x.err != nil {
			c.r.progress.Line(fmt.Sprintf("%s: no %s profile of the %s: %v", c.record.ID, x.Kind, x.Party, x.err))
			continue
		}
		if err := history.Save(c.dir, x.File, x.data); err != nil {
			return err
		}
		file, err := filepath.Rel(c.r.dir, filepath.Join(c.dir, x.File))
		if err != nil {
			return fmt.Errorf("find the profile %s: %w", x.File, err)
		}
		x.File = filepath.ToSlash(file)
		c.record.Profiles = append(c.record.Profiles, x.Profile)
	}
	return nil
}
