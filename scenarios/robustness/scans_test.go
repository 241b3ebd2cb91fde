package robustness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// queryScans has readers list the leader's Pods by a label that none has, again and again: each answer takes a look at
// every Pod.
const queryScans = "query-scans"

const (
	// probeLimit is how long, in seconds, a probe of the leader's health may take.
	probeLimit = 0.25
	// healthEvery passes between probes; healthPatience is how long one may go unanswered.
	healthEvery    = 100 * time.Millisecond
	healthPatience = 10 * time.Second
	// probeRoom is the most seconds per probe, including its pause, for a cell to count.
	probeRoom = 0.8
	// leastScans must have been answered for the load to count.
	leastScans = 10
)

// scans is the family of queryScans.
type scans struct{}

func readerScans() faults.Family {
	s := scans{}
	return faults.Family{Arrange: s.arrange, Rules: s.rules, Failpoints: []faults.Failpoint{
		{Name: queryScans, Takes: []string{"for", "count"}, Inject: s.inject},
	}}
}

// scanned is the outcome of one event.
type scanned struct {
	Readers slowSeen `json:"readers"`
	For     float64  `json:"for"` // how long they went on, in seconds
	Probes  int64    `json:"probes"`
	Slowest float64  `json:"slowest"` // of the probes, in seconds; one without an answer counts as healthPatience
	Lost    bool     `json:"lost"`    // another replica leads, or none
}

// arrange has the watchers serve, on loopback.
func (scans) arrange(c faults.Cell) error {
	if asks(c.Scenario(), queryScans) {
		c.Setup().Serving = &party.Serving{}
	}
	return nil
}

func (scans) inject(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	all := append([]*party.Watcher{c.Watcher()}, c.Others()...)
	i, err := leader(ctx, c, all)
	if err != nil {
		return faults.Done{}, fmt.Errorf("%s: %w", e.What, err)
	}
	seen := &scanned{For: e.For.Std().Seconds()}
	probing, stop := context.WithCancel(ctx)
	defer stop()
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		seen.probe(probing, all[i].Probe)
	}()
	url := all[i].Resources() + "/api/v1/pods?labelSelector=watchbench.example%2Fnone"
	seen.Readers, err = runSlow(ctx, slowClients{URL: url, Count: e.Number(), For: e.For.Std()})
	stop()
	<-probed
	if err != nil {
		return faults.Done{}, err
	}
	if seen.Lost = all[i].Ended(); seen.Lost { // the cell goes on with those that are left
		left := slices.Delete(slices.Clone(all), i, i+1)
		c.SetWatchers(left[0], left[1:])
	}
	for n, w := range all {
		seen.Lost = seen.Lost || n != i && w.Leads(ctx)
	}
	return faults.Done{Keys: int64(e.Number()), Seen: seen}, nil
}

// probe checks a watcher's health until ctx ends. A probe cut short by that counts its time so far, one that fails
// healthPatience.
func (s *scanned) probe(ctx context.Context, ask func(context.Context) (time.Duration, error)) {
	for lifecycle.Pause(ctx, healthEvery) == nil {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, healthPatience)
		took, err := ask(limited)
		cancel()
		switch {
		case err != nil && ctx.Err() != nil:
			took = time.Since(began)
		case err != nil:
			took = healthPatience
		}
		s.Probes++
		s.Slowest = max(s.Slowest, took.Seconds())
	}
}

// rules: the leader keeps its Lease, and its health is answered in time.
func (scans) rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[scanned](c.Deeds, queryScans)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return []matrix.Rule{{
		Facts: func(matrix.Seen) []result.Fact { return scannedFacts(all) },
		Vacuous: func(matrix.Seen) (why []string) {
			for i := range all {
				why = append(why, all[i].vacuous()...)
			}
			return why
		},
	}}, nil
}

func scannedFacts(all []scanned) []result.Fact {
	lost, slowest := int64(0), 0.0
	for _, s := range all {
		if s.Lost {
			lost++
		}
		slowest = max(slowest, s.Slowest)
	}
	return []result.Fact{
		matrix.None("I", "Leases lost beside readers that scan", lost, ""),
		matrix.Within("I", "slowest probe of health beside readers that scan", "s", slowest, probeLimit),
	}
}

func (s *scanned) vacuous() (why []string) {
	if n := s.Readers.Answers[200]; n < leastScans {
		why = append(why, fmt.Sprintf("%d scans were answered; at least %d are needed %s", n, leastScans, s.Readers.Error))
	}
	if least := max(1, int64(s.For/probeRoom)); s.Probes < least {
		why = append(why, fmt.Sprintf("health was asked for %d times; at least %d are needed", s.Probes, least))
	}
	return why
}
