// Package cost measures what the watcher costs as a process, in front of an apiserver and
// a storage that live in the test: faster than a control plane on the same machine, so
// that rates are possible which that cannot write. It has tests only:
//
//	go test ./scenarios/cost -cost -v
//
// Memory is judged by absolute limits and CPU of steady changes by the ratio to that of
// watchfloor, which takes the same events at the same time.
package cost
