// Package storagemock is a bcs-storage to measure watchers with: it implements the v1 HTTP API as far as bcs-k8s-watch
// and k8s-watch use it (E1–E4, E6–E9, E11, E12, E15), takes as long as configured, fails as configured, and keeps a
// ledger of every write.
//
// Guarantees:
//
//  1. A write is applied when its latency has passed, immediately before its answer is written; the ledger's order is
//     the order of application.
//  2. A request takes at least the time drawn for it from the configured distribution, counted from its last byte, plus
//     waiting for capacity. Timers are late, by 0.3 to 0.7 ms on an idle machine and by more on a busy one; nothing
//     makes up for that, so that no answer comes before its time, and the ledger says how long each request took.
//  3. Every PUT and DELETE that reached a route is in the ledger, even if it was refused or hit by a fault. Reads are
//     counted, not recorded.
//  4. A client that disconnects does not undo its request: it is applied on time.
//  5. Several instances share documents and ledger; each has a capacity of its own.
//  6. Without the admin listener nothing but the API is served; without AllowRemote only loopback addresses are bound.
//  7. Documents are answered as the real server answers them: keys sorted, numbers as int64 or double. The bytes of a
//     PUT do not come back.
//
// Differences from the real server:
//
//   - Error texts may be longer: they say what was wrong.
//   - The other endpoints (E5, E10, E13, E14, E16–E18) answer 404 or 405, and the parameters labelSelector, extra,
//     extra_contain and updateTimeBefore are errors.
//   - An empty value in a query filter is an error; the real server drops the connection.
//   - A body over the limit is answered with status 413 and code 1405082.
//   - Conditional mode refuses stale writes with status 409 and code 1405082; the real server has no such mode.
//   - Events are kept for an hour, in their latest state, and are the documents of the kind Event: a DELETE of one
//     takes it out of E12 too. An event whose data is not an object is refused: without data.metadata.name in a list
//     the original watcher would panic.
//
// The API is served by net/http, which carries 22,000 PUT/s of 3 KiB over 32 connections on two cores that the client
// shares, and takes a tenth of a core at 1,000/s.
package storagemock
