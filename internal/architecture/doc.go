// Package architecture holds no code: its test keeps the import rules of
// docs/architecture.md over the whole import graph, indirect imports included.
package architecture
