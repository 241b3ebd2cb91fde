package churn_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// rig is a session under test, with both ends of its pipes.
type rig struct {
	t      *testing.T
	client kubernetes.Interface
	cfg    plan.Config
	log    string // path

	lines  chan map[string]any // what the session says; closed at its end
	in     *io.PipeWriter
	cancel context.CancelCauseFunc
	result chan error
}

func start(t *testing.T, wait bool, change func(*plan.Config)) *rig {
	t.Helper()
	env := clustertest.Start(t)
	cfg := plan.Default()
	cfg.RunID, cfg.Model, cfg.Threads, cfg.Operations = fmt.Sprintf("s%d", time.Now().UnixNano()%1e12), plan.ModelClosed, 2, 60
	cfg.Warmup.Operations = 10
	if change != nil {
		change(&cfg)
	}
	p, err := plan.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, client: kubernetes.NewForConfigOrDie(env.Config), cfg: cfg, log: filepath.Join(t.TempDir(), "ops.zst"),
		lines: make(chan map[string]any, 1000), result: make(chan error, 1)}
	log, err := oplog.Create(r.log)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := churn.New(p, churn.Settings{REST: env.Config, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	r.in = inWrite
	ctx, cancel := context.WithCancelCause(t.Context())
	r.cancel = cancel
	var wg sync.WaitGroup
	wg.Go(func() {
		s := churn.NewSession(engine, cfg, churn.SessionSettings{Out: outWrite, Wait: wait, In: inRead, Log: log})
		err := s.Run(ctx)
		engine.Close()
		_ = outWrite.Close()
		r.result <- errors.Join(err, log.Close())
	})
	wg.Go(func() {
		defer close(r.lines)
		scanner := bufio.NewScanner(outRead)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			var line map[string]any
			if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
				t.Errorf("not JSON: %s", scanner.Text())
			}
			r.lines <- line
		}
	})
	t.Cleanup(func() {
		cancel(nil)
		_ = inWrite.Close()
		wg.Wait()
	})
	return r
}

// until returns the first line of a phase, and fails if the session ends before.
func (r *rig) until(phase string) map[string]any {
	r.t.Helper()
	for line := range r.lines {
		if line["phase"] == phase {
			return line
		}
		if e, ok := line["error"]; ok {
			r.t.Logf("error: %v", e)
		}
	}
	r.t.Fatalf("the session ended without the phase %q", phase)
	return nil
}

func (r *rig) tell() {
	if _, err := io.WriteString(r.in, "go\n"); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) hangUp() { _ = r.in.Close() }

func (r *rig) left() int {
	r.t.Helper()
	opts := metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + r.cfg.RunID}
	namespaces, err := r.client.CoreV1().Namespaces().List(context.Background(), opts)
	if err != nil {
		r.t.Fatal(err)
	}
	nodes, err := r.client.CoreV1().Nodes().List(context.Background(), opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(namespaces.Items) + len(nodes.Items)
}

// untilPods waits until the run has made a pod.
func (r *rig) untilPods() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	opts := metav1.ListOptions{LabelSelector: churn.RunLabel + "=" + r.cfg.RunID, Limit: 1}
	for {
		pods, err := r.client.CoreV1().Pods("").List(ctx, opts)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(pods.Items) > 0 {
			return
		}
	}
}

func (r *rig) records() (n int) {
	r.t.Helper()
	for _, err := range oplog.ReadFile(r.log) {
		if err != nil {
			r.t.Fatal(err)
		}
		n++
	}
	return n
}

