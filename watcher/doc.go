// Package watcher is the WatchManager: it copies the objects of a Kubernetes
// cluster into bcs-storage, with the configuration and the wire traffic of
// bcs-k8s-watch.
//
// The path of an event: package collector receives it and keeps the object's latest state,
// package pipeline queues it, package storage sends it. Package synchronizer compares storage
// with the cache and repairs differences through the pipeline; package leader lets one of
// several replicas work, or several on a shard each, and package bcs speaks to the rest of
// the BCS platform.
//
// The guarantees, numbered as scenarios judge them, and what each requires of storage. A
// "conditional" storage refuses a write older than what it holds and a write of a deleted uid
// (key bcs.conditional); bcs-storage does neither.
//
//	G1  converge      When changes stop, storage holds what the cluster holds, after
//	                  filters and masks. Needs: that it keeps what it acknowledged.
//	G2  ordered       The resourceVersion stored for one object never goes down.
//	G3  no stale      Nothing older than what storage holds is written.
//	G4  no return     After the deletion of an object was stored, that object (uid) is
//	                  not written again.
//	                  G2 to G4 hold at every moment as long as each request is
//	                  answered. After a lost answer they hold at every moment with a
//	                  conditional storage, otherwise from the end of the fence on.
//	G5  recreate      Delete and create under one name ends with the new object, also
//	                  when both happened while the watcher was away.
//	G6  conservation  Every received event is sent, coalesced, filtered, parked, queued
//	                  or dropped, and the metrics add up. Nothing is dropped unless
//	                  queueFull is "drop", the drain deadline passes at shutdown, or
//	                  more Events wait than are kept.
//	G7  bounded       Memory grows with the cached objects and the keys that wait, not
//	                  with the events; connections with the requests in flight. Events,
//	                  whose deletions are not sent, are bounded by count and bytes.
//	G8  isolation     A full or slow kind delays no other kind; an object that storage
//	                  refuses delays no other object.
//	G9  restart-safe  After any end at any moment and any changes meanwhile, G1 holds
//	                  again, within one comparison where something has to be removed.
//	G10 fenced        After a lost answer the key's next write waits until the lost one
//	                  can no longer arrive (the fence), and the state is then written
//	                  again. Needs: that a request given up by its client is applied
//	                  within the fence or never; a conditional storage may be later.
//	G11 idempotent    Sending any tail of the requests again changes nothing.
//	G12 self-healing  A row removed or edited in storage is repaired within one
//	                  synchronizer period; of kinds with more than 1,000 objects, one that
//	                  was edited without a change of its version within 24 hours. Needs:
//	                  reads (E3, E9).
//	G13 secrecy       A masked field never leaves the process, nor does any object's
//	                  content reach a log or a metric.
//	G14 honest        The counters and lag metrics agree with what happened.
//
// The strategy "unordered" gives up G2 to G4; it serves only for comparison.
package watcher
