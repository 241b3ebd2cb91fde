// Package latency determines how long the mock takes for a request: distributions with
// a text grammar, and a capacity with queueing.
//
// # Grammar
//
// A duration alone, 87ms, is constant. The others are calls; arguments may be
// given by position, in the order shown, or as key=value, those of lognormal as key=value only:
//
//	constant(d)                      always d
//	uniform(min, max)
//	normal(mean, stddev)             mean must be at least 3 stddev; below 0 is drawn again
//	lognormal(p50=…, p99=…)          the median and the 99th percentile of what is drawn
//	lognormal(mean=…, p99=…)         the same by the mean of what is drawn, not of its logarithms; p99 is at most
//	                                 15 times that. sigma, of the logarithms, may stand for p99 in both
//	exponential(mean)
//	bimodal(fast, slow, p)           slow with probability p; fast and slow may be expressions
//	empirical(file)                  one of the durations of the file, drawn with replacement; one per
//	                                 line, a bare number is in milliseconds, # starts a comment
//	slow(base, x, every, for)        base, multiplied by x during slow periods that last for and begin once per
//	                                 every on average, both exponentially distributed; fixed=true makes them regular
//
// Rules choose a distribution by method and kind. They are separated by
// semicolons, tried in the order written, and the first match counts:
//
//	method=GET: 5ms; kind=Event|Node, method=PUT: uniform(1ms,9ms); lognormal(mean=87ms,p99=110ms)
//
// A request that no rule matches takes no time.
//
// Rules choose capacities too, each with a queue of its own; without a match nothing
// limits a request:
//
//	kind=Pod: rate=50/s; inflight=300
package latency
