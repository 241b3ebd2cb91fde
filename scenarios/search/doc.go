// Package tune searches the settings of a watcher that reach an objective for a load and a
// storage: strategy, number of queues and their lengths; or the highest rate of an open loop
// that each strategy carries with the settings it has.
//
// It promises:
//
//  1. Every candidate is screened in virtual time (package simulate); only those near the
//     answer are measured, and only what was measured is recommended.
//  2. A strategy of which a check fails, or that loses an object, is out for good.
//  3. A cell that is late gets one second try, and only with evidence that the machine stood
//     still, which is kept. An invalid cell is never evidence: its setting is left out.
//  4. The sentence and the reasons are made from figures by rule, and say of how many runs
//     they are. Where nothing meets the objective they say so, and what comes closest.
//  5. The same scenario, objective and outcomes of cells give the same answer.
//  6. Where the fastest is asked for, predictions only choose what is measured: what is
//     recommended is not slower, beyond chance, than any other setting that was measured.
//  7. A rate is decided by two valid cells that agree, each with a plan of its own; by one
//     that lost something or violates a guarantee, which no other takes back. Where the
//     generator or the machine is the limit, the answer is "at least".
//
// One search can be followed from its input to its answer: New reads the load (search.go), Run
// has it screened in virtual time (screen.go) and confirmed by measurement (confirm.go,
// measure.go, beside.go). Which setting is next is decided in answer.go, by the judgements of
// judge.go, with queues as long as lengths.go finds necessary. report.go puts together what was
// found: sentence.go, why.go, changes.go, lengthmap.go and fragments.go. The search for rates
// is FindRates (rates.go), and ratesdocument.go its report.
//
// The definition of "best" is in docs/tune.md.
package search
