package runner

import (
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// What a guess of a cell's length takes for granted, of two CPUs; corrected by the cells already run.
const (
	cellOverhead = 4 * time.Second // start, sync, check, tear down
	// writeOverhead is the time each write adds where an apiserver removes what it made, by the runs of docs/published.md.
	writeOverhead = 5 * time.Millisecond
	guessedRate   = 700.0                 // writes per second of a closed loop
	guessedAnswer = 10 * time.Millisecond // of one write, before the thread thinks
)

// expect guesses the length of a cell: its load, the backlog of Pods by Little's law, and what is done with its record.
func expect(s spec.Scenario) time.Duration {
	load, events := extent(&s)
	drain := 0.0
	if mean := s.Storage.MeanLatency(podKind).Seconds(); mean > 0 && s.Watcher.Command == "" {
		senders := float64(s.Largest().Concurrency())
		if c := s.Storage.Capacity.Inflight; c > 0 {
			senders = min(senders, float64(c))
		}
		drain = max(0, events*mean/senders-load)
	}
	drain = min(drain, s.DrainTimeout.Std().Seconds())
	beside := 0.0
	if !s.Simulated() {
		beside = events * writeOverhead.Seconds()
	}
	return cellOverhead + time.Duration((load+drain+beside)*float64(time.Second))
}

// extent is how many seconds a load takes, and how many writes it makes.
func extent(s *spec.Scenario) (seconds, events float64) {
	l := s.Load
	seconds = l.Duration.Std().Seconds()
	events = l.Rate * seconds
	if l.Model == result.ModelClosed {
		rate := min(guessedRate, float64(l.Threads)/(guessedAnswer+l.ThinkTime.Std()).Seconds())
		events = rate * seconds
		if n := float64(l.Operations); n > 0 && (seconds == 0 || n < events) {
			events, seconds = n, n/rate
		}
	}
	if s.Simulated() {
		seconds = s.Speed().Length(l.Duration.Std()).Seconds() // events stay as many
	}
	return seconds, events
}
