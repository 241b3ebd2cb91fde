package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/archive"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/versus"
)

// Bounds that keep the page of hundreds of runs small and quick.
const (
	trendRuns   = 40 // in a chart, the latest
	trendLines  = 6  // in a chart
	trendGroups = 12 // with charts
	trendOpen   = 2  // groups whose charts are drawn at once
	trendApart  = 4  // differences that are named
	trendLeft   = 50 // readings that are in no line
)

// trendFigures are those that have a chart over runs.
var trendFigures = []struct{ metric, title, caption, unit string }{
	{"handler.drainSeconds", "Drain time", "From the first event of the load to the last acknowledgement.", "s"},
	{"storage.qps", "Storage rate", "Requests that storage acknowledged per second.", "requests/s"},
	{"freshness.p99", "Freshness p99", "From a write to its acknowledgement by storage; all repetitions together.", "s"},
	{"watcher.cpuMicrosPerRequest", "CPU per request", "CPU time of the watcher per request to storage.", "µs"},
	{"watcher.rssPeakMiB", "Memory", "Highest resident memory of the watcher during load and drain.", "MiB"},
}

// trendGroup holds comparable runs, the newest first.
type trendGroup struct {
	apart []string // what sets it apart from the newest group of the scenario
	runs  []*archive.Entry
}

// trends groups the runs by scenario and by what versus calls comparable, the newest group
// first. alone says of runs without a partner what sets them apart.
func trends(all []archive.Entry) (sections []Section, alone []string, err error) {
	groups, err := trendGroupsOf(all)
	if err != nil {
		return nil, nil, err
	}
	var metrics []result.Metric
	for _, f := range trendFigures {
		m, err := result.MetricByName(f.metric)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.metric, err)
		}
		metrics = append(metrics, m)
	}
	for _, g := range groups {
		newest := g.runs[0]
		switch {
		case len(g.runs) < 2 && len(g.apart) > 0:
			alone = append(alone, fmt.Sprintf("%s (%s) differs from the newest run of its scenario: %s.",
				newest.Name, orUnknown(newest.Scenario), strings.Join(g.apart, "; ")))
		case len(g.runs) < 2:
			alone = append(alone, fmt.Sprintf("%s (%s): no other run of this scenario is here.", newest.Name,
				orUnknown(newest.Scenario)))
		case len(sections) == trendGroups:
			alone = append(alone, fmt.Sprintf("%s: %s, of which the page has no charts: it has those of %d groups.",
				orUnknown(newest.Scenario), plural(len(g.runs), "run"), trendGroups))
		default:
			sections = append(sections, g.section(len(sections)+1, metrics))
		}
	}
	return sections, alone, nil
}

func trendGroupsOf(all []archive.Entry) (groups []*trendGroup, err error) {
	lines, newest := map[string]*trendGroup{}, map[string]*result.Results{} // of a line; first run of a scenario
	for i := range all {                                                    // newest first
		e := &all[i]
		if e.Results == nil {
			continue
		}
		line, err := versus.Line(e.Results)
		if err != nil {
			return nil, err
		}
		g := lines[line]
		if line == "" || g == nil {
			g = &trendGroup{}
			if first := newest[e.Scenario]; first == nil {
				newest[e.Scenario] = e.Results
			} else if g.apart, err = apart(first, e.Results); err != nil {
				return nil, err
			}
			lines[line], groups = g, append(groups, g)
		}
		g.runs = append(g.runs, e)
	}
	return groups, nil
}

// apart names the first differences of two runs.
func apart(a, b *result.Results) (texts []string, err error) {
	all, err := versus.Apart(a, b)
	for i, d := range all {
		if i == trendApart {
			return append(texts, fmt.Sprintf("%d more", len(all)-i)), err
		}
		texts = append(texts, d.Sentence())
	}
	return texts, err
}

// trendLine is one point of the matrix over the runs; nil where a run does not have it.
type trendLine struct {
	name, color string
	readings    []*versus.Reading
}

