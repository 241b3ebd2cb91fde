// Package leader lets one of several replicas work: the one that holds a Lease. A Group shares out shards among
// several, a Lease each.
//
// It promises:
//
//  1. A Lease counts as expired only after its own duration on this process's
//     clock since it was last seen to change; clocks are never compared. One that was
//     deleted counts as held for as long, by those who have seen it: who deletes the Lease
//     of a leader and then starts a replica has two of them until the next renewal.
//  2. Permit, asked right before each write, refuses from RenewDeadline after the start
//     of the last successful renewal on, by a clock that goes on while the process is
//     stopped or the machine sleeps. A process that was frozen for longer so sends
//     nothing when it wakes, whichever of its goroutines runs first.
//  3. Then, or as soon as another holder is seen (at the next renewal), the leader's
//     context ends at once: nothing is drained, requests in flight are cancelled. Where
//     it drains already, nothing more leaves, and what is in flight has its time limit.
//  4. One connection that dies costs nothing: each request to the apiserver has
//     RequestTimeout, and the next try a new connection.
//  5. Only a Lease in the answer counts: what else comes with 200 is an error.
//  6. The Lease is kept while the leader drains at an orderly end, and given back after
//     it, so that the next leader need not wait; where something that was sent last may
//     still be applied, it is left to expire by then.
//
// # The arithmetic
//
// Times count from the start of the leader's last successful renewal. No other replica
// has seen that before.
//
//	last write leaves      before RenewDeadline                          5 s
//	last write is applied  LastWrite after it was sent, or never: the
//	                       time limit of a request (5 s) and the fence,
//	                       within which storage applies what its client
//	                       gave up (5 s)                                10 s
//	margin                 clocks' rates, and 2. to the write            1 s
//	next leader's write    not before LeaseDuration                     16 s
//
// So LeaseDuration ≥ RenewDeadline + LastWrite + margin, and nothing of the former
// leader is applied after the first write of the next. It is the storage that must keep
// LastWrite (G10 asks no less of it): a leader that was frozen cannot cancel what it had
// in flight. What is left open is a process that is frozen for longer than the lease
// exactly between Permit and the system call that follows, or in the middle of the
// write of a large object, and a machine whose clocks are all stopped with it (a paused
// virtual machine whose host hides that): only a storage with preconditions helps there.
//
// A renewal starts RetryPeriod (2 s) after the one before, and two requests of 1.5 s fit
// before the deadline: the one that finds the connection dead, and the one on the next.
//
// # Shards
//
// Replicas with the same plan, N shards and a rule, have N Leases for these, N for places of members, and one, the
// plan's, that is named as without shards. A Group promises of each shard what is promised above, and:
//
//  7. The plan's Lease has one holder name per plan, which all replicas with that renew, and a Permit needs a renewal
//     of it by this process as it does one of the shard's. So replicas with another plan, whose shards would overlap,
//     and such without shards, whatever their release, are excluded by 1. to 5., until all of this plan are gone and
//     the Lease has passed: no replica knows to be the last, so none gives it back.
//  8. A shard that is lost ends alone. The process goes on, unlike a leader without shards: each holding has parts and
//     an identity of its own, so it waits for its own former Lease like anybody, and nothing of the former holding
//     can leave. A process that was frozen loses all, and joins anew.
//  9. A shard without a holder is taken by a member that has the fewest; after slow RetryPeriods by any. A replica
//     alone takes all; one that finds all N places taken waits.
//  10. One that has two more than another gives one back, in order, and the next when that is over; only after the
//     members have been the same for longer than a dead one counts as one.
//
// A replica makes up to five requests per RetryPeriod, since others renew the plan's Lease too, and one for each shard
// that it holds.
//
// # Why it is not client-go's
//
// client-go's leaderelection needs the typed clients, which link every API type into the
// program: 9 MiB of resident memory (measured with v0.36.3), a sixth of what this watcher
// needs with 10,000 Pods. Nor does it have 2. and 3.: its leader goes on until a renewal
// returns, also when that shows another holder.
package leader
