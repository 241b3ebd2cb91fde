// Package matrix is the fault matrix: which faults there are, what each scenario
// of theirs came to, and the one table of it, faults down, guarantees across.
//
// Promises:
//
//  1. Every row F0 to F28 is in the table. One without a scenario says why, and is
//     never shown as passed.
//  2. A cell that was asserted and could not be judged makes its scenario invalid.
//  3. The table, its Markdown and its JSON hold the same.
package matrix
