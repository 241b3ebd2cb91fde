// Package history is the record of one cell: its files, their types, and the interface of those that observe the two
// logs as they are read. Figures, verdicts, facts and columns of the fault matrix are functions of this record alone,
// so that `watchbench check` computes all of them again from the folder. check.Judge reads the logs.
//
// # A cell's folder
//
//	cell.json           Cell: the resolved scenario, and what only the runner could see
//	ops.ndjson.zst      oplog.Record, one per line
//	witness.ndjson.zst  the same, by a witness; with cluster.controllers
//	ledger.ndjson.zst   ledger.Entry in the order of application, Seq without gaps
//	state.ndjson.zst    the final states of both sides
//	former.ndjson.zst   what storage was sent and no longer holds
//	history.json        what the judge needs beside the logs
//	samples.ndjson      Sample: every reading of the parties' resources and queues
//	before.prom         the watcher's metrics as the load began
//	after.prom          the same after the drain
//	readers.ndjson.zst  readers.Record: what readers saw; in cells with readers
//	marks.ndjson        Mark: when processes started and ended, and which rows were tampered with
//	deeds.ndjson        Deed: what each failpoint did
//	findings.ndjson     Finding: what the rules of a Go test found; in its cells
package history
