// Package controls shows that the rows of the fault matrix catch the bugs they are there
// for. It has tests only.
//
// A mutant is k8s-watch with one plausible programming error, put into a copy of the
// sources at build time (go build -overlay); the watcher itself knows of none. The table
// in mutants_test.go names, for each mutant, the rows that must catch it and the columns
// in which.
//
//	go test ./scenarios/controls                             every mutant still applies and compiles
//	make controls                                            every mutant through its rows, and the watcher as it is
//	make controls ARGS='-run TestControls/no-backoff'        one mutant
package controls
