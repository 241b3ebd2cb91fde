// Package simulate plays a scenario's load through the watcher's own queue engine in virtual
// time. Queues, strategies, overflow, backoff and the adaptive limit are package
// watcher/pipeline's code, storage's latency and capacity come from package
// storagemock/behavior; only the time between them is modelled. See docs/tune.md.
//
// Nothing is measured here: no process is started, and the watcher's own CPU and the
// apiserver's limits are not in it.
package simulate
