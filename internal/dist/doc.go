// Package dist draws durations, sizes and numbers from distributions that are written as
// text. All values of one distribution are of one kind; none is negative.
//
//	30s, 12KB, 4                always that
//	LN(12KB, 0.5)               lognormal: the median, and sigma of the logarithms
//	uniform(50ms, 500ms)
//	exponential(2s)             the mean
//	pareto(1, 1.2)              the least value and alpha
//	zipf(1.5, 500)              1 to 500, where k has a weight of 1/k^1.5; numbers only
//	bins(5=80, 30=15, 250=5)    values or ranges and their weights; within a range, which is
//	                            written 1s..10s, the logarithm is uniform
//	mix(0.6=LN(1s,0.7), 0.4=30s)  weights, and distributions that are drawn from accordingly
//	sum(LN(1s,0.5), uniform(0s,1s))  one draw of each, added up
//
// Behind any of them, " clip 3KB..60KB" moves what lies outside to the nearer bound.
//
// Sizes are in B, KB, KiB, MB, MiB or GiB. The same generator state gives the same value on
// every machine, to the microsecond or byte: nothing here depends on the order of a map.
//
// The mock storage's latencies (storagemock/latency) have a grammar of their own over the
// same call expressions, internal/expr: they are drawn from states that change with time,
// such as slow periods and files of measurements, and are judged by their cumulative share,
// neither of which a plan has a use for.
package dist
