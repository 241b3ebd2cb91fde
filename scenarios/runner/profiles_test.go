package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// serving answers with a text; it fails while down and does not answer while it hangs.
type serving struct{ down, hangs bool }

func (s serving) Profile(ctx context.Context, what string) ([]byte, error) {
	if s.down {
		return nil, errors.New("connection refused")
	}
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []byte(what), nil
}

// TestProfiler: each process gives both profiles, one that does not answer has the reason, and one that hangs holds
// neither the load's end nor the cell up for longer than its time.
func TestProfiler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProfiler(t.Context(), 5*time.Second, map[string]profileSource{
			"good": serving{}, "down": serving{down: true}, "hangs": serving{hangs: true},
		})
		began := time.Now()
		p.heap()
		if took := time.Since(began); took > 0 {
			t.Errorf("the end of the load took %s longer", took)
		}
		p.running.Wait()
		if took := time.Since(began); took > 5*time.Second+profileGrace {
			t.Errorf("the end took %s", took)
		}
		if len(p.taken) != 6 {
			t.Fatalf("%d profiles", len(p.taken))
		}
		for _, x := range p.taken {
			want := map[string]string{result.ProfileCPU: "profile?seconds=5", result.ProfileHeap: "heap"}[x.Kind]
			if good := x.Party == "good"; (x.err == nil) != good || good && string(x.data) != want {
				t.Errorf("%s of %s: %q, %v", x.Kind, x.Party, x.data, x.err)
			}
		}
	})
}

// TestProfilerIsAbandoned: an interruption does not wait for the profiles.
func TestProfilerIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProfiler(t.Context(), time.Minute, map[string]profileSource{"watcher": serving{hangs: true}})
		began := time.Now()
		p.abandon()
		if took := time.Since(began); took > 0 {
			t.Errorf("the end took %s", took)
		}
	})
}
