// Package matrix is the fault matrix as pure functions of saved records: which scenarios belong to it, the rules by
// which a cell is judged besides the guarantees, the verdict of each column, and when a scenario deserves a second try.
// reports/render draws it.
//
// Promises:
//
//  1. Every row F0 to F30 is in the matrix. One without a scenario has a reason, and is
//     never shown as passed.
//  2. A column that was asserted and could not be judged makes its cell invalid.
//  3. A rule sees the record once, front to back, and keeps no more of it than its facts
//     need.
package matrix
