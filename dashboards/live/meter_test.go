package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
)

// ownText is an exposition of k8s-watch after so many seconds under load.
func ownText(second float64, queues ...float64) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# TYPE %s counter", metric.EventsReceived)
	p(`%s{kind="Pod"} %g`, metric.EventsReceived, 100*second)
	p(`%s{kind="Node"} %g`, metric.EventsReceived, 10*second)
	p(`%s{kind="Pod"} %g`, metric.EventsSent, 80*second)
	p(`%s{kind="Pod"} %g`, metric.EventsCoalesced, 20*second)
	p(`%s{kind="Pod"} %d`, metric.EventsDropped, 0)
	p(`%s{queue="%s"} 3`, metric.QueueDepth, metric.WriterQueueHandler)
	p(`%s{queue="%s"} 1024`, metric.QueueCapacity, metric.WriterQueueHandler)
	for i, d := range queues {
		p(`%s{queue="Pod_%d"} %g`, metric.QueueDepth, i, d)
		p(`%s{queue="Pod_%d"} 100`, metric.QueueCapacity, i)
	}
	p("%s 30", metric.InFlight)
	p(`%s{kind="Pod"} 1.5`, metric.OldestUnsent)
	p(`%s{kind="Node"} 0`, metric.OldestUnsent)
	p(`%s{kind="Node"} 12`, metric.WatchSilent)
	p("# TYPE %s histogram", metric.StorageLatency)
	for _, method := range []string{"PUT", "GET"} { // the latter must not count
		fast, all := 60*second, 80*second
		if method == "GET" {
			fast, all = 0, 800*second
		}
		p(`%s_bucket{method="%s",le="0.05"} %g`, metric.StorageLatency, method, fast)
		p(`%s_bucket{method="%s",le="0.1"} %g`, metric.StorageLatency, method, all)
		p(`%s_bucket{method="%s",le="+Inf"} %g`, metric.StorageLatency, method, all)
		p(`%s_sum{method="%s"} 1`, metric.StorageLatency, method)
		p(`%s_count{method="%s"} %g`, metric.StorageLatency, method, all)
	}
	p(`%s{peer="storage",direction="in"} %g`, metric.NetBytes, 1000*second)
	p(`%s{peer="apiserver",direction="out"} %g`, metric.NetBytes, 500*second)
	p("process_cpu_seconds_total %g", 0.25*second)
	p("process_resident_memory_bytes 1e+08")
	p("process_start_time_seconds 1.7e+09")
	p("go_sched_gomaxprocs_threads 2")
	return b.String()
}

// originalText is an exposition of bcs-k8s-watch.
func originalText(second float64) string {
	return fmt.Sprintf(`# TYPE bkbcs_k8swatch_queue_handler_total_num gauge
bkbcs_k8swatch_queue_handler_total_num{cluster_id="c",handler="writer_normal_queue"} 7
bkbcs_k8swatch_queue_handler_total_num{cluster_id="c",handler="Pod_0"} 40
bkbcs_k8swatch_queue_handler_total_num{cluster_id="c",handler="Pod_1"} 2
# TYPE bkbcs_k8swatch_storage_request_total_num counter
bkbcs_k8swatch_storage_request_total_num{method="PUT",status="success"} %g
bkbcs_k8swatch_storage_request_total_num{method="PUT",status="failure"} %g
bkbcs_k8swatch_storage_request_total_num{method="GET",status="success"} %g
process_cpu_seconds_total %g
`, 50*second, 5*second, 500*second, second)
}

var start = time.Unix(1_800_000_000, 0)

// framesOf are the frames of expositions one second apart.
func framesOf(texts ...string) (all []Frame) {
	var m meter
	for i, text := range texts {
		all = append(all, m.frame(Reading{Time: start.Add(time.Duration(i) * time.Second), Metrics: []byte(text)}))
	}
	return all
}

func value(v *float64) any {
	if v == nil {
		return "unknown"
	}
	return math.Round(*v*1e6) / 1e6
}

