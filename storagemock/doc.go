// Package storagemock is a bcs-storage to measure watchers with: it speaks the
// v1 HTTP API, takes as long as it is told, and keeps a ledger of every write.
//
// What it promises:
//
//  1. A write is applied once the request's time is up, immediately before its
//     answer is written; the ledger's order is the order of application.
//  2. The mean time from the last byte of a request to its answer is that of the
//     configured distribution, plus waiting for capacity. Lateness of the machine
//     is measured and taken off later sleeps, by at most 10 ms and a quarter.
//  3. Every PUT and DELETE that reached a route is in the ledger, also when it was
//     refused or hit by a fault. Reads are counted, not recorded.
//  4. A client that goes away does not undo its request: it is applied at its time.
//  5. Several instances share documents and ledger; each has a capacity of its own.
//  6. Without the admin listener nothing but the API is served; without
//     AllowRemote nothing but loopback is bound.
//
// Where it differs from the real server:
//
//   - The text of an error may be longer: it says what was wrong.
//   - A batch delete whose body cannot be read is an error; the real server then
//     deletes everything the path and query select.
//   - An empty value in a query filter is an error; the real server drops the
//     connection.
//   - A body over the limit is answered with status 413 and code 1405082, or the
//     request's own code.
//   - Conditional mode refuses stale writes with status 409 and code 1405082; the
//     real server has no such mode.
//   - An event without data.metadata.name is left out of an event list that asks
//     for that field, because the original watcher would panic on it.
package storagemock
