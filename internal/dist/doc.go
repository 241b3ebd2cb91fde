// Package dist draws durations, sizes and numbers from distributions that are written as text, those of a load
// and those of a storage's latency alike. None of them is negative.
//
//	30s, 12KB, 4                always that
//	1s..10s                     between the two, with a uniform logarithm
//	uniform(50ms, 500ms)
//	exponential(2s)             the mean
//	lognormal(p50=60ms, p99=400ms)  the median and the 99th percentile of what is drawn
//	lognormal(mean=87ms, p99=110ms) the mean of what is drawn, not of its logarithms; p99 is at most 15 times that.
//	                            sigma, of the logarithms, may replace p99
//	LN(12KB, 0.5)               lognormal: the median, and sigma of the logarithms
//	zipf(1.5, 500)              1 to 500, where k has a weight of 1/k^1.5; numbers only
//	mix(0.6=LN(1s,0.7), 0.4=30s)  weights, and distributions that are drawn from accordingly
//	slow(base, x, every, for)   of latencies: base, multiplied by x for the last part, for, of every period
//
// Behind any of them, " clip 3KB..60KB" moves what lies outside to the nearer bound. Arguments may be given by
// position, in the order shown, or by name; those of lognormal only by name.
//
// Sizes are in B, KB, KiB, MB, MiB or GiB. The same generator state gives the same value on every machine, to the
// microsecond or byte.
package dist