func TestFrameOfK8sWatch(t *testing.T) {
	all := framesOf(ownText(10, 30, 31), ownText(11, 30, 31))
	first, f := all[0], all[1]
	if first.Received != nil || first.Latency != nil || first.CPU != nil {
		t.Errorf("one reading tells rates: %+v", first)
	}
	for name, tc := range map[string]struct{ got, want any }{
		"received": {value(f.Received), 110.0}, "sent": {value(f.Sent), 80.0}, "coalesced": {value(f.Coalesced), 20.0}, "dropped": {value(f.Dropped), 0.0},
		"writer": {value(f.Writer), 3.0}, "handlers": {value(f.Handlers), 61.0}, "in flight": {value(f.InFlight), 30.0},
		"oldest": {value(f.Oldest), 1.5}, "its kind": {f.OldestOf, "Pod"}, "cpu": {value(f.CPU), 0.25}, "memory": {value(f.Memory), 1e8},
		"in": {value(f.NetIn), 1000.0}, "out": {value(f.NetOut), 500.0},
		"p50":       {math.Round(f.Latency.P50 * 1e4), math.Round(0.05 * 40 / 60 * 1e4)}, // 40th of the 60 up to 50 ms
		"p90":       {math.Round(f.Latency.P90 * 1e4), math.Round((0.05 + 0.05*12/20) * 1e4)},
		"freshness": {f.Freshness == nil, true}, // it has no such metric
		"queues":    {len(f.Queues), 3}, "first queue": {f.Queues[0].Name, metric.WriterQueueHandler}, "capacity": {value(f.Queues[1].Capacity), 100.0},
		"bottleneck": {f.Bottleneck.Where, AtInFlight},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", name, tc.got, tc.want)
		}
	}
}

func TestFrameOfBcsK8sWatch(t *testing.T) {
	f := framesOf(originalText(1), originalText(2))[1]
	for name, tc := range map[string]struct{ got, want any }{
		"sent": {value(f.Sent), 50.0}, "dropped": {value(f.Dropped), 0.0}, "writer": {value(f.Writer), 7.0}, "handlers": {value(f.Handlers), 42.0},
		"cpu": {value(f.CPU), 1.0}, "received": {value(f.Received), "unknown"}, "coalesced": {value(f.Coalesced), "unknown"}, "in flight": {value(f.InFlight), "unknown"},
		"oldest": {value(f.Oldest), "unknown"}, "memory": {value(f.Memory), "unknown"}, "in": {value(f.NetIn), "unknown"}, "capacity": {value(f.Queues[1].Capacity), "unknown"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", name, tc.got, tc.want)
		}
	}
	data, err := json.Marshal(f)
	if err != nil || strings.Contains(string(data), "received") || strings.Contains(string(data), "oldest") {
		t.Errorf("%v: what is not known is in the frame: %s", err, data)
	}
}

