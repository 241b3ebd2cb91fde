package live

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/watchbench/watchbench/internal/procstat"
)

var endurance = flag.Duration("endurance", 0, "how long TestEndurance watches the page (30m for a verdict; needs an idle machine)")

// Limits of TestEndurance.
const (
	heapGrowth  = 1.2  // of the browser's heap, from when all points are there to the end
	serverShare = 0.02 // of one core, for parsing, encoding and serving ten frames a second
)

// TestEndurance: at ten updates a second the browser's memory is flat, and the server takes
// little. This process also makes the readings, so its CPU time is an upper bound.
func TestEndurance(t *testing.T) {
	if *endurance == 0 {
		t.Skip("takes long: go test ./dashboards/live -run TestEndurance -endurance 30m -timeout 40m")
	}
	b := browser(t)
	url, stop := serve(t, newServer(t, lively(t, nil)), ":0")
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
	self, err := procstat.Open(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	first, err := self.Usage()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	wait(t, *endurance-full)
	last, err := self.Usage()
	if err != nil {
		t.Fatal(err)
	}
	share := (last.CPU - first.CPU).Seconds() / time.Since(began).Seconds()
	after := heap(p)
	t.Logf("heap %.1f MiB, then %.1f MiB; server %.2f %% of a core; %s frames", before/(1<<20), after/(1<<20), 100*share, p.eval("live.state().seen"))
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

// heap is what the page's script holds, in bytes, after a collection.
func heap(p *tab) (used float64) {
	p.t.Helper()
	p.do(heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		used, _, _, _, err = runtime.GetHeapUsage().Do(ctx)
		return err
	}))
	return used
}
