package render

import (
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

const (
	// maxPoints bounds one line of a chart: more than a screen has columns, and a
	// browser stays quick with a dozen such lines.
	maxPoints = 2000
	// pagePoints bounds those of all curves of a page, some 15 bytes each; each line keeps leastPoints.
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
// most limit points, and broken by NaN where samples are missing.
func curve(s result.Series, limit int) (all [][2]float64) {
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
	for i, piece := range pieces {
		if len(pts) > limit {
			piece = downsample(piece, max(3, limit*len(piece)/len(pts)))
		}
		if i > 0 {
			all = append(all, [2]float64{piece[0].x, math.NaN()})
		}
		for _, p := range piece {
			all = append(all, [2]float64{p.x, p.y})
		}
	}
	return all
}

// pointsPerLine is how many points each of a page's curves may have.
func pointsPerLine(curves int) int {
	return min(max(pagePoints/max(curves, 1), leastPoints), maxPoints)
}

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
