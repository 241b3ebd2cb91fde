// Package pipeline carries events from the watches to storage: Enqueue → Writer →
// handler queues → workers → Sender.
//
// There is one queue engine. A strategy is a row of numbers for it: how many queues a
// kind has, how many workers each, whether a key excludes itself while a request of it
// is in flight, and whether waiting events of one key are merged. An event finds its
// place when it is enqueued; the Writer is not a stage with a goroutine but the account
// of the events that wait for room in their handler queue. It fills only when handler
// queues stay full.
//
// # Promises
//
//  1. Order: except under Unordered, the changes of one object are sent in the order of
//     their Enqueue calls, one at a time; the next one starts after the outcome of
//     the one before is known. What fails keeps its place.
//  2. Conservation: every event given to Enqueue is at any moment exactly one of sent,
//     coalesced, parked, queued or dropped (Stats, and the metrics of one scrape).
//  3. Only the latest state counts when events are merged, and they are merged only by
//     Dedup and Adaptive, by Coalesce in a full queue, and behind a failed event of the same key. A
//     deletion and a re-creation under another uid merge into the re-creation.
//  4. Bounds: Adaptive has at most MaxInFlight requests in flight, and one of each kind
//     beyond that; of MaxInFlight an eighth is for kinds with less than an even share.
//     Block and Drop hold HandlerQueueLen + workers per queue and WriterQueueLen in all;
//     Coalesce holds as much and one event per live key. Of Events, whose deletions are
//     not sent, at most Config.Events waits or is parked, besides those in flight or behind
//     a backoff or fence; what is parked, then the oldest, is dropped and counted.
//  5. Isolation: no kind waits for another kind's queue, worker, lock or failure, save
//     for the pause a storage asks for. No worker waits for a backoff.
//  6. Failures, by the error's type: transient ones are tried again with growing,
//     jittered delays; throttled ones not before the time storage named, and nothing
//     else is sent meanwhile either; refused ones are parked until the object changes,
//     but four different objects refused alike within 10 s, with no success of any
//     kind in between, are an outage, and what it parked is sent again; unknown
//     outcomes keep their key back for FenceDelay and then write its state again. A
//     key that alone fails is parked after ParkAfter tries.
//  7. While storage does not answer, a kind makes one try per worker (two, if it has one
//     only) and then one per backoff step.
//  8. Run ends after all of its goroutines: it drains for DrainTimeout at most, or not at
//     all if its context ended at once, then cancels what is in flight, counts the rest
//     as dropped and logs how much.
//  9. Resize changes queues, workers and lengths while events flow, and all of the above
//     holds across it. A key goes to its new queue with what waits of it, in order, and
//     keeps its backoff, fence, request in flight and parked event. Nothing is lost when a
//     queue becomes shorter than its contents: it has no room until the excess is sent. New
//     workers start at once; surplus ones end with their current request, and until then
//     the old limit plus the new one may be in flight. The series of removed queues end.
//  10. A caller that hands over a backlog with a call of Spare before each event keeps
//     storage busy, and a change that the watch delivers meanwhile waits for little of it.
//     Where the watch alone delivers more than storage takes, the backlog gets up to a
//     quarter of what is sent; under Drop it waits.
//
// # What it does not promise
//
// Nothing survives the process; the difference between list and storage repairs that.
// An event that storage applied without answering is sent again. Drop loses events, on
// purpose. Events of one kind that several goroutines enqueue at once are not ordered
// among themselves.
package pipeline
