// Package runner executes a scenario on a cluster: for every cell of its matrix it
// starts the parties as processes, samples them while the load runs and faults act on
// them, waits until storage has everything, and keeps the record.
//
// Promises:
//
//  1. Run returns after everything it started has ended, whatever happened: a
//     failure, a cancelled context, a child that hangs (which is killed). If this
//     process is killed itself, the kernel ends the mock and the watcher, and the
//     generator tears down when its standard input closes.
//  2. The record of a cell is complete before it is assessed, and results.json is
//     written after every cell, so that `watchbench check` computes the same from the
//     folder alone.
//  3. The runner is never on the data path. It reads /proc, /metrics and, when the
//     load is over, the state of both sides.
//  4. It knows no fault by name: what is done to the parties is up to package faults.
//  5. Errors that a different argument would avoid pass IsInput; all others are failures of
//     the run.
package runner
