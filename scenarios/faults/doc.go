// Package faults injects faults that any watcher can meet while the load runs: one file per family of failpoints. A
// Failpoint has a Name, says whether it is Available in a scenario, and can Inject on a narrow view of a running cell.
// A family may also arrange files and objects before the cell begins, and state facts from the record. Neither the
// runner nor the scenario format knows any of them by name.
//
// A new fault is one new file here and one line in families; stop.go is the smallest one. Faults for
// k8s-watch only are in package robustness.
package faults
