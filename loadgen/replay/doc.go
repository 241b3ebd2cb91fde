// Package replay plays events into a simulated apiserver: those that a plan foresees, or those that were recorded of a
// cluster, at a tenth of their speed up to as fast as the watches take them. It is the load of a run without an
// apiserver, which ends where one process can write events rather than where etcd can store them.
//
// Promises:
//
//  1. Every event of the load is in the op log, once, in the form in which package churn logs its requests: when it was
//     meant to happen, when it did, and which version it made.
//  2. Events happen in the order of the source, one after the other. None is left out or repeated; one that is late
//     says so by its times.
//  3. A limited speed is kept whether or not the watches keep up: one that falls behind the server's window is ended,
//     as by an apiserver. Unlimited waits for them.
//  4. The same plan and seed make the same objects in the same order, apart from the times in them.
package replay