func TestFrameOfNoWatcher(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "no metric of k8s-watch",
		"<html>login</html>":              "read its metrics",
		"go_goroutines 5\n":               "no metric of k8s-watch",
		metric.EventsReceived + " x\n":    "read its metrics",
		metric.EventsReceived + "{k=\"\n": "read its metrics",
	} {
		f := framesOf(ownText(1), text)[1]
		if f.Unreachable == nil || !strings.Contains(f.Unreachable.Why, want) || f.Unreachable.Since != f.Time || f.Queues != nil || f.Received != nil {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

// TestOutage: the page says since when there is no reading, and goes on afterwards.
func TestOutage(t *testing.T) {
	var m meter
	at := func(s int, text string, err error) Frame {
		r := Reading{Time: start.Add(time.Duration(s) * time.Second), Err: err}
		if err == nil {
			r.Metrics = []byte(text)
		}
		return m.frame(r)
	}
	at(0, ownText(0), nil)
	down := errors.New("connection refused")
	at(1, "", down)
	if f := at(2, "", down); f.Unreachable == nil || f.Unreachable.Since != start.Add(time.Second).UnixMilli() {
		t.Errorf("during the outage: %+v", f.Unreachable)
	}
	if f := at(3, ownText(3), nil); f.Unreachable != nil || f.Received != nil {
		t.Errorf("right after it: %+v, received %v", f.Unreachable, value(f.Received))
	}
	if f := at(4, ownText(4), nil); value(f.Received) != 110.0 {
		t.Errorf("received %v", value(f.Received))
	}
}

// TestRestart: the counters of a new process are not compared with those of the former one.
func TestRestart(t *testing.T) {
	again := strings.Replace(ownText(20), "1.7e+09", "1.71e+09", 1)
	if f := framesOf(ownText(10), again)[1]; f.Received != nil || f.CPU != nil || f.Latency != nil {
		t.Errorf("compared with the former process: %v", value(f.Received))
	}
	if f := framesOf(ownText(10), ownText(1))[1]; f.Received != nil || f.Latency != nil {
		t.Errorf("counters that fell give a rate: %v", value(f.Received))
	}
}

// TestRateWindow: a rate covers a second, also where readings come more often.
func TestRateWindow(t *testing.T) {
	var m meter
	var f Frame
	for i := range 200 {
		s := float64(i) / 10
		f = m.frame(Reading{Time: start.Add(time.Duration(i) * 100 * time.Millisecond), Metrics: []byte(ownText(math.Floor(s)))})
	}
	if value(f.Received) != 110.0 || len(m.past) > 12 {
		t.Errorf("received %v, %d readings kept", value(f.Received), len(m.past))
	}
}

// TestReadingsTooClose: two readings of one moment tell no rate.
func TestReadingsTooClose(t *testing.T) {
	var m meter
	m.frame(Reading{Time: start, Metrics: []byte(ownText(1))})
	if f := m.frame(Reading{Time: start.Add(10 * time.Millisecond), Metrics: []byte(ownText(2))}); f.Received != nil || f.Latency != nil {
		t.Errorf("received %v", value(f.Received))
	}
}

func TestOutsideFiguresArePreferred(t *testing.T) {
	var m meter
	reading := func(s, cpu float64) Frame {
		return m.frame(Reading{Time: start.Add(time.Duration(s) * time.Second), Metrics: []byte(ownText(s)), CPUSeconds: &cpu, Memory: new(5.0)})
	}
	reading(0, 1)
	if f := reading(1, 1.5); value(f.CPU) != 0.5 || value(f.Memory) != 5.0 {
		t.Errorf("cpu %v, memory %v", value(f.CPU), value(f.Memory))
	}
}

func TestBottleneck(t *testing.T) {
	deep := []float64{20, 20, 20, 20}
	for _, tc := range []struct {
		name, text, want string
	}{
		{"few wait", ownText(1, 1, 1), AtNone},
		{"handlers full", ownText(1, deep...), AtInFlight},
		{"one of many", ownText(1, 90, 2, 2, 2), AtHandler},
		{"one of two", ownText(1, 90, 2), AtInFlight},
		{"writer", strings.Replace(ownText(1, deep...), `"writer_normal_queue"} 3`, `"writer_normal_queue"} 300`, 1), AtWriter},
		{"storage away", ownText(1) + metric.StorageUp + `{endpoint="a"} 0` + "\n", AtStorage},
		{"one endpoint of two", ownText(1) + metric.StorageUp + `{endpoint="a"} 0` + "\n" + metric.StorageUp + `{endpoint="b"} 1` + "\n", AtNone},
		{"standby", ownText(1) + metric.StorageUp + `{endpoint="a"} 0` + "\n" + metric.Leading + " 0\n", AtNone},
		{"leader without storage", ownText(1) + metric.StorageUp + `{endpoint="a"} 0` + "\n" + metric.Leading + " 1\n", AtStorage},
		{"silent watch", strings.Replace(ownText(1), "} 12\n", "} 61\n", 1), AtWatch},
		{"no queues", metric.StorageRequests + "{method=\"PUT\"} 1\n", ""},
	} {
		b := framesOf(tc.text)[0].Bottleneck
		got := ""
		if b != nil {
			got = b.Where
		}
		if got != tc.want {
			t.Errorf("%s: %+v, want %q", tc.name, b, tc.want)
		}
	}
	var m meter
	m.frame(Reading{Time: start, Metrics: []byte(ownText(0, deep...)), CPUSeconds: new(0.0)})
	f := m.frame(Reading{Time: start.Add(time.Second), Metrics: []byte(ownText(1, deep...)), CPUSeconds: new(1.9)})
	if f.Bottleneck.Where != AtCPU {
		t.Errorf("busy: %+v", f.Bottleneck)
	}
}

func TestQueuesAreBoundedAndOrdered(t *testing.T) {
	depths := make([]float64, maxQueues+5)
	for i := range depths {
		depths[i] = 1
	}
	f := framesOf(ownText(1, depths...))[0]
	if len(f.Queues) != maxQueues || f.MoreQueues != 6 || f.Queues[2].Name != "Pod_1" || f.Queues[11].Name != "Pod_10" || *f.Handlers != maxQueues+5 {
		t.Errorf("%d queues, %d more, %s, %s", len(f.Queues), f.MoreQueues, f.Queues[2].Name, f.Queues[11].Name)
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"Pod_1": "Pod_1", "a\nb\x1b[31m": "a b\uFFFD[31m", "{a|x}": "(a|x)", "\xff": "\uFFFD", "\u202eevil": "\uFFFDevil",
		strings.Repeat("ü", 300): strings.Repeat("ü", maxText-1) + "…",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestVerdictsAreBounded(t *testing.T) {
	var r Run
	for i := range 2 * maxVerdicts {
		r.Add(Verdict{Cell: fmt.Sprint(i), State: StateFailed})
	}
	if len(r.Verdicts) != maxVerdicts || r.Judged != 2*maxVerdicts || r.Failed != 2*maxVerdicts || r.Verdicts[maxVerdicts-1].Cell != fmt.Sprint(2*maxVerdicts-1) {
		t.Errorf("%d kept of %d", len(r.Verdicts), r.Judged)
	}
}

// FuzzFrame: whatever a target answers, the frame can be encoded and is bounded.
func FuzzFrame(f *testing.F) {
	f.Add(ownText(1, 2), ownText(2, 3))
	f.Add(originalText(1), originalText(2))
	f.Add("<html>", "\x00")
	wide := func(n int) string { // a bucket that is wider than a number
		return fmt.Sprintf("%[2]s 1\n# TYPE %[1]s histogram\n%[1]s_bucket{le=\"-1.7e308\"} 0\n%[1]s_bucket{le=\"1.7e308\"} %[3]d\n%[1]s_bucket{le=\"+Inf\"} %[3]d\n%[1]s_count %[3]d\n", metric.Freshness, metric.EventsReceived, n)
	}
	f.Add(wide(1), wide(9))
	f.Add(metric.QueueDepth+"{queue=\"a\"} NaN\n", metric.QueueDepth+"{queue=\"a\"} 1e308\n"+metric.QueueDepth+"{queue=\"a\",x=\"\"} 1e308\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, frame := range framesOf(a, b) {
			if _, err := json.Marshal(frame); err != nil {
				t.Fatal(err)
			}
			if len(frame.Queues) > maxQueues {
				t.Errorf("%d queues", len(frame.Queues))
			}
			if p := frame.Latency; p != nil && (p.P50 > p.P90 || p.P90 > p.P99) {
				t.Errorf("percentiles fall: %+v", *p)
			}
			for _, q := range frame.Queues {
				if len([]rune(q.Name)) > maxText || strings.ContainsAny(q.Name, "{}\n") {
					t.Errorf("queue %q", q.Name)
				}
			}
		}
	})
}
