// Package version holds what a binary says about itself.
package version

// Version is the commit the binary was built from, set by the linker.
var Version = "unknown"
