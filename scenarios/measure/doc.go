// Package measure turns the evidence of one cell (op log, ledger, samples of the
// processes) into the figures of results.json. Everything here is a function of
// recorded data: it can be run again on a saved cell and gives the same numbers.
//
// Promises:
//
//  1. What the evidence does not tell is nil, never 0.
//  2. Times come from the op log and the ledger, written by the generator and the
//     mock; a watcher's own metrics are used only for what no one else can know
//     (its queues) and never for latency.
//  3. Percentiles come from one HDR histogram per measure, exported with it, so
//     that runs merge.
//  4. A cell that was cut carries projections only where they are marked so.
package measure
