package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// shares is a run in which keyed carries 40 writes/s, dedup at least 200 and single
// nothing that is to be believed.
func shares() *result.Results {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "capacity"}}
	for _, s := range []struct {
		strategy string
		capacity *result.Capacity
	}{
		{"keyed", &result.Capacity{Cell: "keyed-cal", QPS: 40, WrittenQPS: 300, Seconds: 4, Writes: 160}},
		{"dedup", &result.Capacity{Cell: "dedup-cal", QPS: 200, WrittenQPS: 201, Seconds: 4, Writes: 800, AtLeast: true}},
		{"single", nil},
	} {
		cal := result.Cell{
			ID: s.strategy + "-cal", Valid: s.capacity != nil, Capacity: s.capacity, Storage: result.Storage{QPS: new(26.7)},
			Params: map[string]string{result.ParamStrategy: s.strategy, result.ParamLoad: "calibrate"},
			Load:   result.Load{Model: result.ModelClosed, DurationS: 8, QPS: 300},
		}
		if !cal.Valid {
			cal.Capacity = &result.Capacity{Cell: cal.ID, QPS: 7}
			cal.InvalidReasons = []string{"the machine stalled"}
		}
		res.Cells = append(res.Cells, cal)
		for _, load := range []string{"poisson", "burst"} {
			for _, p := range []struct {
				label string
				of    float64
				n     int64
				fresh float64
			}{{"50%", 0.5, 300, 0.2}, {"80%", 0.8, 90, 0.4}, {"120%", 1.2, 700, 3}} {
				c := result.Cell{
					ID: s.strategy + load + p.label, Valid: s.capacity != nil, Capacity: s.capacity, Handler: result.Handler{DrainSeconds: new(9.0)},
					Params: map[string]string{result.ParamStrategy: s.strategy, result.ParamLoad: load, "load.ofCapacity": p.label},
					Load:   result.Load{Model: result.ModelOpen, OfCapacity: &p.of},
					Checks: map[string]result.Check{"G1": {Verdict: result.Pass, Judged: 3}},
				}
				if s.capacity == nil {
					c.InvalidReasons, c.Checks = []string{"not run: its calibration single-cal is invalid"}, nil
				} else {
					c.Load.OfferedQPS, c.Load.PlannedQPS = new(p.of*s.capacity.QPS), new(p.of*s.capacity.QPS-0.5)
					c.Load.DurationS, c.Load.QPS = 10, p.of*s.capacity.QPS+1
					c.Freshness = &result.Quantiles{Count: p.n, P50: p.fresh / 2, P99: p.fresh}
				}
				res.Cells = append(res.Cells, c)
			}
		}
	}
	return res
}

