// Package runner executes a scenario: for every cell of its matrix it starts the
// storage mock, the watcher and the load generator as processes, samples them,
// waits until storage has everything, judges the record and keeps it.
//
// Promises:
//
//  1. Run returns after everything it started has ended, whatever happened: a
//     failure, a cancelled context, a child that hangs (which is killed). If this
//     process is killed itself, the kernel ends the mock and the watcher, and the
//     generator tears down when its standard input closes.
//  2. What was measured is kept: results.json is written after every cell, and
//     the evidence of a cell before it is judged, so that `watchbench check` gives
//     the same verdicts from the folder alone.
//  3. The runner is never on the data path. It reads /proc, /metrics and, when the
//     load is over, the state of both sides.
//  4. Errors that another argument would mend are *InputError, *spec.Error or
//     *cluster.InputError; all others are failures of the run.
package runner