func TestSessionWaits(t *testing.T) {
	r := start(t, true, nil)
	r.until("prepare")
	r.until("ready")
	before := r.records() // the prepare phase is readable
	if r.left() != 1+r.cfg.Nodes || before == 0 {
		t.Errorf("%d objects, %d records at ready", r.left(), before)
	}
	select {
	case line := <-r.lines:
		t.Errorf("%v without a go-ahead", line)
	case <-time.After(200 * time.Millisecond):
	}
	r.tell()
	r.until("warmup")
	r.until("warmed")
	if n := r.records(); n < before+10 {
		t.Errorf("%d records at warmed, %d at ready: want 10 more", n, before)
	}
	select {
	case line := <-r.lines:
		t.Errorf("%v without a go-ahead after the warm-up", line)
	case <-time.After(200 * time.Millisecond):
	}
	r.tell()
	began := r.until("load")
	loaded := r.until("loaded")
	if loaded["planned"] != 60.0 || loaded["done"] != 60.0 || loaded["started"] != began["started"] || loaded["incomplete"] != nil ||
		loaded["finished"].(float64) < began["started"].(float64) {
		t.Errorf("loaded: %v", loaded)
	}
	if n := r.records(); n < before+70 {
		t.Errorf("%d records at loaded, %d at ready: want 70 more", n, before)
	}
	r.tell()
	r.until("teardown")
	r.until("done")
	if err := <-r.result; err != nil {
		t.Error(err)
	}
	if n := r.left(); n != 0 {
		t.Errorf("%d objects left behind", n)
	}
	r.records()
}

func TestSessionCleansUpAfter(t *testing.T) {
	forever := func(c *plan.Config) { c.Operations, c.Duration = 0, units.Duration(time.Hour) }
	interrupt := errors.New("interrupt")
	for _, tc := range []struct {
		name   string
		change func(*plan.Config)
		act    func(*rig)
		want   error
	}{
		{"input ends before the load", nil, func(r *rig) { r.until("ready"); r.hangUp() }, churn.ErrAborted},
		{"input ends during the load", forever, func(r *rig) { r.until("ready"); r.tell(); r.tell(); r.until("load"); r.hangUp() }, churn.ErrAborted},
		{"input ends after the load", nil, func(r *rig) { r.until("ready"); r.tell(); r.tell(); r.until("loaded"); r.hangUp() }, nil},
		{"all lines at once", nil, func(r *rig) { r.tell(); r.tell(); r.tell(); r.hangUp() }, nil},
		{"signal before the load", nil, func(r *rig) { r.until("ready"); r.cancel(interrupt) }, interrupt},
		{"signal during the prefill", func(c *plan.Config) { c.Prefill = 100_000 }, func(r *rig) { r.until("prepare"); r.untilPods(); r.cancel(interrupt) }, interrupt},
		{"input ends after the warm-up", nil, func(r *rig) { r.until("ready"); r.tell(); r.until("warmed"); r.hangUp() }, churn.ErrAborted},
		{"signal after the warm-up", nil, func(r *rig) { r.until("ready"); r.tell(); r.until("warmed"); r.cancel(interrupt) }, interrupt},
		{"signal during the warm-up", func(c *plan.Config) { c.Warmup.Operations = 1_000_000 }, func(r *rig) { r.until("ready"); r.tell(); r.until("warmup"); r.cancel(interrupt) }, interrupt},
		{"signal during the load", forever, func(r *rig) {
			r.until("ready")
			r.tell()
			r.tell()
			r.until("load")
			r.cancel(interrupt)
			if l := r.until("loaded"); l["incomplete"] != true {
				r.t.Errorf("loaded does not say that it is incomplete: %v", l)
			}
			if e := r.until("error")["error"].(string); !strings.Contains(e, "interrupt") {
				r.t.Errorf("error %q", e)
			}
		}, interrupt},
		{"signal after the load", nil, func(r *rig) { r.until("ready"); r.tell(); r.tell(); r.until("loaded"); r.cancel(interrupt) }, interrupt},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, true, tc.change)
			tc.act(r)
			r.until("done")
			if err := <-r.result; !errors.Is(err, tc.want) || (tc.want == nil && err != nil) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if n := r.left(); n != 0 {
				t.Errorf("%d objects left behind", n)
			}
			r.records()
		})
	}
}

func TestSessionWithoutWaiting(t *testing.T) {
	r := start(t, false, nil)
	r.until("done")
	if err := <-r.result; err != nil {
		t.Error(err)
	}
	if n := r.left(); n != 0 {
		t.Errorf("%d objects left behind", n)
	}
}

func TestRunIDInUse(t *testing.T) {
	first := start(t, true, nil)
	first.until("ready")
	second := start(t, false, func(c *plan.Config) { c.RunID = first.cfg.RunID })
	second.until("error")
	second.until("done")
	if err := <-second.result; !errors.Is(err, churn.ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	if n := first.left(); n != 1+first.cfg.Nodes {
		t.Errorf("the second run removed objects of the first: %d left", n)
	}
	first.hangUp()
	first.until("done")
}
