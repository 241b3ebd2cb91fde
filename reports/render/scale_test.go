package render

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/reports/result"
)

// large has 200 cells: 10 loads × 5 strategies × 4 repetitions, each with the curves of a
// minute, its distributions and its checks.
func large(t testing.TB) *result.Results {
	t.Helper()
	res := fixture(t)
	model := res.Cells
	res.Cells, res.Run.Order = nil, nil
	for load := range 10 {
		for _, s := range []string{"keyed", "partitioned", "dedup", "unordered", "single"} {
			for rep := range 4 {
				c := model[0]
				for _, m := range model {
					if m.Params[result.ParamStrategy] == s && m.Repetition == 1 && m.Params[result.ParamLoad] == "heavy" {
						c = m
					}
				}
				c.Repetition = rep + 1
				c.ID = fmt.Sprintf("%d-%s-r%d", load, s, rep+1)
				c.Params = map[string]string{result.ParamStrategy: s, result.ParamLoad: fmt.Sprintf("load-%02d", load)}
				c.Series = map[string]result.Series{}
				for i, name := range strings.Fields("queue.depth writer.depth handler.depth storage.qps storage.inflight load.qps watcher.cpuCores watcher.rssMiB watcher.netKiBps " +
					"apiserver.cpuCores apiserver.rssMiB etcd.cpuCores etcd.rssMiB generator.cpuCores generator.rssMiB runner.cpuCores runner.rssMiB storagemock.cpuCores storagemock.rssMiB") {
					var v result.Series
					for j := range 600 { // ten a second
						at := float64(j)*0.1 + 0.000123*float64(rep)
						v.T, v.V = append(v.T, at), append(v.V, float64(load+1)*100*(1+math.Sin(at/float64(i+1)+float64(len(s)))/math.Sqrt2))
					}
					c.Series[name] = v
				}
				res.Cells, res.Run.Order = append(res.Cells, c), append(res.Run.Order, c.ID)
			}
		}
	}
	return res
}

const (
	// A report of 200 cells may take this much CPU time, have this many bytes, and take a
	// browser this long until the charts in its window are drawn.
	mostCPU   = 3 * time.Second
	mostBytes = 3_000_000
	mostOpen  = 2 * time.Second
)

func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestLargeReportIsQuickAndSmall(t *testing.T) {
	script, ok := assets.ECharts()
	if !ok {
		t.Skip("built without the chart script (internal/assets/fetch.sh)")
	}
	res := large(t)
	var page bytes.Buffer
	began := cpuTime(t)
	for _, f := range Formats() {
		if err := f.Write(&bytes.Buffer{}, res); err != nil {
			t.Fatal(err)
		}
	}
	used := cpuTime(t) - began
	if err := writePage(&page, Run(res), script); err != nil {
		t.Fatal(err)
	}
	t.Logf("all formats of %d cells: %v of CPU, page of %d bytes", len(res.Cells), used.Round(time.Millisecond), page.Len())
	if used > mostCPU {
		t.Errorf("%v of CPU, at most %v", used, mostCPU)
	}
	if page.Len() > mostBytes {
		t.Errorf("%d bytes, at most %d", page.Len(), mostBytes)
	}
}

// shaped gives the 200 cells of a large run another matrix.
func shaped(t *testing.T, edit func(i int, c *result.Cell)) *result.Results {
	res := large(t)
	for i := range res.Cells {
		c := &res.Cells[i]
		c.Params = maps.Clone(c.Params)
		edit(i, c)
	}
	return res
}

// TestPageOfAnyShapeIsSmall: 200 cells may as well be 200 points, with many queues and a failure
// in each. The page then says what it does not draw, if it has to leave anything out.
func TestPageOfAnyShapeIsSmall(t *testing.T) {
	script, ok := assets.ECharts()
	if !ok {
		t.Skip("built without the chart script (internal/assets/fetch.sh)")
	}
	alone := func(i int, c *result.Cell) {
		c.ID, c.Repetition, c.Params["watcher.podQueueNum"] = fmt.Sprint(i), 1, fmt.Sprint(i)
	}
	for name, edit := range map[string]func(i int, c *result.Cell){
		"points":   alone,
		"one load": func(i int, c *result.Cell) { alone(i, c); c.Params[result.ParamLoad] = "l" },
		"loads": func(i int, c *result.Cell) {
			c.ID, c.Repetition, c.Params[result.ParamLoad] = fmt.Sprint(i), 1, fmt.Sprintf("load-%03d", i)
		},
	} {
		var page bytes.Buffer
		if err := writePage(&page, Run(shaped(t, edit)), script); err != nil {
			t.Fatal(err)
		}
		if page.Len() > mostBytes {
			t.Errorf("%s: %d bytes, at most %d", name, page.Len(), mostBytes)
		}
		if !strings.Contains(page.String(), `id="load1-plot1"`) {
			t.Errorf("%s: the first load has no charts", name)
		}
	}
}
