// Package kubeapi has the common parts of two read-only API servers, the watcher's read API and the load generator's
// apiserver in memory: how an apiserver reads paths, options and Accept headers, which fields it selects by, and how it
// writes lists, bookmarks, discovery and errors. Errors and defaults follow Kubernetes 1.36.
package kubeapi
