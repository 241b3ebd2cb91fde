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
	// profileSlice is the length of one CPU profile. Nobody knows beforehand how long a drain
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
	stop    chan struct{}                   // closed: no further slice begins
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	taken map[profileKey][]*profile.Profile
	err   map[profileKey]error // the latest
}

// profileKey is what a file has.
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
	p := &profiler{parties: parties, stop: make(chan struct{}), taken: map[profileKey][]*profile.Profile{}, err: map[profileKey]error{}}
	ctx, p.cancel = context.WithCancel(ctx)
	for party := range parties {
		p.running.Go(func() { p.slices(ctx, party) })
	}
	return p
}

// slices takes one CPU profile after the other.
func (p *profiler) slices(ctx context.Context, party string) {
	for {
		pause := time.Duration(0)
		if !p.take(ctx, profileKey{party, result.ProfileCPU}, fmt.Sprintf("profile?seconds=%.0f", profileSlice.Seconds())) {
			pause = profileRetry
		}
		select {
		case <-p.stop:
			return
		default:
		}
		if lifecycle.Pause(ctx, pause) != nil {
			return
		}
	}
}

// heap takes the heap profiles.
func (p *profiler) heap(ctx context.Context) {
	if p == nil {
		return
	}
	for party := range p.parties {
		p.take(ctx, profileKey{party, result.ProfileHeap}, "heap")
	}
}

// take asks for one profile and reports whether it came.
func (p *profiler) take(ctx context.Context, key profileKey, what string) bool {
	ctx, cancel := context.WithTimeout(ctx, profileSlice+profileGrace)
	defer cancel()
	var got *profile.Profile
	data, err := p.parties[key.party]().Profile(ctx, what)
	if err == nil {
		got, err = profile.ParseData(data)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.err[key] = err
		return false
	}
	p.taken[key] = append(p.taken[key], got)
	return true
}

// finish waits for the slices under way, at most profileSlice and profileGrace.
func (p *profiler) finish() {
	if p == nil {
		return
	}
	close(p.stop)
	p.running.Wait()
	p.cancel()
}

// abandon ends the slices under way.
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
			if key := (profileKey{party, kind}); len(p.taken[key]) == 0 {
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
	for _, key := range slices.SortedFunc(maps.Keys(p.taken), func(a, b profileKey) int { return strings.Compare(a.party+a.kind, b.party+b.kind) }) {
		merged, err := profile.Merge(p.taken[key])
		if err != nil {
			return fmt.Errorf("merge the %s profiles of the %s: %w", key.kind, key.party, err)
		}
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
			Party: key.party, Kind: key.kind, File: filepath.ToSlash(file), Seconds: time.Duration(merged.DurationNanos).Seconds(),
		})
	}
	return nil
}
