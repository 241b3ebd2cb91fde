package dashboards

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	faults = flag.Bool("faults", false, "run the real processes with faults under a real Prometheus, some six minutes")
	update = flag.Bool("update", false, "write docs/metrics.md")
)

// noFault is the name of the cluster in which nothing goes wrong.
const noFault = "NoFault"

const (
	calm     = 100 * time.Second // without a fault: longer than 2 Long, so that the rules for old processes hold
	fireIn   = 200 * time.Second // DeadWatch looks for 120 s of silence, the others for less
	resolve  = 150 * time.Second
	loadStep = 200 * time.Millisecond
)

// trial is a fault, and the alerts that it must and may fire. All others must stay silent in its cluster.
type trial struct {
	must     string
	may      []string
	bcs      object
	replicas int
	shards   int
	begin    func(*testing.T, *cell)
	end      func(*testing.T, *cell)
	again    func(*testing.T, *cell) // every few seconds while the fault lasts
}

func mock(faults string) func(*testing.T, *cell) {
	return func(t *testing.T, c *cell) { c.faults(t, faults) }
}

func watch(faults string) func(*testing.T, *cell) {
	return func(t *testing.T, c *cell) { check(t, c.sim.Faults().Add(faults)) }
}

func all(t *testing.T, c *cell) {
	for i := range objects {
		c.write(t, i, 0)
	}
}

// large is how many objects of largeBytes make memory grow.
const large, largeBytes = 40_000, 8 << 10

func trials() []trial {
	slow := func(t *testing.T, c *cell) { c.faults(t, "stall(2s,method=PUT)"); all(t, c) }
	late := []string{alertFallingBehind, alertChangeTooOld, alertQueueNearFull}
	return []trial{
		{must: ""}, // no fault
		{must: alertFallingBehind, may: late, begin: slow, again: all},
		{must: alertChangeTooOld, may: append(late, alertStorageDown, alertParked), begin: mock("503(method=PUT)")},
		{must: alertDeadWatch, may: []string{alertChangeTooOld, alertRelisting}, begin: watch("gone(600s)"),
			end: func(t *testing.T, c *cell) { check(t, c.sim.Faults().Remove(0)) }},
		{must: alertDropping, may: append(late, alertRepairing), bcs: object{"queueFull": "drop", "queueFullTimeout": "10ms", "handlerQueueLen": 4, "eventQueueLen": 4, "strategy": "partitioned", "podQueueNum": 1},
			begin: slow, again: all},
		{must: alertParked, may: []string{alertChangeTooOld, alertRepairing, alertFallingBehind}, bcs: object{"parkAfter": 1}, begin: mock("422(method=PUT,key=default/map-1*)")},
		{must: alertRelisting, begin: watch("410(mid):20%"), end: func(t *testing.T, c *cell) { check(t, c.sim.Faults().Remove(0)) }},
		{must: alertQueueNearFull, may: late, bcs: object{"handlerQueueLen": 32}, begin: slow, again: all},
		{must: alertRepairing, again: func(t *testing.T, c *cell) { c.lose(t, 10) }},
		{must: alertLeaderFlapping, may: []string{alertWatcherDown, alertNoLeader}, replicas: 2, again: func(t *testing.T, c *cell) {
			for _, r := range c.watchers {
				r.end(syscall.SIGTERM)
				time.Sleep(3 * time.Second) // for the other one to lead
				c.run(t, r)
				time.Sleep(3 * time.Second)
			}
		}},
		{must: alertNoLeader, may: []string{alertWatcherDown}, replicas: 2, begin: func(_ *testing.T, c *cell) { c.leases.away.Store("/leases") },
			end: func(t *testing.T, c *cell) {
				c.leases.away.Store("")
				for _, r := range c.watchers { // the former leader has ended by itself
					r.end(syscall.SIGTERM)
					c.run(t, r)
				}
			}},
		{must: alertShardNotHeld, may: []string{alertLeaderFlapping}, replicas: 2, shards: 4,
			begin: func(_ *testing.T, c *cell) { c.leases.away.Store("/leases/k8s-watch-0") },
			end:   func(_ *testing.T, c *cell) { c.leases.away.Store("") }},
		{must: alertMemoryGrowth, may: append(late, alertRepairing), begin: func(t *testing.T, c *cell) {
			c.faults(t, "stall(2s,method=PUT)")
			for i := range large {
				c.write(t, i, largeBytes)
			}
		}},
		{must: alertStorageDown, may: late, begin: mock("refuse(for=600s)")},
		{must: alertWatcherDown, begin: func(_ *testing.T, c *cell) { c.watchers[0].end(syscall.SIGKILL) },
			end: func(t *testing.T, c *cell) { c.run(t, c.watchers[0]) }},
	}
}

