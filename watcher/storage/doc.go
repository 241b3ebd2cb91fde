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
//  4. An endpoint that cannot be reached is left out for a growing time, and the
//     next one is tried at once, since nothing was sent.
//
// It does not retry, queue or order; the pipeline does.
package storage
