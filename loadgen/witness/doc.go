// Package witness records what happens to a cluster's objects, whoever writes them. The
// load generator knows its own writes; where controllers write, too, somebody must have
// seen what a watcher could have seen, or its losses would look like silence.
//
// A Witness lists and watches the metadata of chosen kinds straight from the apiserver,
// with nothing of the watcher that is judged, and appends one oplog.Record of the phase
// PhaseWitnessed for each event. It shows no state that was there before it began.
//
// What a record promises:
//
//   - ResourceVersion is the version of a state that the apiserver has sent; of a deletion it is
//     the object's last state that was seen, and DeletedVersion the deletion's own, where
//     a watch reported it.
//   - The write came after Started, when the witness began, and before Finished, when it
//     received the event. Nothing closer is known: Intended is Finished, and no lag or
//     freshness may be taken from it.
//   - A watch that ends is resumed. Where the apiserver no longer can (410), the kind is
//     listed again: states that came and went meanwhile are not in the record, and a
//     deletion found in this way has no version of its own. So what is recorded has
//     happened, and what is not recorded may have.
//   - A modification of a Node is a heartbeat: most of them are, and metadata does not show the difference.
package witness
