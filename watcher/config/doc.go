// Package config reads the watcher's two files: the main configuration and the
// filter file, both with the keys of bcs-k8s-watch, plus the keys of this
// watcher.
//
// A wrong type or value is an error that names file, line and key. A key nobody
// knows is a warning, because the original ignores it and configurations in use have
// such keys; it is an error when it looks like a misspelling of a key of our own.
package config
