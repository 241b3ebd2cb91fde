// Package assess computes from a folder of records what a run says of itself: figures,
// checks and facts of a cell, results.json of a run, matrix.json of the fault matrix.
// The run itself calls the same code.
//
// Promises:
//
//  1. The result depends on the folder alone: the same records give the same bytes.
//  2. Nothing is written.
//  3. A folder without the records that this version needs is an badinput.Error that names
//     the first that is missing and what to do.
package assess
