package matrix

import (
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
	// stallIdle is the part of its usual CPU time that each of generator, apiserver and etcd
	// used at most in such a time.
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
// the load to the end of the drain; none if it did not, or if nobody can tell. A hanging
// watcher makes none of it, nor one that takes all CPUs; one that drives the machine into
// swapping might.
func Stalled(c *Case) (evidence []string) {
	samples := judged(c)
	if len(samples) < 2 {
		return nil
	}
	say := func(format string, args ...any) { evidence = append(evidence, fmt.Sprintf(format, args...)) }
	first, last := &samples[0], &samples[len(samples)-1]
	if share, ok := stolen(first, last); ok && share >= stallSteal {
		say("the hypervisor took %.0f%% of the CPU time", 100*share)
	}
	if foreign, delay, ok := crowded(first, last); ok && allSampled(c, last) {
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

// judged are the samples from the start of the load to the end of the drain, in their order.
func judged(c *Case) []history.Sample {
	return slices.DeleteFunc(slices.Clone(c.Samples), func(s history.Sample) bool {
		return s.Time < c.Cell.LoadStarted || s.Time > c.Cell.DrainEnd
	})
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

// allSampled reports whether every process of the cell is among the parties of a sample:
// what another one takes looks as if strangers took it.
func allSampled(c *Case, s *history.Sample) bool {
	_, proxy := s.Parties[history.PartyProxy]
	scenario := &c.Cell.Scenario
	return (proxy || len(scenario.Watch.Faults) == 0) && scenario.Watcher.Replicas <= 1 && !c.Cell.Watcher.Joined
}

// crowded is the share of the CPU time that processes outside the cell took, and how long
// the cell's own were ready to run and had no CPU, per second that they ran. It cannot be
// told if one of them is not known at both times. ok says that both are so much that the
// cell was crowded out.
func crowded(a, b *history.Sample) (foreign, delay float64, ok bool) {
	if a.CPU == nil || b.CPU == nil || b.CPU.Total <= a.CPU.Total || len(a.Parties) != len(b.Parties) {
		return 0, 0, false
	}
	own, waited := 0.0, 0.0
	for name, use := range b.Parties {
		before, known := a.Parties[name]
		if !known || use.RunDelay == nil || before.RunDelay == nil {
			return 0, 0, false
		}
		own += use.CPUSeconds - before.CPUSeconds
		waited += max(0, *use.RunDelay-*before.RunDelay) // a new process counts from 0
	}
	if own <= 0 {
		return 0, 0, false
	}
	foreign, delay = (b.CPU.Busy-a.CPU.Busy-own)/(b.CPU.Total-a.CPU.Total), waited/own
	return foreign, delay, foreign >= stallForeign && delay >= stallDelay
}

// runnerGap is how much later than it was due the runner took the next sample. What a
// party takes to answer the one before is not in it.
func runnerGap(a, b *history.Sample) time.Duration {
	if a.Until == 0 {
		return 0
	}
	return time.Duration(b.Time - a.Until)
}

// usualUse is the CPU time, per second, that each of the unmoved parties used in the load;
// nil where it is not known.
func usualUse(samples []history.Sample, loadFinished int64) map[string]float64 {
	end := len(samples) - 1
	for end > 0 && samples[end].Time > loadFinished {
		end--
	}
	used := unmovedUse(&samples[0], &samples[end])
	for name := range used {
		used[name] /= float64(samples[end].Time-samples[0].Time) / 1e9
	}
	return used
}

// standstill is the time between two samples of the load if none of the unmoved parties
// ran in it, 0 otherwise. One may well be idle while the others go on.
func standstill(a, b *history.Sample, loadFinished int64, usual map[string]float64) time.Duration {
	d := time.Duration(b.Time - a.Time)
	used := unmovedUse(a, b)
	if used == nil || usual == nil || b.Time > loadFinished {
		return 0
	}
	expected := 0.0
	for name, n := range used {
		if n > stallIdle*usual[name]*d.Seconds() {
			return 0
		}
		expected += usual[name] * d.Seconds()
	}
	if expected < leastUsual {
		return 0
	}
	return d
}

// unmovedUse is the CPU time of each of the unmoved parties between two samples, nil if one
// is not known or no time passed.
func unmovedUse(a, b *history.Sample) map[string]float64 {
	used := map[string]float64{}
	for _, name := range unmoved {
		before, known := a.Parties[name]
		after, still := b.Parties[name]
		if !known || !still || b.Time <= a.Time {
			return nil
		}
		used[name] = after.CPUSeconds - before.CPUSeconds
	}
	return used
}
