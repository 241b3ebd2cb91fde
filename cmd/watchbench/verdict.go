package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// firstVerdict prefers a failed check over an invalid cell: the one is a fact about
// the watcher, the other about the measurement.
func firstVerdict(failed, invalid []string) error {
	sort.Strings(failed)
	switch {
	case len(failed) > 0:
		return &verdict{exitCheck, fmt.Sprintf("%d checks failed: %s", len(failed), strings.Join(failed, ", "))}
	case len(invalid) > 0:
		return &verdict{exitInvalid, fmt.Sprintf("%d cells are invalid: %s", len(invalid), strings.Join(invalid, ", "))}
	}
	return nil
}

// worse keeps the verdict with the lower code, which is the graver one.
func worse(a, b error) error {
	var x, y *verdict
	switch {
	case !errors.As(a, &x):
		return b
	case !errors.As(b, &y), x.code <= y.code:
		return a
	}
	return b
}
