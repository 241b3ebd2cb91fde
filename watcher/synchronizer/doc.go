// Package synchronizer is the Synchronizer: it compares what storage holds with
// the watcher's cache, by content, and has the differences repaired.
//
// It promises:
//
//  1. It writes nothing itself. A repair asks the collector to hand the object's
//     latest state, or its deletion, to the pipeline, in order with the watch; so a
//     repair cannot overwrite newer data (G3).
//  2. A difference is believed only when nothing is on its way for the object. A record that
//     is older than the object differs, and so do many that are missing in pages without a
//     gap; anything else must be confirmed by a read of the single record, as storage's
//     pages have no order and may skip or repeat records while they change.
//  3. A kind is compared only after its first complete list. One whose list takes longer
//     than the first comparison waits is compared right after it, not a period later.
//     A first list that was taken over with First is compared at once, and sent as far as
//     storage lacks it, behind what the watch delivers; if it could not be compared for
//     firstPatience, all of it is sent, beside further tries. They go on until one succeeds.
//  4. Leftovers go too: of namespaces that no longer exist, and of kinds that are no
//     longer watched, also of those that ended while no watcher ran (see StateKind): no row of
//     a kind leaves before that record names it, unless the record cannot be kept for
//     nameWithin. A kind that comes, goes or changes its version is not left to the next
//     period.
//  5. What another watcher may have written stays: of a kind with a label selector,
//     records that it does not select; of a kind with namespaces, or of none that is
//     watched, a record of the cluster scope takes no namespaced one of its name with it.
//  6. Kubernetes Events are never compared: storage keeps them by age. Nor are
//     ExportServices, which storage lists elsewhere, and the heartbeats of Nodes, which are
//     not sent.
//  7. Of a small kind and of Nodes all records are read whole at each comparison, of a large one names,
//     uids and versions, and every record whole within bodiesWithin: one that was edited
//     in place keeps its version.
//  8. Lists are paged and limited in rate, single records are read a limited number at a
//     time, and a repair waits until it holds up nothing that the watch delivers.
package synchronizer
