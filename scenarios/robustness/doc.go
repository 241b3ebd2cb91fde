// Package robustness has the rows of the fault matrix that only k8s-watch can have, as Go tests over the parties of
// scenarios/runner, and shows that the matrix catches the bugs it is there for. It has tests only.
//
// A row is a scenario in this folder, whose events are failpoints of this package: each has a Name, says whether it is
// Available, and can Inject. Beside the guarantees, it is judged by its family's rules; what these find is kept in the
// cell's findings.ndjson, so that watchbench check has the whole table.
//
//	make robustness                                                       all rows of the matrix, in one table
//	go test ./scenarios/robustness -run TestRows/f25-forged -matrix out/m one row, added to the matrix in a folder
//	make controls                                                         every mutant through its rows
//	make controls ARGS='-run TestControls/no-backoff'                     one mutant
//
// A mutant is k8s-watch with one plausible programming error, put into a copy of the sources at build time (go build
// -overlay); the watcher itself knows of none. testdata/mutants.yaml names, for each mutant, the rows that must
// catch it and the columns in which.
package robustness
