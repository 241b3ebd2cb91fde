// Package storage is the StorageAction: it turns one pipeline event into one
// HTTP request to bcs-storage and its answer into a typed error.
//
// It promises:
//
//  1. Connections are kept and reused, at most Config.MaxIdle idle ones per endpoint; a
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
// The pipeline must know whether a request that failed may have reached storage whole.
// net/http's httptrace.WroteRequest runs when a request is in its write buffer of 4 KiB, before
// anything is on the socket: a reset would fence the key of a PUT that was never sent, which this
// client sends again (TestConclusionFromABrokenConnection). It also costs more than twice the CPU,
// since a request crosses three goroutines: 47 µs per PUT of 3 KiB instead of 18.
package storage
