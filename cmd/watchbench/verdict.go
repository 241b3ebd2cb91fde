package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// firstVerdict prefers a failed check or threshold over an invalid cell: the one is a fact
// about the watcher, the other about the measurement.
func firstVerdict(failed, missed, invalid []string) error {
	slices.Sort(failed)
	of := func(all []string, word, how string) string {
		return fmt.Sprintf("%s %s: %s", units.Count(len(all), word), how, strings.Join(all, ", "))
	}
	var wrong []string
	if len(failed) > 0 {
		wrong = append(wrong, of(failed, "check", "failed"))
	}
	if len(missed) > 0 {
		wrong = append(wrong, of(missed, "threshold", "failed"))
	}
	switch {
	case len(wrong) > 0:
		return &verdict{exitCheck, strings.Join(wrong, "; ")}
	case len(invalid) > 0:
		return &verdict{exitInvalid, of(invalid, "cell", "invalid")}
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

// judgement is the verdict on a run, nil when all cells are valid and everything
// expected holds. A watcher that ended by itself has the code that ended the run then.
func judgement(res *result.Results) error {
	failed, invalid := failures(res.Cells), res.Lacking()
	var missed []string
	for i := range res.Thresholds {
		if t := &res.Thresholds[i]; t.Failed() {
			missed = append(missed, t.String())
		}
	}
	err := firstVerdict(failed, missed, invalid)
	if crashes := res.Crashes(); crashes != "" {
		err = worse(err, &verdict{exitError, crashes})
	}
	if gap := res.Gap(); gap != "" {
		err = worse(err, &verdict{exitInvalid, gap})
	}
	return err
}

// failures names the checks that failed; of an invalid cell only violations count.
func failures(cells []result.Cell) (failed []string) {
	for _, c := range cells {
		for g, check := range c.Checks {
			if check.Verdict == result.Fail && c.Counts(g) {
				failed = append(failed, c.ID+" "+g)
			}
		}
	}
	return failed
}

func matrixVerdict(m *result.Matrix) error {
	var failed, invalid []string
	for i := range m.Entries {
		e := &m.Entries[i]
		cols, why := e.Verdict()
		for _, c := range cols {
			failed = append(failed, strings.TrimSpace(e.Scenario+" "+c))
		}
		if why != "" {
			invalid = append(invalid, strings.TrimSpace(e.Scenario+" "+e.Cell))
		}
	}
	err := firstVerdict(failed, nil, invalid)
	if n := len(m.Retries); err == nil && n > result.MostRetries {
		const text = "%d scenarios needed a second try, at most %d may: the machine is too busy"
		return &verdict{exitInvalid, fmt.Sprintf(text, n, result.MostRetries)}
	}
	return err
}
