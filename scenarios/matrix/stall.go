package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/watchbench/watchbench/scenarios/history"
)

// What counts as evidence that the machine stood still; docs/faults.md says why so much.
const (
	// stallGap is the least time in which a machine stood still: four periods of the
	// sampler.
	stallGap = time.Second
	// stallIdle is the part of their usual CPU time that the generator, the apiserver and
	// etcd used at most in such a time.
	stallIdle = 0.2
	// leastUsual is the CPU time, in seconds, below which idleness cannot be told: /proc
	// counts in steps of 10 ms for each process.
	leastUsual = 0.1
	// stallSteal is the share of the machine's CPU time that the hypervisor gave to others.
	stallSteal = 0.05
	// stallForeign is the share that processes outside the cell took, and stallDelay how
	// long the cell's own waited meanwhile, per second that they ran.
	stallForeign, stallDelay = 0.25, 1.0
)

// unmoved are the parties whose work does not depend on the watcher: an open load goes on
// whatever becomes of it.
var unmoved = []string{history.PartyGenerator, history.PartyAPIServer, history.PartyEtcd}

// Stalled returns the evidence that the machine stood still in a cell, from the start of
// the load to the end of the drain; none if it did not, or if nobody can tell. Nothing
// that a watcher does can make any of it: a hanging or a greedy watcher is no excuse.
func Stalled(c *Case) (evidence []string) {
	samples := slices.DeleteFunc(slices.Clone(c.Samples), func(s history.Sample) bool {
		return s.Time < c.Cell.LoadStarted || s.Time > c.Cell.DrainEnd
	})
	slices.SortStableFunc(samples, func(a, b history.Sample) int { return cmp.Compare(a.Time, b.Time) })
	if len(samples) < 2 {
		return nil
	}
	say := func(format string, args ...any) { evidence = append(evidence, fmt.Sprintf(format, args...)) }
	first, last := &samples[0], &samples[len(samples)-1]
	if share, ok := stolen(first, last); ok && share >= stallSteal {
		say("the hypervisor took %.0f%% of the CPU time", 100*share)
	}
	if foreign, delay, ok := crowded(first, last); ok && foreign >= stallForeign && delay >= stallDelay {
		say("other processes took %.0f%% of the CPU time, and the parties waited %.1f s for each second that they ran", 100*foreign, delay)
	}
	if d := longest(samples, func(a, b *history.Sample) time.Duration { return runnerGap(a, b) }); d >= stallGap {
		say("the runner stood still for %s", d.Round(10*time.Millisecond))
	}
	usual := usualUse(samples, c.Cell.LoadFinished)
	if d := longest(samples, func(a, b *history.Sample) time.Duration { return standstill(a, b, c.Cell.LoadFinished, usual) }); d >= stallGap {
		say("generator, apiserver and etcd stood still for %s", d.Round(10*time.Millisecond))
	}
	return evidence
}

// longest is the largest figure of two neighbouring samples.
func longest(samples []history.Sample, of func(a, b *history.Sample) time.Duration) (most time.Duration) {
	for i := range samples[1:] {
		most = max(most, of(&samples[i], &samples[i+1]))
	}
	return most
}

// stolen is the share of the CPU time between two samples that the hypervisor took.
func stolen(a, b *history.Sample) (share float64, ok bool) {
	if a.CPU == nil || b.CPU == nil || b.CPU.Total <= a.CPU.Total {
		return 0, false
	}
	return (b.CPU.Steal - a.CPU.Steal) / (b.CPU.Total - a.CPU.Total), true
}

// crowded is the share of the CPU time that processes outside the cell took, and how long
// the cell's own were ready to run and had no CPU, per second that they ran.
func crowded(a, b *history.Sample) (foreign, delay float64, ok bool) {
	if a.CPU == nil || b.CPU == nil || b.CPU.Total <= a.CPU.Total {
		return 0, 0, false
	}
	own, waited := 0.0, 0.0
	for name, use := range b.Parties {
		before, known := a.Parties[name]
		if !known || use.RunDelay == nil || before.RunDelay == nil {
			continue
		}
		own += use.CPUSeconds - before.CPUSeconds
		waited += max(0, *use.RunDelay-*before.RunDelay) // a new process counts from 0
	}
	if own <= 0 {
		return 0, 0, false
	}
	return (b.CPU.Busy - a.CPU.Busy - own) / (b.CPU.Total - a.CPU.Total), waited / own, true
}

// runnerGap is how much later than it was due the runner took the next sample. What a
// party takes to answer the one before is not in it.
func runnerGap(a, b *history.Sample) time.Duration {
	if a.Until == 0 {
		return 0
	}
	return time.Duration(b.Time - a.Until)
}

// usualUse is the CPU time, per second, that the unmoved parties used in the load; 0 where
// it is not known.
func usualUse(samples []history.Sample, loadFinished int64) float64 {
	end := len(samples) - 1
	for end > 0 && samples[end].Time > loadFinished {
		end--
	}
	used, ok := unmovedUse(&samples[0], &samples[end])
	if !ok || end == 0 {
		return 0
	}
	return used / (float64(samples[end].Time-samples[0].Time) / 1e9)
}

// standstill is the time between two samples of the load if the unmoved parties did not
// run in it, 0 otherwise.
func standstill(a, b *history.Sample, loadFinished int64, usual float64) time.Duration {
	d := time.Duration(b.Time - a.Time)
	expected := usual * d.Seconds()
	used, ok := unmovedUse(a, b)
	if !ok || b.Time > loadFinished || expected < leastUsual || used > stallIdle*expected {
		return 0
	}
	return d
}

// unmovedUse is the CPU time of the unmoved parties between two samples.
func unmovedUse(a, b *history.Sample) (used float64, ok bool) {
	for _, name := range unmoved {
		before, known := a.Parties[name]
		after, still := b.Parties[name]
		if !known || !still {
			return 0, false
		}
		used += after.CPUSeconds - before.CPUSeconds
	}
	return used, true
}
