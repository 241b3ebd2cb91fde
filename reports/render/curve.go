package render

import (
	"math"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"

	"github.com/watchbench/watchbench/reports/result"
)

const (
	// maxPoints bounds one line of a chart: more than a screen has columns, and a
	// browser stays quick with a dozen such lines.
	maxPoints = 2000
	// pagePoints bounds those of all curves of a page, some 15 bytes each, while each line
	// keeps leastPoints.
	pagePoints  = 45_000
	leastPoints = 40
	// beforeLoad is how much of a curve before the load is shown, in seconds.
	beforeLoad = 2.0
	// gapFactor: a distance between samples this many times the usual one is a gap,
	// and the line breaks there.
	gapFactor = 6
)

type point struct{ x, y float64 }

// curve prepares a series for drawing: finite, from shortly before the load on, at
// most limit points, and in pieces where samples are missing.
func curve(s result.Series, limit int) [][]point {
	var pts []point
	for i := range min(len(s.T), len(s.V)) {
		p := point{s.T[i], s.V[i]}
		if p.x >= -beforeLoad && finiteNumber(p.x) && finiteNumber(p.y) {
			pts = append(pts, p)
		}
	}
	var steps []float64
	for i := 1; i < len(pts); i++ {
		steps = append(steps, pts[i].x-pts[i-1].x)
	}
	widest := math.Inf(1)
	if m := median(steps); m != nil && *m > 0 {
		widest = gapFactor * *m
	}
	pieces := [][]point{}
	for i, p := range pts {
		if i == 0 || p.x-pts[i-1].x > widest {
			pieces = append(pieces, nil)
		}
		last := len(pieces) - 1
		pieces[last] = append(pieces[last], p)
	}
	if len(pts) > limit {
		for i, piece := range pieces {
			pieces[i] = downsample(piece, max(3, limit*len(piece)/len(pts)))
		}
	}
	return pieces
}

// pointsPerLine is how many points each of a page's curves may have.
func pointsPerLine(curves int) int {
	return min(max(pagePoints/max(curves, 1), leastPoints), maxPoints)
}

// curvesOf counts the curves of the rows.
func curvesOf(rows []*row) (n int) {
	for _, r := range believed(rows) {
		n += len(r.representative().Series)
	}
	return n
}

// dots are the points of a line as ECharts takes them, with a break between pieces: times in
// milliseconds, values to five digits, which is more than a screen shows.
func dots(pieces [][]point) (all [][2]any) {
	for i, piece := range pieces {
		if i > 0 {
			all = append(all, [2]any{math.Round(piece[0].x*1e3) / 1e3, "-"})
		}
		for _, p := range piece {
			all = append(all, [2]any{math.Round(p.x*1e3) / 1e3, digits(p.y)})
		}
	}
	return all
}

// digits rounds to five of them.
func digits(v float64) float64 {
	if v == 0 || !finiteNumber(v) {
		return v
	}
	scale := math.Pow10(4 - int(math.Floor(math.Log10(math.Abs(v)))))
	if !finiteNumber(scale) || scale == 0 {
		return v
	}
	return math.Round(v*scale) / scale
}

// addLine adds a row's line. Its points are plain pairs: go-echarts would write each as an
// object of its own.
func addLine(line *charts.Line, r *row, points [][2]any) {
	line.AddSeries(r.legend(), nil, r.stroke()...)
	line.MultiSeries[len(line.MultiSeries)-1].Data = points
}

func finiteNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// downsample keeps n points that preserve the shape, peaks included (largest
// triangle three buckets; Steinarsson, 2013).
func downsample(pts []point, n int) []point {
	if len(pts) <= n || n < 3 {
		return pts
	}
	kept := make([]point, 0, n)
	kept = append(kept, pts[0])
	width := float64(len(pts)-2) / float64(n-2)
	bucket := func(i int) []point {
		from := 1 + int(float64(i)*width)
		to := min(1+int(float64(i+1)*width), len(pts)-1)
		return pts[from:max(to, from+1)]
	}
	for i := range n - 2 {
		next := pts[len(pts)-1:]
		if i < n-3 {
			next = bucket(i + 1)
		}
		var mean point
		for _, p := range next {
			mean.x += p.x / float64(len(next))
			mean.y += p.y / float64(len(next))
		}
		a := kept[len(kept)-1]
		kept = append(kept, slices.MaxFunc(bucket(i), func(p, q point) int {
			if triangle(a, p, mean) < triangle(a, q, mean) {
				return -1
			}
			return 1
		}))
	}
	return append(kept, pts[len(pts)-1])
}

func triangle(a, b, c point) float64 {
	return math.Abs((a.x-c.x)*(b.y-a.y) - (a.x-b.x)*(c.y-a.y))
}

// at reads a curve at time x: the last sample not after it, or nil outside.
func at(s result.Series, x float64) *float64 {
	if len(s.T) == 0 || x < s.T[0] || x > s.T[len(s.T)-1] {
		return nil
	}
	i, found := slices.BinarySearch(s.T, x)
	if !found {
		i--
	}
	if i >= len(s.V) {
		return nil
	}
	return &s.V[i]
}
