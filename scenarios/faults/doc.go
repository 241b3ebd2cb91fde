// Package faults is what can be done to the parties of a cell while the load runs: one
// file per family of events. An Injector declares its name, validates its part of a
// scenario, acts on a narrow view of a running cell and returns what it did. A family
// may also arrange files and objects before the cell begins, and state facts from the
// record. Neither the runner nor the scenario format knows any of them by name.
//
// A new fault is one new file here and one line in families; docs/faults.md shows the
// smallest one.
package faults
