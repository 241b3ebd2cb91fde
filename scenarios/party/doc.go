// Package party holds the parties of a cell: the watcher under test, the storage mock,
// the load generator, the watch proxy, each a child process, and the apiserver. It starts
// and stops them and talks to them from outside, over their sockets and admin APIs; it
// knows neither the phases of a run nor what a fault does with them.
package party

import "time"

// Graces and limits of the parties.
const (
	WatcherGrace = 2 * time.Second // beyond its own drain limit
	StorageGrace = 3 * time.Second
	SyncLimit    = 2 * time.Minute // until a watcher has its first lists
)
