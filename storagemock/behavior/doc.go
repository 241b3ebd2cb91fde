// Package behavior determines how the mock serves a request: how long it takes, within which capacity, and whether it
// fails, and how.
//
// # Latency and capacity
//
// A latency is a distribution of package internal/dist.
//
// Rules choose a distribution by method and kind. They are separated by semicolons, tried in the order written, and the
// first match counts:
//
//	method=GET: 5ms; kind=Event|Node, method=PUT: uniform(1ms,9ms); lognormal(mean=87ms,p99=110ms)
//
// A request that no rule matches takes no time.
//
// Rules choose capacities too, each with a queue of its own; without a match nothing limits a request:
//
//	kind=Pod: rate=50/s; inflight=300
//
// # Faults
//
// Faults are separated by commas. Each is an effect, arguments in parentheses, and after a colon its probability (100 %
// when absent):
//
//	503:1%, reset:0.5%, stall(5s):0.1%
//	429(retry-after=2s, method=PUT):10%
//	422(key=team-a/web-*), late(3s, kind=Pod, max=50):2%
//	refuse(from=20s, for=10s)
//
// Effects; "not applied" means that nothing is stored, apply=true stores first:
//
//	400 … 599           that status and result:false, not applied; retry-after=2s adds the header
//	reset               the connection is reset, not applied; reset(apply=true), or reset-after, is after applying
//	blackhole           no answer until the client gives up, not applied
//	stall(d)            everything as usual, d later
//	late(d)             applied d after the client gave up; answer=200, 503 or reset instead
//	                    answers so at once, and applies d after that
//	double(after)       applied twice, the second time that much after the first; default 0
//	truncate            applied, but only half of the answer's body is sent; bytes=n sends n
//	html                a proxy's page with status=502 instead of JSON, not applied
//	interim(n)          n (100, 102, 103, …) times=1 times before the answer; status=500 fails it, not applied
//	refuse              connections are refused, open ones are closed; needs for, takes no filter
//
// Filters, all of which must hold: method=PUT|DELETE, kind=Pod|Node, key=GLOB on namespace/name (or the name in the
// cluster scope), keys=5% for that share of all keys, always the same ones, instance=0 for the requests to one of
// several instances.
//
// Times: from=10s after the fault was set, for=60s, every=30s for repeated windows. max=5 ends it after so many
// firings. name=x is what the ledger and the metrics call it; otherwise the effect with its first argument.
//
// At most one fault hits a request: they are tried in their order.
package behavior
