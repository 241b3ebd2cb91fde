// Package search finds what a watcher needs for a load and a storage: the settings (strategy,
// number of queues, their lengths) that reach an objective, or the highest rate of an open loop that
// each strategy carries with the settings it has.
//
// It promises:
//
//  1. Settings are played in virtual time (package simulate); those near the answer are measured,
//     and only a setting that held the objective in every valid measurement is recommended.
//  2. A setting that lost something or failed a check does not hold, even in an invalid cell and
//     even if the scenario allows the failure. When settings are searched, its strategy is out.
//  3. An invalid cell without a failure is measured again, twice in a search at most. What stays
//     invalid holds nothing; a rate below it is "at least".
//  4. The sentences and the reasons follow from figures by rule, and say how many runs they rest
//     on. If nothing meets the objective they say so, and name the closest setting.
//  5. The same scenario, objective and outcomes of cells give the same answer.
//
// Both searches climb a ladder (ladder.go) of candidates for each strategy, from the most queues or
// the lowest rate upwards. docs/tune.md defines "best".
package search
