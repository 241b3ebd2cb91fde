// Package virtual runs the fault matrix in virtual time: the real watcher, a
// simulated apiserver and the storage mock together in a testing/synctest bubble,
// under a random list of operations, judged by scenarios/check. It has tests only.
//
//	go test ./scenarios/faults/virtual -v -run TestMatrix               the table
//	go test ./scenarios/faults/virtual -run TestMatrix -seeds 200       more histories per fault
//	go test ./scenarios/faults/virtual -run TestMatrix/F4 -seed 17      one history
//
// A seed determines the operations and which requests the faults hit in which order.
// It does not determine how goroutines are scheduled, nor the jitter of backoffs:
// -count 20 repeats a history under other schedules.
package virtual
