package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/record"
)

// steps reports lines and, below them, how long the last step has been going on, until stop is called.
func steps(cmd *cobra.Command) (say func(string), stop func()) {
	s := screen(cmd)
	var mu sync.Mutex // guards what follows
	last, began := "", time.Now()
	say = func(line string) {
		mu.Lock()
		last, began = line, time.Now()
		mu.Unlock()
		s.Line(line)
	}
	return say, s.Follow(func() string {
		mu.Lock()
		defer mu.Unlock()
		if last == "" {
			last = "working"
		}
		return fmt.Sprintf("%s: %s", time.Since(began).Round(time.Second), last)
	})
}

func following(cmd *cobra.Command, quiet bool, status func() string) (stop func()) {
	if quiet {
		return func() {}
	}
	return screen(cmd).Follow(status)
}

func recording(began time.Time, length time.Duration, progress func() []record.Progress) func() string {
	return func() string {
		var listed, events int64
		for _, p := range progress() {
			listed += p.Listed
			events += p.Events
		}
		took := time.Since(began)
		s := fmt.Sprintf("recording for %s", took.Round(time.Second))
		if length > 0 {
			s += fmt.Sprintf(", %s left", max(0, length-took).Round(time.Second))
		}
		return s + fmt.Sprintf(": %d events, %.1f/s, %s", events, float64(events)/max(took.Seconds(), 1),
			units.Count(int(listed), "list"))
	}
}

func playing(began time.Time, progress func() churn.Stats) func() string {
	return func() string {
		p, took := progress(), time.Since(began)
		s := fmt.Sprintf("played %d events, %.0f/s", p.Done, float64(p.Done)/max(took.Seconds(), 1))
		if p.Fraction > 0 {
			left := time.Duration(float64(took) * (1 - p.Fraction) / p.Fraction)
			s += fmt.Sprintf(", %.0f%%, %s left", 100*p.Fraction, left.Round(time.Second))
		}
		return s
	}
}
