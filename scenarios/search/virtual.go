package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/replay"
	"github.com/watchbench/watchbench/scenarios/simulate"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const (
	// readRate is about the events per second that a watcher reads from a simulated apiserver at
	// unlimited speed, on two CPUs.
	readRate = 10_000
	// simulatedAPI is the delay from a simulated apiserver to the watcher.
	simulatedAPI = time.Millisecond
	// unlimitedDrain lets even one request at a time drain.
	unlimitedDrain = 1000 * time.Hour
	// maxArrivals bounds the events kept of a recording.
	maxArrivals = 5_000_000
)

// Virtual simulates one search with package simulate. Its recording is read once.
func Virtual() Simulator {
	var read sync.Once
	var recording []simulate.Arrival
	var unread error
	return func(ctx context.Context, p Play) (Figures, error) {
		s, o := *p.Scenario, simulate.Options{Seed: p.Seed, Overhead: p.Slower}
		s.DrainTimeout = spec.Duration(unlimitedDrain)
		if s.Simulated() {
			o.API = simulatedAPI
		}
		switch {
		case s.Traced():
			read.Do(func() { recording, unread = arrivals(s.Cluster.Replay.Trace) })
			if unread != nil {
				return Figures{}, unread
			}
			o.Arrivals = paced(recording, s.Speed())
		case s.Simulated() && !s.Speed().Limited():
			events := s.Load.MeanRate() * s.Load.Duration.Std().Seconds()
			s.Load.Speed = 0
			s.Cluster.Replay.Speed = units.Speed(max(units.MinSpeed, readRate*s.Load.Duration.Std().Seconds()/max(1, events)))
		}
		out, err := simulate.Run(ctx, &s, o)
		if err != nil {
			return Figures{}, err
		}
		if out.Cut {
			return Figures{}, badinput.New("lower the load",
				"%s after the load %d of %d simulated events are unsent", unlimitedDrain, out.Left, out.Events)
		}
		return fromOutcome(out), nil
	}
}

// arrivals reads the events of a recording.
func arrivals(path string) (all []simulate.Arrival, err error) {
	t, err := replay.FromTrace(path)
	if err != nil {
		return nil, badinput.New("name a file of watchbench record", "%v", err)
	}
	defer func() { _ = t.Close() }()
	for _, err := range t.Initial() {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	for e, err := range t.Events() {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if len(all) == maxArrivals {
			return nil, badinput.New("record less", "%s has more than %d events", path, maxArrivals)
		}
		all = append(all, simulate.Arrival{
			At: e.At, Kind: e.Op.Kind, Namespace: e.Namespace, Name: e.Name, UID: e.UID, Version: uint64(len(all) + 1),
			Delete: e.Op.Type == oplog.TypeDelete,
		})
	}
	slices.SortStableFunc(all, func(a, b simulate.Arrival) int { return cmp.Compare(a.At, b.At) })
	return all, nil
}

// paced returns arrivals at a speed; unlimited means readRate.
func paced(all []simulate.Arrival, speed units.Speed) func(yield func(simulate.Arrival) bool) {
	return func(yield func(simulate.Arrival) bool) {
		for i, a := range all {
			if a.At = speed.Length(a.At); !speed.Limited() {
				a.At = time.Duration(i) * time.Second / readRate
			}
			if !yield(a) {
				return
			}
		}
	}
}
