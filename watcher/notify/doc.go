// Package notify sends changes to other programs: each subscription follows one kind,
// keeps what it asks for, and delivers that to its own webhook, NATS JetStream or Kafka topic.
//
// It promises:
//
//  1. Of one object, events are delivered in order, one at a time. The next one waits until
//     the one before was taken, or was given up and counted.
//  2. An event that was queued is delivered at least once, or it is counted as dropped or
//     given up with its reason. Every try has the same id.
//  3. A target that is slow, hangs or refuses affects no other subscription and no
//     collector: each has its own cursor, queue and connections.
//  4. A subscription that lost its place, because it fell behind the window or its kind was
//     opened again, goes on with the differences between what it knew and what there is. It
//     counts this as a gap: what happened in between is unknown.
//  5. Memory is the queue, bounded by events and bytes, and 30 to 60 bytes for each object that
//     matches, which sends the differences. While a subscription waits for room it also
//     keeps the objects that it knew alive: once more their bytes at worst.
//  6. Bodies are in no log, metric or error.
//  7. Which addresses a target may have is decided where a connection is dialled, after the name was resolved: an
//     earlier answer for the name, or what a receiver says, does not count.
//
// It does not promise that each state of an object is delivered: a list shows only the last
// one. What changed while the process was down is delivered only where initial is list.
package notify
