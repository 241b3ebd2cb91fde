// Package history is the record of one cell: its files, the types in them, and what may
// watch while the two logs are read. A figure, a verdict, a fact and a column of the
// fault matrix are functions of what is here and of nothing else, so that `watchbench
// check` computes all of them again from the folder alone. check.Judge reads the logs.
//
// # A cell's folder
//
//	cell.json           Cell: the resolved scenario, and what only the runner could see
//	ops.ndjson.zst      oplog.Record, one per line
//	witness.ndjson.zst  the same, by a witness; with cluster.controllers
//	ledger.ndjson.zst   ledger.Entry in the order of application, Seq without gaps
//	state.ndjson.zst    the final states of both sides
//	former.ndjson.zst   what storage was sent and holds no more
//	history.json        what the judge needs beside the logs
//	samples.ndjson      Sample: every reading of the parties' resources and queues
//	before.prom         the watcher's metrics as the load began
//	after.prom          the same after the drain
//	readers.ndjson.zst  readers.Record: what readers saw; in cells with readers
//	marks.ndjson        Mark: when processes started and ended, and which rows were tampered with
//	deeds.ndjson        Deed: what each fault injector did
package history
