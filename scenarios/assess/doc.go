// Package assess computes all results from a folder of records: figures, checks and facts of a cell, results.json of a
// run, matrix.json of the fault matrix. The run itself calls the same code.
//
// Promises:
//
//  1. The result depends on the folder alone: the same records give the same bytes.
//  2. Nothing is written.
//  3. A folder without the records that this version needs gives a badinput.Error, which
//     names the first missing one and what to do.
package assess
