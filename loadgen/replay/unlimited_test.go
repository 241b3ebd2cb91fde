package replay

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// turns adds objects of two kinds in turn.
type turns int

func (turns) Resources() []apisim.Resource {
	return []apisim.Resource{apisim.Pods, apisim.ConfigMaps}
}

func (turns) Initial() iter.Seq2[Event, error] { return func(func(Event, error) bool) {} }

func (n turns) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for i := range int(n) {
			for _, resource := range []string{"pods", "configmaps"} {
				object := fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"x%d"}}`, i)
				if !yield(Event{Type: Added, Resource: resource, Namespace: "a", Name: fmt.Sprintf("x%d", i), Object: object, Op: oplog.Record{Phase: oplog.PhaseLoad}}, nil) {
					return
				}
			}
		}
	}
}

// TestUnlimitedWaitsForEveryWatch: none falls behind the window, whichever kind it is of.
func TestUnlimitedWaitsForEveryWatch(t *testing.T) {
	const events = 10_000
	for _, slow := range []string{"pods", "configmaps"} {
		synctest.Test(t, func(t *testing.T) {
			api, err := apisim.New(apisim.Config{Resources: turns(0).Resources(), Window: 3000})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://apisim/api/v1/"+slow+"?watch=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := pipetest.Direct(api).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			read := make(chan int, 1)
			go func() {
				n := 0
				for lines := bufio.NewScanner(resp.Body); n < events && lines.Scan(); n++ {
					if n%100 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
				read <- n
			}()
			e := New(turns(events), Settings{Server: api, Log: &records{}, Speed: units.Unlimited})
			if _, err := e.Load(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if n := <-read; n != events {
				t.Errorf("the watch of %s had %d of %d events", slow, n, events)
			}
			_ = resp.Body.Close()
		})
	}
}
