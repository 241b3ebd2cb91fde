// Package fault decides which requests fail, and how.
//
// # Grammar
//
// Faults are separated by commas. Each is an effect, arguments in parentheses,
// and after a colon its probability (100 % when absent):
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
// Filters, all of which must hold: method=PUT|DELETE, kind=Pod|Node, key=GLOB on
// namespace/name (or the name in the cluster scope), keys=5% for that share of
// all keys, always the same ones, instance=0 for the requests to one of several
// instances.
//
// Times: from=10s after the fault was set, for=60s, every=30s for repeated
// windows. max=5 ends it after so many firings. name=x is what the ledger and the
// metrics call it; otherwise the effect with its first argument.
//
// At most one fault hits a request: they are tried in their order.
package fault
