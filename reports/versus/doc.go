// Package versus compares two saved runs: it reads them, matches their points and compares their figures.
//
// It promises:
//
//  1. What is not known is not compared: a figure that one side lacks has no ratio and no
//     verdict but "not comparable", with the reason.
//  2. Correctness comes before speed: at a point where a core check (G1 to G6) fails on
//     one side, no speed is compared, and what was lost is said first.
//  3. A cell that is invalid does not count; one that was cut at its drain limit counts
//     for the load alone, and the other figures of its point are not compared: the cells
//     that were not cut are the faster ones.
//  4. Nothing is called better or worse unless the interval of its ratio leaves out 1, by
//     the rule of stats.Against; with fewer repetitions than stats.Least nothing is.
//  5. The same records give the same comparison.
//
// It does not judge whether a difference matters; reports/gate does.
package versus
