package main

import (
	"os"
	"path/filepath"
	"slices"
)

// commandLine returns the command as typed, for the record: to be pasted into a shell in the same folder. The
// program's path is relative to that folder if it lies below it, as it would lie in another checkout.
func commandLine() []string {
	args := slices.Clone(os.Args)
	wd, err := os.Getwd()
	if err != nil || !filepath.IsAbs(args[0]) {
		return args
	}
	if rel, err := filepath.Rel(wd, args[0]); err == nil && filepath.IsLocal(rel) {
		args[0] = rel
		if filepath.Base(rel) == rel { // a bare name is looked up elsewhere
			args[0] = "./" + rel
		}
	}
	return args
}
