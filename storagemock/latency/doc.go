// Package latency determines how long the mock takes for a request: distributions with
// a text grammar, and a capacity with queueing.
//
// # Grammar
//
// A latency is a distribution of package internal/dist.
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
