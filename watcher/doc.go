// Package watcher is the WatchManager: it copies the objects of a Kubernetes
// cluster into bcs-storage, with the configuration and the wire traffic of
// bcs-k8s-watch.
//
// The way of an event: package collector receives it and keeps the object's latest
// state, package pipeline queues it, package storage sends it.
//
// What is promised, by the numbers under which scenarios judge it:
//
//	G1  converge      When changes stop, storage holds what the cluster holds, after
//	                  filters and masks.
//	G2  ordered       The resourceVersion stored for one object never goes down.
//	G3  no stale      Nothing older than what storage holds is written.
//	G4  no return     After the deletion of an object was stored, that object (uid) is
//	                  not written again.
//	G5  recreate      Delete and create under one name ends with the new object, also
//	                  when both happened while the watcher was away.
//	G6  conservation  Every received event is sent, coalesced, filtered, parked, queued
//	                  or dropped, and the metrics add up. Nothing is dropped unless
//	                  queueFull is "drop", or the drain deadline passes at shutdown.
//
// The strategy "unordered" gives up G2 to G4; it is there to be compared.
// So is the profile "legacy", which sends by the original's rules (package legacy) and
// promises nothing of this.
//
// bcs-storage has no conditional write. A request whose answer is lost may be
// applied later than the next one; so after such an outcome the key is fenced: its
// next write waits until the lost one can no longer arrive, and the state is then
// verified or written again. G3 and G4 therefore hold eventually, not at every
// moment, after a lost answer.
package watcher
