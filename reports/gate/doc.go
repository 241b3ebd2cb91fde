// Package gate compares two runs: Compare says what changed, and Saved, Paired and Unbuilt judge by rules whether a
// watcher got worse. Both match points and find what the runs do not share in the same way.
//
// A comparison promises:
//
//  1. A figure that one side lacks is "not comparable", with the reason.
//  2. Where a core check (G1 to G6) fails on one side, no speed is compared, and what was lost is said first.
//  3. An invalid cell does not count; of a point with a cell that was cut, only the load is compared: the cells that
//     were not cut are the faster ones.
//  4. Better or worse means that the interval of the ratio leaves out 1, by stats.Against; with fewer repetitions than
//     stats.Least nothing is.
//
// A gate goes from exact to noisy figures: the invariants of each cell, counters, CPU, wall clock. It promises:
//
//  1. PASS is said only of what was judged. A figure that is missing, zero where it cannot be, or not comparable makes
//     a verdict INVALID, with the reason; too few samples, or too much noise to see what the rules ask for, make it
//     INCONCLUSIVE.
//  2. Of a figure with noise, FAIL means that its whole interval is beyond the allowed effect, after Holm's correction
//     for all such figures. PASS means that the whole interval is within it; WARN is between.
//  3. Lost, reordered or invented writes of the change are FAIL, whatever else is.
//  4. The same machine, cluster, tool, scenario and seed on both sides, or INVALID, unless a rule names the difference.
//  5. Where two halves of the same thing differ by as much as would fail the change, figures with noise are INVALID.
//  6. A change that does not build is FAIL; of one whose base does not build nothing is said.
//
// The same records and rules give the same answer. docs/gate.md says which effects so many blocks find. Package render
// writes the reports.
package gate