func (g *trendGroup) section(number int, metrics []result.Metric) Section {
	newest := g.runs[0]
	s := Section{ID: fmt.Sprintf("group%d", number), Title: orUnknown(newest.Scenario), Place: OnPage,
		Closed: number > trendOpen}
	about := fmt.Sprintf("%s of one scenario, control plane and machine.", plural(len(g.runs), "run"))
	if len(g.runs) > trendRuns {
		about += fmt.Sprintf(" The charts have the latest %d.", trendRuns)
	}
	if len(g.apart) > 0 {
		s.Title += " (other settings or machine)"
		about += " The newest runs of this scenario differ: " + strings.Join(g.apart, "; ") + "."
	}
	s.Text = []string{about}
	shown := slices.Clone(g.runs[:min(len(g.runs), trendRuns)])
	slices.Reverse(shown)
	lines, left := trendLinesOf(shown, metrics)
	for k := range trendFigures {
		known := slices.DeleteFunc(slices.Clone(lines), func(l *trendLine) bool { return !l.knows(k) })
		for part := range slices.Chunk(known, trendLines) {
			s.Plots = append(s.Plots, trendPlot(k, shown, part))
		}
	}
	if len(s.Plots) == 0 {
		s.Text = append(s.Text, "No run of these has figures that may be compared.")
	}
	if n := len(left); n > trendLeft {
		left = append(left[:trendLeft], fmt.Sprintf("and %d more", n-trendLeft))
	}
	if len(left) > 0 {
		s.Examples = []Example{{Title: "Left out of the lines", Items: left}}
	}
	return s
}

func trendLinesOf(runs []*archive.Entry, metrics []result.Metric) (lines []*trendLine, left []string) {
	byName := map[string]*trendLine{}
	for i, e := range runs {
		readings := versus.Readings(e.Results, metrics)
		for j := range readings {
			r := &readings[j]
			l := byName[r.Point]
			if l == nil {
				l = &trendLine{name: r.Point, readings: make([]*versus.Reading, len(runs))}
				if l.name == "" {
					l.name = "all"
				}
				if l.color = palette[r.Params[result.ParamStrategy]]; l.color == "" || len(r.Params) > 1 {
					l.color = spare[len(lines)%len(spare)]
				}
				byName[r.Point] = l
				lines = append(lines, l)
			}
			if l.readings[i] = r; r.Why != "" {
				left = append(left, fmt.Sprintf("%s, %s: %s", e.Name, r.Point, r.Why))
			}
		}
	}
	return lines, left
}

// knows reports whether any run has the figure.
func (l *trendLine) knows(figure int) bool {
	return slices.ContainsFunc(l.readings, func(r *versus.Reading) bool {
		return r != nil &&
			r.Sides[figure].Value != nil
	})
}

// trendPlot draws one figure over runs: lines of medians with their intervals, and a mark
// where a run is in no line.
func trendPlot(figure int, runs []*archive.Entry, lines []*trendLine) Plot {
	f := trendFigures[figure]
	p := Plot{Title: f.title, Unit: f.unit, X: "started (UTC)",
		Caption: f.caption + " Medians of a run, with their 99 % intervals; a dotted line marks a run that is in no line.",
		Data:    Table{Keys: 2, Heads: Heads("started (UTC)", "folder")}}
	for i, e := range runs {
		p.Categories = append(p.Categories, minute(e.Started))
		p.Data.Rows = append(p.Data.Rows, Cells(minute(e.Started), e.Name))
		known := func(l *trendLine) bool { return l.readings[i] != nil && l.readings[i].Sides[figure].Value != nil }
		if !slices.ContainsFunc(lines, known) {
			p.Bands = append(p.Bands, Band{From: float64(i), To: float64(i)})
		}
	}
	for _, l := range lines {
		line := PlotLine{Name: l.name, Color: l.color}
		p.Data.Heads = append(p.Data.Heads, Head{Title: l.name})
		for i, r := range l.readings {
			y, text, between := math.NaN(), unknown, [2]float64{}
			if r != nil && r.Why != "" {
				text = r.Why
			} else if r != nil && r.Sides[figure].Value != nil {
				s := r.Sides[figure]
				y, text = *s.Value, short(*s.Value)
				if s.Low != nil && s.High != nil {
					between = [2]float64{*s.Low, *s.High}
					text += fmt.Sprintf(" (%s–%s)", short(*s.Low), short(*s.High))
				}
			}
			line.Points, line.Ranges = append(line.Points, [2]float64{float64(i), y}), append(line.Ranges, between)
			p.Data.Rows[i] = append(p.Data.Rows[i], Cell{Text: text})
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}
