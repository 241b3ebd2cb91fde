// Package tune searches the settings of a watcher that reach an objective for a load and a
// storage: strategy, number of queues and their lengths.
//
// It promises:
//
//  1. Every candidate is screened in virtual time (package simulate); only those near the
//     answer are measured, and only what was measured is recommended.
//  2. A strategy of which a check fails, or that loses an object, is out for good.
//  3. A cell that is late gets one second try, and both are counted. An invalid cell is
//     never evidence.
//  4. The sentence and the reasons are made from figures by rule, and say of how many runs
//     they are. Where nothing meets the objective they say so, and what comes closest.
//  5. The same scenario, objective and outcomes of cells give the same answer.
//
// The definition of "best" is in docs/tune.md.
package tune
