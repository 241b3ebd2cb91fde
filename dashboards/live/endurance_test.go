package live

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/internal/procstat"
)

var endurance = flag.Duration("endurance", 0, "how long TestEndurance watches the page (30m for a verdict; needs an idle machine)")

// Limits of TestEndurance.
const (
	heapGrowth  = 1.2  // of the browser's heap, from when all points are there to the end
	serverShare = 0.02 // of one core, for parsing, encoding and serving ten frames a second
)

// realText is an exposition as long as that of a k8s-watch with three kinds and ten queues: some
// 90 KiB, of which a frame needs a quarter of the lines.
func realText(i int) string {
	queues := make([]float64, 10)
	for q := range queues {
		queues[q] = float64((i*(q+3) + q) % 97)
	}
	b := strings.Builder{}
	b.WriteString(ownText(float64(i)/10, queues...))
	buckets := func(name, labels string, n int) {
		for k := range n {
			fmt.Fprintf(&b, "%s_bucket{cluster_id=\"BCS-K8S-00000\",%s,le=\"%g\"} %d\n", name, labels, 0.001*float64(int(1)<<k), i*(k+1))
		}
		fmt.Fprintf(&b, "%[1]s_bucket{cluster_id=\"BCS-K8S-00000\",%[2]s,le=\"+Inf\"} %[3]d\n%[1]s_sum{cluster_id=\"BCS-K8S-00000\",%[2]s} %[3]d\n%[1]s_count{cluster_id=\"BCS-K8S-00000\",%[2]s} %[3]d\n", name, labels, i*(n+1))
	}
	fmt.Fprintf(&b, "# TYPE %s histogram\n", metric.Freshness)
	for _, kind := range []string{"Pod", "ConfigMap", "Namespace"} {
		buckets(metric.Freshness, `kind="`+kind+`"`, 18)
	}
	fmt.Fprintf(&b, "# HELP %[1]s How long an event waited in its queue.\n# TYPE %[1]s histogram\n", metric.QueueLatency)
	for q := range 26 {
		buckets(metric.QueueLatency, fmt.Sprintf("handler=\"Pod_%d\",namespace=\"watchbench-namespace-of-a-cell\"", q), 12)
	}
	for n := range 250 {
		fmt.Fprintf(&b, "# HELP k8swatch_other_%[1]d_total A series that no frame needs, with a help text as long as those of others.\n# TYPE k8swatch_other_%[1]d_total counter\nk8swatch_other_%[1]d_total{kind=\"Pod\"} %[2]d\n", n, i)
	}
	return b.String()
}

// BenchmarkFrame reads such an exposition; 1 ms is one per cent of a core at ten a second.
func BenchmarkFrame(b *testing.B) {
	var m Meter
	texts := [2][]byte{[]byte(realText(1)), []byte(realText(2))}
	b.SetBytes(int64(len(texts[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if m.Frame(Reading{Time: start.Add(time.Duration(i) * 100 * time.Millisecond), Metrics: texts[i%2]}).Unreachable != nil {
			b.Fatal("not read")
		}
	}
}

// TestEndurance: at ten updates a second the browser's memory is flat, and the server takes
// little. This process also makes the readings: what that takes is measured first, and taken off.
func TestEndurance(t *testing.T) {
	if *endurance == 0 {
		t.Skip("takes long: go test ./dashboards/live -run TestEndurance -endurance 30m -timeout 40m")
	}
	self, err := procstat.Open(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	use := func() time.Duration {
		u, err := self.Usage()
		if err != nil {
			t.Fatal(err)
		}
		return u.CPU
	}
	const tries = 500
	made := use()
	for i := range tries {
		realText(i)
	}
	made = (use() - made) / tries
	b := browser(t)
	url, stop := serve(t, newServer(t, lively(t, func(i int, r *Reading) { r.Metrics = []byte(realText(i)) })), ":0")
	defer stop()
	p := newTab(t, b)
	p.open(url, 1400, "light")
	p.await(allDrawn)
	full := time.Duration(History+100) * 100 * time.Millisecond // until every line has all its points
	if *endurance <= full {
		t.Fatalf("-endurance %s is too short; use more than %s", *endurance, full)
	}
	wait(t, full)
	before := heap(p)
	first, seen, began := use(), p.seen(), time.Now()
	wait(t, *endurance-full)
	frames := p.seen() - seen
	share := (use() - first - time.Duration(frames)*made).Seconds() / time.Since(began).Seconds()
	after := heap(p)
	t.Logf("heap %.1f MiB, then %.1f MiB; server %.2f %% of a core, without the %s that each of %d readings took to make", before/(1<<20), after/(1<<20), 100*share, made, frames)
	if least := int((*endurance - full).Seconds() * 9); frames < least {
		t.Errorf("only %d frames came, at least %d of ten a second are expected", frames, least)
	}
	if after > heapGrowth*before {
		t.Errorf("the browser's heap grew from %.1f to %.1f MiB", before/(1<<20), after/(1<<20))
	}
	if share > serverShare {
		t.Errorf("the server takes %.2f %% of a core, at most %.0f %% are meant", 100*share, 100*serverShare)
	}
	p.quiet(url)
}

func wait(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal("the test ended")
	}
}

// seen is how many frames the page had.
func (p *tab) seen() int {
	p.t.Helper()
	n, err := strconv.Atoi(p.eval("live.state().seen"))
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// heap is what the page's script holds, in bytes, after a collection.
func heap(p *tab) (used float64) {
	p.t.Helper()
	p.do(heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		used, _, _, _, err = runtime.GetHeapUsage().Do(ctx)
		return err
	}))
	return used
}
