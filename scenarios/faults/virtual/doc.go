// Package virtual runs the fault matrix in virtual time: the real watcher, a
// simulated apiserver and the storage mock together in a testing/synctest bubble,
// under a random list of operations, judged by scenarios/check. It has tests only.
//
//	go test ./scenarios/faults/virtual -run TestMatrix -seeds 200    more histories per fault
//	go test ./scenarios/faults/virtual -run TestMatrix/F4 -seed 17   one history
//	go test ./scenarios/faults/virtual -run TestMatrix/F5 -seeds 1000
//	go test ./scenarios/faults/virtual -timeout 30m                   on a busy machine, where go test's own 10m end it
//
// TestUnorderedIsCaught shows that the checks can fail, and TestRegressions replays what once went wrong.
//
// A history in which a fault did not fire or hit too few keys, or less than 80 % of the operations
// were done, fails too. The bubble waits for all goroutines, so none is left.
//
// A seed determines the operations and which requests the faults hit in which order.
// It does not determine how goroutines are scheduled, nor the jitter of backoffs:
// -count 20 repeats a history under other schedules.
package virtual
