package model

import "math"

// fit is the law that is nearest to the logarithms of rates, and the squared residuals. Where
// the least squares are beyond α = 0 or β = 0, they are on one of those borders.
func fit(points []Rated, logs []float64) (best Scaling, left float64) {
	left = math.Inf(1)
	for _, frees := range [][][2]bool{{{true, true}}, {{true, false}, {false, true}}, {{false, false}}} {
		for _, free := range frees {
			s, squares := descend(points, logs, free)
			if s.Alpha >= 0 && s.Beta >= 0 && squares < left {
				best, left = s, squares
			}
		}
		if !math.IsInf(left, 1) {
			break
		}
	}
	return best, left
}

// descend is Levenberg and Marquardt's method over α and β as far as they are free, the others
// being 0. γ has a closed form: it is a term of the logarithm.
func descend(points []Rated, logs []float64, free [2]bool) (Scaling, float64) {
	a := start(points, free)
	gamma, squares := residual(points, logs, a)
	damp := 1e-3
	rows := make([][2]float64, len(points))
	for range 50 {
		var h [2][2]float64 // normal equations, with the mean taken out for γ
		var g, mean [2]float64
		for i, p := range points {
			rows[i] = gradient(p.Queues, a, free)
			mean[0] += rows[i][0] / float64(len(points))
			mean[1] += rows[i][1] / float64(len(points))
		}
		for i, p := range points {
			d := [2]float64{rows[i][0] - mean[0], rows[i][1] - mean[1]}
			r := logs[i] - gamma - shape(p.Queues, a)
			for j := range 2 {
				g[j] += d[j] * r
				for k := range 2 {
					h[j][k] += d[j] * d[k]
				}
			}
		}
		moved := false
		for damp < 1e12 {
			step := solve(h, g, damp)
			next := [2]float64{a[0] + step[0], a[1] + step[1]}
			if gm, sq := residual(points, logs, next); sq < squares {
				moved = squares-sq > 1e-9*squares
				a, gamma, squares, damp = next, gm, sq, max(damp/10, 1e-12)
				break
			}
			damp *= 10
		}
		if !moved {
			break
		}
	}
	return Scaling{Gamma: math.Exp(gamma), Alpha: a[0], Beta: a[1]}, squares
}

// start is a first guess.
func start(points []Rated, free [2]bool) (a [2]float64) {
	most := 1
	for _, p := range points {
		most = max(most, p.Queues)
	}
	if free[0] {
		a[0] = 0.1 / float64(most)
	}
	if free[1] {
		a[1] = 0.1 / float64(most*most)
	}
	return a
}

// shape is the logarithm of the law without γ; NaN where the law has no meaning.
func shape(n int, a [2]float64) float64 {
	x := float64(n)
	return math.Log(x) - math.Log(1+a[0]*(x-1)+a[1]*x*(x-1))
}

// gradient is that of shape.
func gradient(n int, a [2]float64, free [2]bool) (g [2]float64) {
	x := float64(n)
	d := 1 + a[0]*(x-1) + a[1]*x*(x-1)
	if free[0] {
		g[0] = -(x - 1) / d
	}
	if free[1] {
		g[1] = -x * (x - 1) / d
	}
	return g
}

// residual is the best log γ for a, and the squared residuals; +Inf where the law has no
// meaning.
func residual(points []Rated, logs []float64, a [2]float64) (gamma, squares float64) {
	for i, p := range points {
		gamma += (logs[i] - shape(p.Queues, a)) / float64(len(points))
	}
	for i, p := range points {
		r := logs[i] - gamma - shape(p.Queues, a)
		squares += r * r
	}
	if math.IsNaN(squares) {
		return gamma, math.Inf(1)
	}
	return gamma, squares
}

// solve is the damped step; a parameter that is not free has a zero row and does not move.
func solve(h [2][2]float64, g [2]float64, damp float64) (step [2]float64) {
	for j := range 2 {
		if h[j][j] == 0 {
			h[j][j] = 1
		}
		h[j][j] *= 1 + damp
	}
	det := h[0][0]*h[1][1] - h[0][1]*h[1][0]
	if det == 0 {
		return step
	}
	return [2]float64{(h[1][1]*g[0] - h[0][1]*g[1]) / det, (h[0][0]*g[1] - h[1][0]*g[0]) / det}
}
