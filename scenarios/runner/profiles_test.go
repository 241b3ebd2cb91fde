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

// serving serves profiles; a CPU profile takes as long as a slice. It fails while down.
type serving struct {
	down  atomic.Bool
	asked atomic.Int64
}

func (s *serving) Profile(ctx context.Context, what string) ([]byte, error) {
	s.asked.Add(1)
	if s.down.Load() {
		return nil, errors.New("connection refused")
	}
	took := time.Duration(0)
	if what != "heap" {
		took = profileSlice
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(took):
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: took.Nanoseconds()}
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
		p.heap(t.Context())
		began := time.Now()
		p.finish()
		if took := time.Since(began); took > profileSlice {
			t.Errorf("the end took %s, a slice takes %s", took, profileSlice)
		}
		if n := len(p.taken[profileKey{"steady", result.ProfileCPU}]); n != 5 {
			t.Errorf("%d slices in four and a half times the length of one, want 5", n)
		}
		if n := int64(len(p.taken[profileKey{"restarted", result.ProfileCPU}])); n < 4 || restarted.asked.Load() < n+2 {
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
