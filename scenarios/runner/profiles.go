package runner

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

const (
	// profileSlice is the length of one CPU profile. It is not known in advance how long a drain
	// takes, so that of a cell is merged of several.
	profileSlice = 2 * time.Second
	// profileRetry spaces the tries while a process does not answer, as during a restart.
	profileRetry = 250 * time.Millisecond
	// profileGrace is for asking and answering, beyond the length of a slice.
	profileGrace = 10 * time.Second
)

// profileSource is a process that serves profiles.
type profileSource interface {
	Profile(ctx context.Context, what string) ([]byte, error)
}

// profiler takes profiles of processes. On nil its methods do nothing.
type profiler struct {
	parties map[string]func() profileSource // the process that is asked now
	loaded  chan struct{}                   // closed: the load has ended
	stop    chan struct{}                   // closed: no further slice begins
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	taken map[profileKey]*profile.Profile // merged of all so far
	err   map[profileKey]error            // the latest
}

// profileKey identifies a profile file.
type profileKey struct{ party, kind string }

// startProfiling begins with the CPU profiles, if any are asked for.
func (c *cell) startProfiling(ctx context.Context) *profiler {
	if !c.r.opts.Profile {
		return nil
	}
	return newProfiler(ctx, map[string]func() profileSource{
		history.PartyWatcher: func() profileSource { return c.live.Load() },
		history.PartyStorage: func() profileSource { return c.storage },
	})
}

func newProfiler(ctx context.Context, parties map[string]func() profileSource) *profiler {
	p := &profiler{parties: parties, loaded: make(chan struct{}), stop: make(chan struct{}),
		taken: map[profileKey]*profile.Profile{}, err: map[profileKey]error{}}
	ctx, p.cancel = context.WithCancel(ctx)
	for party := range parties {
		p.running.Go(func() { p.slices(ctx, party) })
		p.running.Go(func() {
			select {
			case <-ctx.Done():
			case <-p.loaded:
				p.take(ctx, profileKey{party, result.ProfileHeap}, "heap")
			}
		})
	}
	return p
}

// slices takes one CPU profile after the other, at a pace where they come sooner than they
// can have been taken, as an error does.
func (p *profiler) slices(ctx context.Context, party string) {
	for {
		began := time.Now()
		p.take(ctx, profileKey{party, result.ProfileCPU}, fmt.Sprintf("profile?seconds=%.0f", profileSlice.Seconds()))
		if time.Since(began) < profileSlice && lifecycle.Pause(ctx, profileRetry) != nil {
			return
		}
		select {
		case <-p.stop:
			return
		case <-ctx.Done():
			return
		default:
		}
	}
}

// heap takes the heap profiles in the background: a process that hangs must not lengthen the
// drain.
func (p *profiler) heap() {
	if p != nil {
		close(p.loaded)
	}
}

// take asks for one profile and merges it with those before.
func (p *profiler) take(ctx context.Context, key profileKey, what string) {
	ctx, cancel := context.WithTimeout(ctx, profileSlice+profileGrace)
	defer cancel()
	var got *profile.Profile
	data, err := p.parties[key.party]().Profile(ctx, what)
	if err == nil {
		got, err = profile.ParseData(data)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if former := p.taken[key]; err == nil && former != nil {
		got, err = profile.Merge([]*profile.Profile{former, got})
	}
	if err != nil {
		p.err[key] = err
		return
	}
	p.taken[key] = got
}

// finish waits, after heap, for the profiles under way, at most profileSlice and profileGrace.
func (p *profiler) finish() {
	if p == nil {
		return
	}
	close(p.stop)
	p.running.Wait()
	p.cancel()
}

// abandon ends the profiles under way.
func (p *profiler) abandon() {
	if p == nil {
		return
	}
	p.cancel()
	p.running.Wait()
}

// missing says which profiles there are none of, and why; empty if there are all.
func (p *profiler) missing() (all []string) {
	for party := range p.parties {
		for _, kind := range []string{result.ProfileCPU, result.ProfileHeap} {
			if key := (profileKey{party, kind}); p.taken[key] == nil {
				all = append(all, fmt.Sprintf("no %s profile of the %s: %v", kind, party, p.err[key]))
			}
		}
	}
	slices.Sort(all)
	return all
}

// saveProfiles writes what was taken below the cell's folder. A watcher need not serve
// profiles; what is missing is said.
func (c *cell) saveProfiles() error {
	p := c.profiles
	if p == nil {
		return nil
	}
	p.finish()
	for _, text := range p.missing() {
		c.r.progress.Line(c.record.ID + ": " + text)
	}
	for _, key := range slices.SortedFunc(maps.Keys(p.taken), func(a, b profileKey) int {
		return strings.Compare(a.party+a.kind, b.party+b.kind)
	}) {
		merged := p.taken[key]
		var data bytes.Buffer
		if err := merged.Write(&data); err != nil {
			return fmt.Errorf("write the %s profile of the %s: %w", key.kind, key.party, err)
		}
		name := key.party + "-" + key.kind + ".pprof"
		if err := history.Save(c.dir, name, data.Bytes()); err != nil {
			return err
		}
		file, err := filepath.Rel(c.r.dir, filepath.Join(c.dir, name))
		if err != nil {
			return fmt.Errorf("find the profile %s: %w", name, err)
		}
		c.record.Profiles = append(c.record.Profiles, result.Profile{
			Party: key.party, Kind: key.kind, File: filepath.ToSlash(file),
			Seconds: time.Duration(merged.DurationNanos).Seconds(),
		})
	}
	return nil
}