func TestKnees(t *testing.T) {
	var terminal, markdown, page bytes.Buffer
	for _, err := range []error{Terminal(&terminal, shares(), TerminalOptions{}), Markdown(&markdown, shares()), writePage(&page, shares(), nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var lines []string // with single blanks
	for l := range strings.Lines(terminal.String()) {
		lines = append(lines, strings.Join(strings.Fields(l), " "))
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"keyed 40.0 26.7 300.0 the strategy",
		"dedup ≥ 200.0 26.7 201.0 the API server: storage kept up with all that was written, so it is at least 200.0/s",
		"single – – – invalid: the machine stalled",
		"keyed poisson 50.0 % 20.0 19.5 21.0 300 0.10 0.20",
		"keyed poisson 80.0 % 32.0 31.5 33.0 90 0.20 0.40 p99 of 90 is about the slowest",
		"keyed burst 120 % 48.0 47.5 49.0 700 1.50 3.00 no steady figure: grows with time, this is after 10.0 s",
		"dedup poisson 120 % 240.0 239.5 241.0 700 1.50 3.00 part of a lower bound: the strategy may carry more",
		"single burst 50.0 % – – – 0 – – invalid: not run: its calibration single-cal is invalid",
	} {
		if !strings.Contains(text+"\n", want+"\n") {
			t.Errorf("the terminal lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "drained fastest") {
		t.Error("drains of different rates are compared")
	}
	for _, want := range []string{"### Capacity", "### Freshness against load", "| keyed | burst | 120 % |", "grows with time"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("Markdown lacks %q", want)
		}
	}
	for _, want := range []string{`<section id="knee">`, `data-chart="knee-chart"`, `href="#knee"`, "<h3>Capacity</h3>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestKneeChart(t *testing.T) {
	c := arrange(shares()).Knee()
	data, err := encode(c.Option)
	if err != nil {
		t.Fatal(err)
	}
	var option struct {
		XAxis, YAxis []struct{ Type string }
		Series       []struct {
			Name      string
			LineStyle struct{ Type, Color string }
			Data      []struct {
				Value  []float64
				Symbol string
			}
		}
	}
	if err := json.Unmarshal(data, &option); err != nil {
		t.Fatal(err)
	}
	if option.XAxis[0].Type != "log" || option.YAxis[0].Type != "log" || len(option.Series) != 4 || len(c.Data.Rows) != 12 {
		t.Fatalf("%+v, %d rows of data", option, len(c.Data.Rows))
	}
	colors := map[string]bool{}
	for _, s := range option.Series {
		colors[s.LineStyle.Color] = true
		last := s.Data[len(s.Data)-1]
		overload := "emptyCircle"
		if strings.HasPrefix(s.Name, "dedup") {
			overload = "circle" // of a lower bound
		}
		if len(s.Data) != 3 || last.Symbol != overload || s.Data[0].Symbol != "circle" || s.Data[0].Value[1] != 0.2 || s.Data[0].Value[0] >= last.Value[0] {
			t.Errorf("%s: %+v", s.Name, s.Data)
		}
	}
	if len(colors) != 2 {
		t.Errorf("%d colours for two strategies", len(colors))
	}
	plain := arrange(fixture(t))
	if plain.Knee() != nil || len(plain.Knees().Rows)+len(plain.Capacities().Rows) > 0 || plain.csvCapacity() != nil {
		t.Error("a run without calibrations shows capacities")
	}
}

func TestCapacityCSV(t *testing.T) {
	var buf bytes.Buffer
	if err := CSV(&buf, shares()); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	found := false
	for _, l := range lines[1:] {
		if l[column["cell"]] != "keyedburst120%" {
			continue
		}
		found = true
		for name, want := range map[string]string{
			"of_capacity": "1.2", "capacity_writes_per_s": "40", "capacity_at_least": "false", "offered_writes_per_s": "48", "planned_writes_per_s": "47.5", "freshness_operations": "700", "freshness_grows": "true",
		} {
			if got := l[column[name]]; got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	if !found {
		t.Error("the cell is missing")
	}
}

// TestKneeInBrowser: the chart is drawn, with a line for each strategy and load.
func TestKneeInBrowser(t *testing.T) {
	b := startBrowser(t)
	path := pageFile(t, shares())
	b.media("screen", "light")
	b.open(path, 1440, 1000)
	b.drawAll()
	var lines int
	b.eval(`[...document.querySelectorAll('[data-chart="knee-chart"] svg path')].filter(p => p.getAttribute("stroke-width") === "2" && p.getAttribute("fill") === "none").length`, &lines)
	if lines < 4 {
		t.Errorf("%d lines are drawn, want 4", lines)
	}
	b.quiet(path)
	shoot(b, "knee.png", "#knee", 1440, 1000)
}

// TestCalibrationThatMeasuredNothing: it stays in the table of capacities with its reason,
// and its load is none to compare drains under.
func TestCalibrationThatMeasuredNothing(t *testing.T) {
	res := measured(map[string][]float64{"keyed": {5, 5.1, 5.2}, "dedup": {50, 51, 52}})
	for i := range res.Cells {
		c := &res.Cells[i]
		c.Calibrates, c.Params[result.ParamLoad] = true, "calibrate"
		if c.Params[result.ParamStrategy] == "dedup" {
			c.Valid, c.InvalidReasons = false, []string{"too few to tell a capacity"}
		} else {
			c.Capacity = &result.Capacity{Cell: c.ID, QPS: 40}
		}
	}
	tab := arrange(res)
	if s := tab.Capacities(); len(s.Rows) != 2 || !strings.Contains(fmt.Sprint(s.Rows), "too few to tell") {
		t.Errorf("%+v", s.Rows)
	}
	for i := range res.Cells {
		res.Cells[i].Capacity = nil
	}
	if h := arrange(res).Headlines(); len(h) > 0 {
		t.Error(h[0].Sentence)
	}
}