// A real Prometheus scrapes real processes, a cluster for each alert. No alert fires before the
// faults; then each fires in its cluster and nowhere else; every query of a panel and every
// rule has a result; and all is silent once the faults end.
func TestFaults(t *testing.T) {
	if !*faults {
		t.Skip("SKIPPED: takes some six minutes; ask for it with -faults")
	}
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("SKIPPED: no prometheus in PATH (Debian's package prometheus has it): no panel and no alert is tried")
	}
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "../cmd/k8s-watch", "../cmd/storagemock").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var cells []*cell
	var watchers, mocks []scrapeTarget
	ts := trials()
	for _, tr := range ts {
		name := strings.TrimPrefix(tr.must, "K8sWatch")
		if name == "" {
			name = noFault
		}
		c := launch(t, bin, name, tr.bcs, max(tr.replicas, 1), tr.shards)
		for _, r := range c.watchers {
			watchers = append(watchers, scrapeTarget{r.metrics, name})
		}
		mocks = append(mocks, scrapeTarget{strings.TrimPrefix(c.admin, "http://"), name})
		cells = append(cells, c)
	}
	// However the test ends, what it started ends.
	t.Cleanup(func() {
		for _, c := range cells {
			for _, r := range c.watchers {
				r.end(syscall.SIGKILL)
			}
		}
	})
	s := serve(t, watchers, mocks)
	stop := background(t, func(i int) {
		for _, c := range cells {
			c.write(t, i%objects, 0)
			if i%10 == 0 {
				c.warn(t, i)
				c.query()
			}
		}
		time.Sleep(loadStep)
	})
	defer stop()

	time.Sleep(calm)
	for _, a := range s.firing(t) {
		t.Errorf("before any fault: %s", a)
	}
	var ends []func()
	for i, tr := range ts {
		if tr.begin != nil {
			tr.begin(t, cells[i])
		}
		if tr.again != nil {
			ends = append(ends, background(t, func(int) { tr.again(t, cells[i]); time.Sleep(3 * time.Second) }))
		}
	}
	fired := map[string]bool{}
	missing := func() (left []string) {
		for i, tr := range ts {
			if tr.must != "" && !fired[cells[i].name+" "+tr.must] {
				left = append(left, tr.must)
			}
		}
		return left
	}
	for deadline := time.Now().Add(fireIn); len(missing()) > 0 && time.Now().Before(deadline); time.Sleep(time.Second) {
		for _, a := range s.firing(t) {
			if !fired[a] {
				t.Logf("%s fires", a)
			}
			fired[a] = true
		}
	}
	for _, a := range missing() {
		t.Errorf("%s does not fire under the fault meant for it", a)
	}
	for i, tr := range ts {
		for a := range fired {
			if name, isOf := strings.CutPrefix(a, cells[i].name+" "); isOf && name != tr.must && !slices.Contains(tr.may, name) {
				t.Errorf("%s fires under a fault that is not meant for it", a)
			}
		}
	}
	s.tryAll(t)
	s.compare(t, append(watchers, mocks...))

	for _, end := range ends {
		end()
	}
	for i, tr := range ts {
		cells[i].faults(t, "")
		if tr.end != nil {
			tr.end(t, cells[i])
		}
	}
	left := s.firing(t)
	for deadline := time.Now().Add(resolve); len(left) > 0 && time.Now().Before(deadline); left = s.firing(t) {
		time.Sleep(time.Second)
	}
	for _, a := range left {
		t.Errorf("%s after the faults ended", a)
	}
}

// tryAll evaluates every panel and every rule.
func (s *server) tryAll(t *testing.T) {
	queries := 0
	for _, b := range boards(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				queries++
				s.want(t, fmt.Sprintf("%s, %s, %s", b.Title, p.Title, q.LegendFormat), q.Expr)
			}
		}
	}
	records, _ := rules(t)
	for _, r := range records {
		s.want(t, "record", r.Record)
	}
	s.rulesWork(t)
	t.Logf("%d queries of panels evaluated", queries)
}

// background repeats f until the function that it returns is called.
func background(t *testing.T, f func(i int)) (stop func()) {
	done := make(chan struct{})
	var w sync.WaitGroup
	w.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-t.Context().Done():
				return
			default:
				f(i)
			}
		}
	})
	return func() { close(done); w.Wait() }
}

// start runs a program until the test ends, and gives its standard output.
func start(t *testing.T, bin, log string, args ...string) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	check(t, err)
	l, err := os.Create(filepath.Clean(log))
	check(t, err)
	cmd := exec.CommandContext(t.Context(), bin, args...) //nolint:gosec // built by this test, or found in PATH
	cmd.Stdout, cmd.Stderr = w, l
	cmd.Dir = filepath.Dir(log)
	check(t, cmd.Start())
	_ = w.Close() // the process has its own: its end is that of r
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = r.Close() })
	return r
}
