// Package measure turns the record of one cell into the figures of results.json:
//
//	f := measure.New(cell, before, after, samples)
//	check.Judge(ctx, h, f)       // f sees op log and ledger as they are judged
//	entry, err := f.Cell(changes)
//
// Everything here is a function of recorded data: computed again from a saved cell, it gives the same numbers.
//
// Promises:
//
//  1. What the record does not show is nil, never 0.
//  2. Times come from the op log and the ledger, written by the generator and the
//     mock; a watcher's own metrics are used only for what nothing else can know: its
//     queues, which are checked against the record, and its side of storage's latency,
//     reported beside the mock's.
//  3. Percentiles come from one HDR histogram per measure, exported with it, so
//     that runs merge.
//  4. A cell whose times contradict each other (history.Clock) is invalid, and no figure
//     contains a negative duration.
//  5. A cell that was cut carries projections only where they are marked so.
package measure
