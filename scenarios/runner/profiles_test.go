package runner

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/watchbench/watchbench/reports/result"
)

// serving serves profiles; a CPU profile takes as long as a slice, or no time at all if hasty.
// It fails while down and does not answer while it hangs.
type serving struct {
	down, hangs, hasty, other atomic.Bool
	asked                     atomic.Int64
}

func (s *serving) Profile(ctx context.Context, what string) ([]byte, error) {
	s.asked.Add(1)
	if s.down.Load() {
		return nil, errors.New("connection refused")
	}
	took := time.Duration(0)
	if what != "heap" && !s.hasty.Load() {
		took = profileSlice
	}
	if s.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(took):
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: took.Nanoseconds()}
	if s.other.Load() {
		p.SampleType[0].Type = "wall"
	}
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// TestProfilerOutlivesARestart: slices follow one another until the end, a process that does
// not answer for a while is asked again, at a pace, and what it never gave is named.
func TestProfilerOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steady, restarted, silent := &serving{}, &serving{}, &serving{}
		silent.down.Store(true)
		p := newProfiler(t.Context(), map[string]func() profileSource{
			"steady": func() profileSource { return steady }, "restarted": func() profileSource { return restarted }, "silent": func() profileSource { return silent },
		})
		time.Sleep(profileSlice + profileSlice/2)
		restarted.down.Store(true) // the slice under way still comes
		time.Sleep(profileSlice)
		restarted.down.Store(false)
		time.Sleep(2 * profileSlice)
		p.heap()
		began := time.Now()
		p.finish()
		if took := time.Since(began); took > profileSlice {
			t.Errorf("the end took %s, a slice takes %s", took, profileSlice)
		}
		if n := slicesOf(p, "steady"); n != 5 {
			t.Errorf("%d slices in four and a half times the length of one, want 5", n)
		}
		if n := slicesOf(p, "restarted"); n < 4 || restarted.asked.Load() < n+2 {
			t.Errorf("%d slices of the process that was restarted, of %d asked for: want some before and after, and failures between", n, restarted.asked.Load())
		}
		if most := int64(5*profileSlice/profileRetry) + 2; silent.asked.Load() > most {
			t.Errorf("a process that does not answer was asked %d times, at most %d are fair", silent.asked.Load(), most)
		}
		want := "no cpu profile of the silent: connection refused\nno heap profile of the silent: connection refused"
		if got := strings.Join(p.missing(), "\n"); got != want {
			t.Errorf("missing:\n%s\nwant:\n%s", got, want)
		}
	})
}

// slicesOf is of how many slices the CPU profile of a process was merged.
func slicesOf(p *profiler, party string) int64 {
	if got := p.taken[profileKey{party, result.ProfileCPU}]; got != nil {
		return got.DurationNanos / profileSlice.Nanoseconds()
	}
	return 0
}

// TestProfilerBearsOddWatchers: one that hangs as the load ends does not hold up the drain,
// one that answers at once is not asked without pause, and a profile that cannot be merged
// with those before costs no more than itself.
func TestProfilerBearsOddWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, hasty, changed := &serving{}, &serving{}, &serving{}
		hasty.hasty.Store(true)
		p := newProfiler(t.Context(), map[string]func() profileSource{
			"hangs": func() profileSource { return hangs }, "hasty": func() profileSource { return hasty }, "changed": func() profileSource { return changed },
		})
		time.Sleep(2*profileSlice + profileSlice/2)
		hangs.hangs.Store(true)
		changed.other.Store(true)
		began := time.Now()
		p.heap()
		if took := time.Since(began); took > 0 {
			t.Errorf("the end of the load took %s longer", took)
		}
		p.finish()
		if took := time.Since(began); took > profileSlice+profileGrace {
			t.Errorf("the end took %s", took)
		}
		if most := int64(4*profileSlice/profileRetry) + 2; hasty.asked.Load() > most {
			t.Errorf("a process that answers at once was asked %d times, at most %d are fair", hasty.asked.Load(), most)
		}
		if n := slicesOf(p, "changed"); n != 2 {
			t.Errorf("%d slices of the process whose profiles changed, want the 2 before", n)
		}
		if got, want := strings.Join(p.missing(), "\n"), "no heap profile of the hangs: context deadline exceeded"; got != want {
			t.Errorf("missing:\n%s\nwant:\n%s", got, want)
		}
	})
}

// TestProfilerEndsInAPause: no slice begins after the end, also where the end comes between
// two tries.
func TestProfilerEndsInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serving{}
		s.down.Store(true)
		p := newProfiler(t.Context(), map[string]func() profileSource{"watcher": func() profileSource { return s }})
		p.heap()
		time.Sleep(profileRetry / 2)
		s.down.Store(false)
		began := time.Now()
		p.finish()
		if took := time.Since(began); took > profileRetry || slicesOf(p, "watcher") != 0 {
			t.Errorf("the end took %s, with %d slices", took, slicesOf(p, "watcher"))
		}
	})
}

// TestProfilerIsAbandoned: an interruption does not wait for the slices.
func TestProfilerIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProfiler(t.Context(), map[string]func() profileSource{"watcher": func() profileSource { return &serving{} }})
		time.Sleep(profileSlice / 4)
		began := time.Now()
		p.abandon()
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s", took)
		}
	})
}

// TestProfiles: with profiles asked for, a cell has those of both processes, over load and
// drain, and the folder judges alike; without, neither serves any.
func TestProfiles(t *testing.T) {
	opts, said := stage(t, played, "cluster.replay.speed=1x", "matrix.watcher.strategy=keyed")
	opts.Profile = true
	out := simulated(t, opts, said)
	c := out.Results.Cells[0]
	if !out.Results.Environment.Profiled || len(c.Profiles) != 4 {
		t.Fatalf("profiled %t, %d profiles, want 4: %+v", out.Results.Environment.Profiled, len(c.Profiles), c.Profiles)
	}
	for _, p := range c.Profiles {
		data, err := os.ReadFile(filepath.Join(out.Dir, filepath.FromSlash(p.File)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := profile.ParseData(data)
		if err != nil {
			t.Fatalf("%s: %v", p.File, err)
		}
		program := map[string]string{"watcher": "k8s-watch", "storagemock": "storagemock"}[p.Party]
		if len(got.Mapping) == 0 || filepath.Base(got.Mapping[0].File) != program {
			t.Errorf("%s: of %v, want %s", p.File, got.Mapping, program)
		}
		if len(got.Sample) == 0 {
			t.Errorf("%s has no sample", p.File)
		}
		if p.Kind == result.ProfileCPU && p.Seconds < c.Load.DurationS {
			t.Errorf("%s covers %.1f s, the load took %.1f s", p.File, p.Seconds, c.Load.DurationS)
		}
	}
	judgedAlike(t, out.Dir)

	opts, said = stage(t, played, "cluster.replay.speed=1x", "matrix.watcher.strategy=keyed")
	if out := simulated(t, opts, said); out.Results.Environment.Profiled || len(out.Results.Cells[0].Profiles) > 0 {
		t.Errorf("profiles that nobody asked for: %+v", out.Results.Cells[0].Profiles)
	}
}
