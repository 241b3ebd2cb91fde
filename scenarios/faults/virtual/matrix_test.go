package virtual

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// row is one fault with its variants; a seed takes one of them.
type row struct {
	id       string
	asserted string // columns: Converge, Order, conservation (L), Bounded, Isolation, Amplification, Time to recover, Secrecy
	variants []variant
	// total judges all histories together: a rate needs more than one.
	total func(all []*outcome) error
}

// variant is one form of a fault.
type variant struct {
	name  string
	setup setup
	check map[rune]func(*outcome) error
	keys  int  // distinct keys that the faults must hit; 0 is matrix.MinKeys, negative none
	plain bool // the strategy and the queues are left at their defaults
}

// vary gives each history other settings.
func vary(s setup, seed uint64, plain bool) setup {
	s.seed = seed
	if s.ops == 0 {
		s.ops = *opsFlag
	}
	edit := s.edit
	s.edit = func(c *config.Config, f *config.Filter) {
		if !plain {
			c.BCS.Strategy = []pipeline.Strategy{pipeline.Keyed, pipeline.Partitioned, pipeline.Dedup, pipeline.Adaptive, pipeline.Single}[seed/2%5]
			c.BCS.QueueFull = []pipeline.QueueFull{pipeline.Coalesce, pipeline.Block}[seed/3%2]
			c.BCS.HandlerQueueLen = []int{c.BCS.HandlerQueueLen, 3}[seed/5%2]
		}
		if seed%2 == 1 { // repairs must not go against the order of the watch
			c.Synchronizer.Disabled = false
			c.Synchronizer.Period = config.Duration(max(2*time.Second, s.span/10))
		}
		if edit != nil {
			edit(c, f)
		}
	}
	return s
}

// general are the checks of a column where a variant has none of its own.
func general(column rune, o *outcome) error {
	switch column {
	case 'C', 'O', 'L':
		if column == 'C' && o.settled.IsZero() {
			return fmt.Errorf("storage did not converge within the limit: %s", o.verdict.Checks["G1"].Counterexample)
		}
		if c := matrix.Column(string(column), o.verdict.Checks, nil); c.Verdict != result.Pass {
			return errors.New(c.Detail)
		}
		return nil
	case 'B':
		return o.bounded()
	case 'S':
		if o.leaks > 0 {
			return fmt.Errorf("the canary crossed the network %d times", o.leaks)
		}
		return nil
	}
	return fmt.Errorf("column %c has no check", column)
}

// bounded: sockets and queues stay under what the configuration allows.
func (o *outcome) bounded() error {
	const kinds, queues = kindsServed, 4
	workers := kinds * queues
	switch o.setup.strategy() {
	case pipeline.Partitioned:
		workers += 4 * queues // Events have four times as many
	case pipeline.Adaptive:
		workers = kinds * 512
	}
	// The Synchronizer reads beside the workers: pages of kinds, and single rows.
	sync := synchronizer.Default()
	if limit := workers + sync.Concurrency + sync.Reading; o.peak > limit {
		return fmt.Errorf("%d connections to storage at a time, want at most %d", o.peak, limit)
	}
	keys := map[string]bool{}
	for _, r := range o.ops {
		keys[r.Kind+r.Namespace+"/"+r.Name] = true
	}
	cfg := o.setup.config()
	if cfg.BCS.HandlerQueueLen > 1000 {
		return nil // the load is smaller than one queue
	}
	limit := len(keys) + kinds*cfg.BCS.HandlerQueueLen + min(workers, len(keys))
	if cfg.BCS.QueueFull == pipeline.Block {
		limit += cfg.BCS.WriterQueueLen
	}
	for _, n := range o.queued {
		if n > float64(limit) {
			return fmt.Errorf("%.0f events queued, want at most %d", n, limit)
		}
	}
	return nil
}

func (s setup) config() config.Config {
	cfg := config.Default()
	cfg.BCS.PodQueueNum = 4
	if s.edit != nil {
		s.edit(&cfg, &config.Filter{})
	}
	return cfg
}

func (s setup) strategy() pipeline.Strategy { return s.config().BCS.Strategy }

// vacuous tells why a run shows nothing, or nothing.
func (o *outcome) vacuous(v variant) string {
	done := 0
	for _, r := range o.ops {
		if r.Phase == oplog.PhaseLoad && r.OK() {
			done++
		}
	}
	if done*10 < o.planned*8 {
		return fmt.Sprintf("%d of %d operations done, want 80 %%", done, o.planned)
	}
	want := v.keys
	if want == 0 {
		want = matrix.MinKeys
	}
	if o.setup.storage == "" && o.setup.watch == "" || want < 0 {
		return ""
	}
	keys := 0
	for _, f := range o.fired {
		if f.Fired == 0 {
			return f.Spec + " never fired"
		}
		keys += f.Keys
	}
	if keys < want {
		return fmt.Sprintf("the faults hit fewer than %d distinct keys: %+v", want, o.fired)
	}
	return ""
}

func seedsOf(t *testing.T, n int) []uint64 {
	if *seedFlag >= 0 {
		return []uint64{uint64(*seedFlag)}
	}
	if testing.Short() {
		n = min(n, 5)
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i)
	}
	t.Logf("%d histories of %d operations, on %d processors", n, *opsFlag, runtime.GOMAXPROCS(0))
	return all
}

// TestMatrix runs every fault of tier 1 over many histories.
func TestMatrix(t *testing.T) {
	all := seedsOf(t, *seeds)
	for _, r := range allRows() {
		t.Run(r.id, func(t *testing.T) {
			t.Parallel()
			var runs []*outcome
			for _, seed := range all {
				v := r.variants[seed%uint64(len(r.variants))]
				o := simulate(t, vary(v.setup, seed, v.plain))
				r.judge(t, v, seed, o)
				if r.total != nil {
					runs = append(runs, o)
				}
			}
			if r.total != nil && *seedFlag < 0 {
				if err := r.total(runs); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// judge reports what does not hold in a history.
func (r row) judge(t *testing.T, v variant, seed uint64, o *outcome) {
	t.Helper()
	fail := func(col string, err any) {
		t.Errorf("%s %s, column %s: %v\n  again: go test ./scenarios/faults/virtual -run 'TestMatrix/%s$' -seed %d -ops %d -count 20",
			r.id, v.name, col, err, r.id, seed, *opsFlag)
	}
	if why := o.vacuous(v); why != "" {
		fail("(invalid run)", why)
	}
	for _, p := range o.problems {
		fail("(problem)", p)
	}
	for _, col := range r.asserted {
		check := v.check[col]
		if check == nil && strings.ContainsRune("IAT", col) {
			continue // of another variant
		} else if check == nil {
			check = func(o *outcome) error { return general(col, o) }
		}
		if err := check(o); err != nil {
			fail(string(col), err)
		}
	}
}
