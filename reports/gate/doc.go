// Package gate judges whether a watcher got worse: it holds the cells of a change against
// those of its base, by rules.
//
// It climbs from what is cheap and exact to what is noisy: the invariants of each cell,
// exact counters, CPU, wall clock.
//
// It promises:
//
//  1. PASS is said only of what was judged. A figure that is missing, zero where it cannot
//     be, or not comparable makes a verdict INVALID, with the reason; too few samples, or
//     too much noise to see what the rules ask for, make it INCONCLUSIVE.
//  2. Of a figure with noise, FAIL means that its whole interval is beyond the allowed
//     effect, after Holm's correction for all figures with noise of the gate. PASS means
//     that the whole interval is within it; WARN is between.
//  3. Lost, reordered or invented writes of the change are FAIL, whatever else is.
//  4. The same machine, cluster, tool, scenario and seed on both sides, or INVALID, unless
//     a rule names the difference.
//  5. Where two halves of the same thing differ by as much as would fail the change, the
//     figures with noise are INVALID.
//  6. A change that does not build is FAIL; of one whose base does not build nothing is said.
//  7. The same records and rules give the same verdict.
//
// It does not promise to find effects below the noise: docs/gate.md has the sizes that so
// many blocks find. It writes nothing; package render does.
package gate
