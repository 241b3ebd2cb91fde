package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problems are several mistakes of one scenario, in the order of its lines.
type Problems []*Error

func (p Problems) Error() string {
	lines := []string{fmt.Sprintf("%d mistakes:", len(p))}
	for i, e := range p {
		if i == maxProblems { // as of a range whose every value is wrong
			lines = append(lines, fmt.Sprintf("  and %d more", len(p)-i))
			break
		}
		lines = append(lines, "  "+e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap is for errors.As.
func (p Problems) Unwrap() []error {
	all := make([]error, len(p))
	for i, e := range p {
		all[i] = e
	}
	return all
}

// maxProblems are enough to work on, maxPasses to find them.
const (
	maxProblems = 20
	maxPasses   = 60
)

// problems finds what is wrong with a file that parse refuses. The decoder stops at the
// first mistake, so what is wrong is taken out and the rest is read again.
func (format Format) problems(name string, data []byte, sets []string) error {
	var found, dropped Problems
	for pass, more := 0, true; more && pass < maxPasses && len(found) < maxProblems; pass++ {
		_, err := format.parse(name, data, sets, dropped)
		more = false
		before := slices.Clone(dropped)
		for _, err := range flat(err) {
			var e *Error
			if !errors.As(err, &e) {
				return err
			}
			if slices.ContainsFunc(dropped, func(was *Error) bool { return was.Error() == e.Error() }) {
				continue
			}
			if !slices.ContainsFunc(before, func(was *Error) bool { return follows(e, was) }) {
				found = append(found, e)
			}
			dropped = append(dropped, e)
			more = true
		}
		sets = slices.DeleteFunc(slices.Clone(sets), func(set string) bool {
			return slices.ContainsFunc(dropped, func(e *Error) bool { return e.Line() < 0 && e.Place == "--set "+set })
		})
	}
	if len(found) == 1 {
		return found[0]
	}
	slices.SortStableFunc(found, func(a, b *Error) int { return cmp.Compare(rank(a), rank(b)) })
	return found
}

// rank is the line of a mistake; those of overrides are last.
func rank(e *Error) int {
	if e.Line() < 0 {
		return MaxBytes - e.Line()
	}
	return e.Line()
}

func flat(err error) []error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return slices.DeleteFunc([]error{err}, func(err error) bool { return err == nil })
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flat(e)...)
	}
	return all
}

// follows reports whether a mistake is known, or only follows from one that was taken out: a
// field is missing in a section that had an unknown one, a section lacks what was in it.
// Events and columns refer to one another, so only the first mistake among them is a fact.
func follows(e, was *Error) bool {
	section := was.Field[:max(0, strings.LastIndexAny(was.Field, ".["))]
	switch {
	case e.Around(was), timed(e) && timed(was):
		return true
	case e.Field == was.Field && (e.Place == was.Place || e.Problem == was.Problem &&
		strings.HasPrefix(e.Field, "matrix.")):
		return true
	case e.Line() < 0 && e.Section() && e.Field == was.Field && e.Problem == was.Problem:
		return true // an override's part of the section is left
	case was.Field == "cluster.replay.trace" && (strings.HasPrefix(e.Field, "load") ||
		strings.HasPrefix(e.Field, "watcher.resources")):
		return true // the trace would be the load, and have kinds of its own
	}
	return e.Unwritten() && !was.Unwritten() && (section == "" || strings.HasPrefix(e.Field, section+".") ||
		strings.HasPrefix(e.Field, section+"["))
}

func timed(e *Error) bool {
	return strings.HasPrefix(e.Field, "events") || strings.HasPrefix(e.Field, "fault")
}
