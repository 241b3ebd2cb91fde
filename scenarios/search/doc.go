// Package search finds the settings of a watcher that reach an objective for a load and a
// storage: strategy, number of queues and their lengths; or the highest rate of an open loop
// that each strategy carries with the settings it has.
//
// It promises:
//
//  1. Every candidate is screened in virtual time (package simulate); those near the answer are
//     measured, and only measured settings are recommended.
//  2. A strategy with a failed check or a lost object is ruled out.
//  3. A late cell is retried once, and only with recorded evidence that the machine stalled. An
//     invalid cell proves nothing: its setting is left out.
//  4. The sentence and the reasons follow from figures by rule, and say how many runs they rest
//     on. If nothing meets the objective they say so, and name the closest setting.
//  5. The same scenario, objective and outcomes of cells give the same answer.
//  6. With a relative objective, predictions only choose what is measured: the recommendation is
//     not slower, beyond chance, than any other measured setting.
//  7. A rate is decided by two valid cells that agree, each with its own plan, or by one that lost
//     something or violates a guarantee. If the generator or the machine is the limit, the answer
//     is "at least".
//
// The parts of a Search are the space of candidates (space.go), the screen that plays them in
// virtual time (screen.go), the judge of predictions and measurements (judge.go) and the bench that
// measures within the budget (bench.go). choose.go and confirm.go decide what is next; report.go and
// changes.go write the answer. RateSearch (rates.go) finds rates.
//
// docs/tune.md defines "best".
package search
