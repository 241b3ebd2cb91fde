// Package meter counts events and queues, and exports the counts: for package
// pipeline and for cmd/watchlegacy, whose figures are judged by the same laws.
//
// The counts are plain numbers under a mutex of their owner; nothing looks up a label
// before a scrape. A scrape that holds the mutex is one consistent reading, so the
// conservation law (G6) holds in it exactly.
package meter
