// Package apisim is a list and watch server in memory. For what a reflector uses of it, a client cannot tell it from an
// apiserver; its state is changed by calls in Go, and it fails on demand.
//
// It promises:
//
//  1. Every change gets a resourceVersion of its own, larger than all before, whatever the kind. What a LIST, a WATCH
//     or a GET shows at a version is the state after exactly the changes up to it. Restore alone goes back: versions
//     are then given a second time, and a watch from one that has yet to come is silent.
//  2. A watch from version R delivers every later change of its kind, namespace and selectors, once and in order. An
//     object that starts to match is ADDED, one that stops is DELETED, with the previous object under the version of
//     the change.
//  3. Of each kind a bounded window of changes is kept. An older version than the window, in a watch, an exact list or
//     a continue token, is answered 410; a watch that falls behind the window is ended.
//  4. A list in pages shows one version, whatever changes meanwhile. A token that is too old comes back with another
//     that continues at the latest version.
//  5. A streaming list ends with the bookmark that says so.
//  6. Mistakes are answered with the Status and the code of an apiserver.
//  7. Without requests no goroutines run; a handler ends with its request.
//
// An object is parsed and encoded once, when it is written, and kept packed: some 700 bytes for a pod of 3 KiB. Lists
// of 128 KiB and more are compressed for clients that take gzip. Objects are shown whole, or as their metadata alone.
// Fields to select by are those of an apiserver's kinds, or those that a Resource names. A shardSelector has one range.
//
// Not offered: writes over HTTP but of Leases, authentication, protobuf, and what kubectl needs besides: schemas, short
// names, tables, subresources.
//
// # Faults
//
// Faults returns the injector in front of the server; see package watchfault.
package apisim
