// Package storage is the StorageAction: it turns one pipeline event into one
// HTTP request to bcs-storage and its answer into a typed error.
//
// It promises:
//
//  1. Connections are kept and reused, at most Config.MaxConns per endpoint; a
//     request is one write to the socket and copies no object.
//  2. A nil error means that storage acknowledged the write.
//  3. The type of an error is its policy (errors.go). A request that may have
//     been applied is never sent again from here, to no endpoint: that decision
//     belongs to the pipeline, which fences the key.
//  4. An endpoint that cannot be reached, is silent, or gives three answers in a row that
//     are not those of a bcs-storage at work, is left out until it answers a probe; the
//     time between probes grows. Where nothing was sent, the next one is tried at once.
//
// It does not retry, queue or order; the pipeline does.
//
// # Why not net/http
//
// The pipeline must know whether a request that failed may have reached storage
// whole. net/http with httptrace.WroteRequest never takes a whole request for an
// unsent one, but it takes an unsent one for a whole one wherever the request fits
// its write buffer of 4 KiB: the hook runs when the request is in the buffer, before
// anything is on the socket. A reset before, within the head or within the body of a
// usual PUT would then fence the key, which this client simply sends again. Larger
// requests, a missing answer, a refused connection and a kept connection that the
// server has closed are classified alike (TestConclusionFromABrokenConnection and the
// tests behind it).
//
// It also costs more than twice the CPU, since a request crosses three goroutines.
// PUTs of 3 KiB, the same server in a process of its own, user and system time of
// the client's process, best of eight runs of 2 s on two cores (Go 1.26,
// BenchmarkClients):
//
//	            connections   CPU µs/request   requests/s   bytes   allocations
//	this client       1            17.8           33,100    1,634       19
//	net/http          1            46.8           13,400    7,634       61
//	this client      64            14.2           69,400    1,634       19
//	net/http         64            30.6           32,500    7,600       60
package storage
