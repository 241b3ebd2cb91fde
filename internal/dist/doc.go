// Package dist draws durations, sizes and numbers from distributions that are written as
// text, those of a load and those of a storage's latency alike. None of them is negative.
//
//	30s, 12KB, 4                always that; so is constant(30s)
//	lognormal(p50=60ms, p99=400ms)  the median and the 99th percentile of what is drawn
//	lognormal(mean=87ms, p99=110ms) the same by the mean of what is drawn, not of its logarithms; p99
//	                            is at most 15 times that. sigma, of the logarithms, may stand for p99
//	LN(12KB, 0.5)               lognormal: the median, and sigma of the logarithms
//	normal(mean, stddev)        the mean at least 3 stddev; below 0 is drawn again
//	uniform(50ms, 500ms)
//	exponential(2s)             the mean
//	pareto(1, 1.2)              the least value and alpha
//	zipf(1.5, 500)              1 to 500, where k has a weight of 1/k^1.5; numbers only
//	bins(5=80, 30=15, 250=5)    values or ranges and their weights; within a range, which is
//	                            written 1s..10s, the logarithm is uniform
//	mix(0.6=LN(1s,0.7), 0.4=30s)  weights, and distributions that are drawn from accordingly
//	bimodal(fast, slow, p)      a mix of two: slow with probability p
//	sum(LN(1s,0.5), uniform(0s,1s))  one draw of each, added up
//	empirical(file)             of latencies: one of the durations of the file, with replacement; one per
//	                            line, a bare number is in milliseconds, # starts a comment
//	slow(base, x, every, for)   of latencies: base, multiplied by x during slow periods that last for and
//	                            begin once per every on average; fixed=true makes them regular
//
// Behind any of them, " clip 3KB..60KB" moves what lies outside to the nearer bound. Arguments
// may be given by position, in the order shown, or by name; those of lognormal only by name.
//
// Sizes are in B, KB, KiB, MB, MiB or GiB. The same generator state gives the same value on
// every machine, to the microsecond or byte: nothing here depends on the order of a map.
package dist
