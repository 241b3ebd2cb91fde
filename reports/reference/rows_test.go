package reference

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestRows: the embedded table is whole, and its last network figure is what was meant.
func TestRows(t *testing.T) {
	rows := Rows()
	var names []string
	for _, r := range rows {
		names = append(names, r.Name())
		if r.Seconds != 10 || r.LatencyMs < 86 || r.LatencyMs > 90 || len(r.Texts) != 10 {
			t.Errorf("%s: %+v", r.Name(), r)
		}
	}
	const want = "before-10 before-20 before-30 before-50 before-100 before-200 after-20 after-40 after-60 after-80 after-120 after-200 after-400"
	if got := strings.Join(names, " "); got != want {
		t.Fatalf("rows %s, want %s", got, want)
	}
	if r := Find("after-400"); r.NetKiBps != 1170 || r.Texts[9] != "1.170" || r.StorageQPS != 164 {
		t.Errorf("%+v", r)
	}
	if Find("before-40") != nil {
		t.Error("a row that is not there was found")
	}
	for _, bad := range []string{"", "setup\n", strings.Replace(source, "before,117", "sideways,117", 1), strings.Replace(source, "8.97", "eight", 1)} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%.30q is read", bad)
		}
	}
}

// mix is what the published rows before say of the load: events of Pods per write, from the
// drain of one queue that is served one after the other, and of two other kinds with such a
// queue each, together, from the storage rate beyond the Pods'.
type mix struct{ pods, others float64 }

// rate is the storage rate that a row would show, averaged over a window.
func (m mix) rate(r *Row, window float64) float64 {
	pods := m.pods * r.Writes()
	if r.Setup == Before {
		pods = r.DrainS * r.Serial()
	}
	pods = min(pods, pods*window/r.DrainS)
	return (pods + min(m.others*r.Writes(), Others*r.Serial()*window)) / window
}

// misfit is the root mean square of the logarithms of published ÷ computed, as a factor.
func (m mix) misfit(setup string, window float64) float64 {
	sum, n := 0.0, 0.0
	for _, r := range Rows() {
		if r.Setup == setup {
			d := math.Log(r.StorageQPS / m.rate(&r, window))
			sum, n = sum+d*d, n+1
		}
	}
	return math.Exp(math.Sqrt(sum / n))
}

// podsPerWrite is the geometric mean over the rows before whose queues lost nothing.
func podsPerWrite() float64 {
	sum, n := 0.0, 0.0
	for _, r := range Rows() {
		if r.Setup == Before && r.WriterFullS < 100 {
			sum, n = sum+math.Log(r.DrainS*r.Serial()/r.Writes()), n+1
		}
	}
	return math.Exp(sum / n)
}

var candidates = []float64{30, 60, 120, 180, 300, 600}

// fit is the window, and the mix's others, that explain the rows before best.
func fit() (m mix, window float64) {
	least := math.Inf(1)
	for _, w := range candidates {
		for others := 0.0; others < 3; others += 0.02 {
			x := mix{podsPerWrite(), others}
			if d := x.misfit(Before, w); d < least {
				least, m, window = d, x, w
			}
		}
	}
	return m, window
}

// TestWindows derives from the published rows over which windows their storage rates were
// averaged, and what other kinds they contain. docs/published.md has the result.
func TestWindows(t *testing.T) {
	m, window := fit()
	if window != Windows[Before] || m.misfit(Before, window) > 1.03 {
		t.Errorf("before: %v s with %+v, off by ×%.3f", window, m, m.misfit(Before, window))
	}
	for _, w := range candidates {
		if off := m.misfit(After, w); (off < 1.25) != (w == Windows[After]) {
			t.Errorf("after: %v s is off by ×%.2f", w, off)
		}
	}
	page, err := os.ReadFile("../../docs/published.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("%.0f s fit best, with ×÷ %.2f", Windows[After], m.misfit(After, Windows[After])),
		fmt.Sprintf("%.2f Pod events for each write", m.pods), fmt.Sprintf("%.2f requests for each write", m.others)} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/published.md does not say\n%s", want)
		}
	}
}

// TestMix: the constants are those that the rows say. With more threads the rate before ends
// at three times what one queue can send.
func TestMix(t *testing.T) {
	if got := podsPerWrite(); math.Abs(got-PodsPerWrite) > 0.005 {
		t.Errorf("%.3f Pod events for each write", got)
	}
	for _, name := range []string{"before-100", "before-200"} {
		if r := Find(name); math.Abs(r.StorageQPS/r.DrainQPS()-1) > 0.05 {
			t.Errorf("%s: %v published, %v while Pods drain", name, r.StorageQPS, r.DrainQPS())
		}
	}
	for _, r := range Rows() {
		if r.Setup == After && r.DrainQPS() < r.StorageQPS {
			t.Errorf("%s: %v published, only %v while Pods drain", r.Name(), r.StorageQPS, r.DrainQPS())
		}
	}
}

// TestBacklogWaits: in the rows in which the Writer queue was full, what was sent is what the queues hold and what
// was sent meanwhile. So nothing was dropped from a queue that had room, and the scenario's queues block.
func TestBacklogWaits(t *testing.T) {
	n := 0
	for _, r := range Rows() {
		if r.WriterFullS == 0 {
			continue
		}
		n++
		sent := r.DrainS * r.Serial()
		if held := float64(Settings[Before].Room()) + (r.WriterFullS+r.Seconds)*r.Serial(); math.Abs(sent/held-1) > 0.05 {
			t.Errorf("%s sent %.0f, held and sent meanwhile are %.0f", r.Name(), sent, held)
		}
	}
	if n != 2 {
		t.Errorf("%d rows with a full Writer queue", n)
	}
}

// TestPagesTable: docs/published.md shows the rows as they are.
func TestPagesTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/published.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^\| (?:before|after) \| .*\|$`).FindAllString(string(page), -1)
	var want []string
	for _, r := range Rows() {
		want = append(want, "| "+r.Setup+" | "+strings.Join(r.Texts, " | ")+" |")
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("docs/published.md has\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
