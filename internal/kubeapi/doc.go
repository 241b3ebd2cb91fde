// Package kubeapi is what two servers that can only be listed, watched and read have in common, the watcher's read API
// and the load generator's apiserver in memory: how an apiserver reads paths, options and Accept headers, what fields
// it selects by, and how it writes lists, bookmarks, discovery and errors. What is said of errors and defaults is that
// of Kubernetes 1.36.
package kubeapi
