package churn

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

var barePairs = flag.Int("bare", 0, "hold the engine against a bare client-go loop in so many pairs of runs; needs a quiet machine")

// Aims of the engine, and what a pair of runs sends.
const (
	bareRate    = 0.95                  // of a bare loop's rate, at least
	bareCPU     = 60 * time.Microsecond // beyond a bare loop's, per operation, at most
	bareLoad    = 0.70                  // of the rate, in an open loop
	bareLag     = 50.0                  // ms, the lag's p99 in it, at most
	bareThreads = 8
	bareOps     = 3000
	bareOpen    = 15 * time.Second
)

// TestEngineAgainstABareLoop compares the engine with the loop that one would write with
// client-go: the same requests to the same apiserver, in turns.
func TestEngineAgainstABareLoop(t *testing.T) {
	if *barePairs == 0 {
		t.Skip("measures for minutes, and needs a quiet machine: go test ./loadgen/churn -run TestEngineAgainstABareLoop -bare 5 -v")
	}
	env := clustertest.Start(t)
	var rates, ratios, extra []float64
	for i := range *barePairs {
		got := map[bool]sent{}
		for _, engine := range []bool{i%2 == 0, i%2 != 0} {
			got[engine] = sendClosed(t, env.Config, engine)
		}
		rates = append(rates, got[true].rate)
		ratios = append(ratios, got[true].rate/got[false].rate)
		extra = append(extra, float64((got[true].cpu - got[false].cpu).Microseconds()))
		t.Logf("pair %d: engine %.0f/s, %v of CPU per operation; bare loop %.0f/s, %v", i+1, got[true].rate, got[true].cpu, got[false].rate, got[false].cpu)
	}
	rate, ratio, cost := median(rates), median(ratios), median(extra)
	lag := sendOpen(t, env.Config, bareLoad*rate)
	t.Logf("the engine has %.1f %% of a bare loop's rate and uses %.0f µs of CPU more per operation; at %.0f/s the lag's p99 is %.1f ms", 100*ratio, cost, bareLoad*rate, lag)
	if ratio < bareRate || cost > float64(bareCPU.Microseconds()) || lag > bareLag {
		t.Errorf("aims: %.0f %%, %v, %.0f ms", 100*bareRate, bareCPU, bareLag)
	}
}

// sent is what came of a closed loop: operations per second, and the CPU time of this
// process for each.
type sent struct {
	rate float64
	cpu  time.Duration
}

var bareRuns atomic.Int64

func bareEngine(t *testing.T, cfg *rest.Config, change func(*plan.Config)) (*Engine, *plan.Plan) {
	t.Helper()
	c := plan.Default()
	c.Seed, c.RunID, c.Survivors, c.Nodes = 1, fmt.Sprintf("bare-%d-%d", os.Getpid(), bareRuns.Add(1)), 0, 1
	change(&c)
	p, err := plan.New(c)
	if err != nil {
		t.Fatal(err)
	}
	log, err := oplog.Create(t.TempDir() + "/ops")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(p, Settings{REST: cfg, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(e.Teardown(ctx), log.Close()); err != nil {
			t.Error(err)
		}
		e.Close()
	})
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e, p
}

func sendClosed(t *testing.T, cfg *rest.Config, engine bool) sent {
	t.Helper()
	e, p := bareEngine(t, cfg, func(c *plan.Config) {
		c.Model, c.Threads, c.Operations = plan.ModelClosed, bareThreads, bareOps
	})
	self, err := procstat.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	before, err := self.Usage()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if engine {
		if s, err := e.Load(t.Context(), nil); err != nil || s.Done != bareOps {
			t.Fatalf("%d of %d operations done: %v", s.Done, bareOps, err)
		}
	} else if n := bareLoop(t, cfg, e, p); n != bareOps {
		t.Fatalf("%d of %d operations done", n, bareOps)
	}
	took := time.Since(begun)
	after, err := self.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return sent{rate: bareOps / took.Seconds(), cpu: (after.CPU - before.CPU) / bareOps}
}

// bareUIDs are the uids that a thread was told of.
type bareUIDs map[*plan.Target]types.UID

func (u bareUIDs) UID(t *plan.Target) types.UID { return u[t] }

// bareLoop sends the plan's requests by client-go: no log, no retries, no account.
func bareLoop(t *testing.T, cfg *rest.Config, e *Engine, p *plan.Plan) int64 {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.ContentType, cfg.AcceptContentTypes = -1, protobufType, protobufType
	cfg.DisableCompression = true
	set, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client := set.CoreV1().RESTClient()
	var done atomic.Int64
	var threads sync.WaitGroup
	for k := range bareThreads {
		threads.Go(func() {
			uids := bareUIDs{}
			for op := range p.Thread(k) {
				r := e.shape.Request(op, uids, time.Now())
				send, err := request(client, r)
				if err == nil {
					var pod corev1.Pod
					if result := send.Do(t.Context()); op.Type == oplog.TypeCreate {
						err = result.Into(&pod)
						uids[op.Target] = pod.UID
					} else {
						err = result.Error()
					}
				}
				if err == nil && op.Type == oplog.TypeBind {
					_, err = set.CoreV1().Pods(r.Namespace).Get(t.Context(), r.Name, metav1.GetOptions{})
				}
				if err != nil {
					t.Errorf("%s %s: %v", op.Type, r.Name, err)
					return
				}
				done.Add(1)
			}
		})
	}
	threads.Wait()
	return done.Load()
}

func sendOpen(t *testing.T, cfg *rest.Config, rate float64) (lagP99 float64) {
	t.Helper()
	e, _ := bareEngine(t, cfg, func(c *plan.Config) {
		c.Model, c.Rate, c.Duration = plan.ModelOpen, rate, units.Duration(bareOpen)
	})
	s, err := e.Load(t.Context(), nil)
	if err != nil || s.Done != s.Planned {
		t.Fatalf("%d of %d operations done: %v", s.Done, s.Planned, err)
	}
	return s.LagMs.P99
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
