package spec

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchbench/watchbench/storagemock/behavior"
)

// validLatency reads the latency in the mock's own grammar, so that a mistake is found before anything is started.
func validLatency(text string) error {
	if _, err := behavior.ParseModel(text, 1); err != nil {
		return bad("storage.latency", "write for example lognormal(mean=87ms,p99=110ms)", "%v", err)
	}
	return nil
}

// validCapacity reads the limits in the mock's own grammar.
func validCapacity(c Capacity) error {
	if len(c.Kinds) > 0 && c.Text() == "" {
		return bad("storage.capacity.kinds", "set storage.capacity.inflight or storage.capacity.rate too",
			"there is no limit for %s", strings.Join(c.Kinds, ", "))
	}
	if _, err := behavior.ParseCapacities(c.Text()); err != nil {
		return bad("storage.capacity", "write for example {inflight: 300, rate: 50, kinds: [Pod]}", "%v", err)
	}
	return nil
}

// MeanLatency is the mean of LatencyFigures.
func (s Storage) MeanLatency(kind string) time.Duration { return s.LatencyFigures(kind).Mean }

// LatencyFigures are median, mean and 99th percentile of the configured time to answer a write of the kind; 0 when the
// text cannot be read.
func (s Storage) LatencyFigures(kind string) behavior.Figures {
	m, err := behavior.ParseModel(s.Latency, 1)
	if err != nil {
		return behavior.Figures{}
	}
	return m.Figures("PUT", kind)
}

// LatencyDeviation is the standard deviation of that time; false for a storage that is slow for whole periods, of which
// single draws say little.
func (s Storage) LatencyDeviation(kind string) (time.Duration, bool) {
	m, err := behavior.ParseModel(s.Latency, 1)
	if err != nil || strings.Contains(s.Latency, "slow(") {
		return 0, false
	}
	return m.Deviation("PUT", kind), true
}

// validFaults reads the faults in the mock's grammar.
func validFaults(faults []string) error {
	if err := oneEach("storage.faults", faults, behavior.ParseFaults, "503:1%"); err != nil {
		return err
	}
	if _, err := behavior.ParseFaults(strings.Join(faults, ",")); err != nil {
		return bad("storage.faults", "give equal faults different names with name=x", "%v", err)
	}
	return nil
}

// oneEach reads a list of faults, of which each entry must be one.
func oneEach[T any](path string, entries []string, parse func(string) ([]T, error), example string) error {
	for i, text := range entries {
		specs, err := parse(text)
		if err == nil && len(specs) != 1 {
			err = fmt.Errorf("%d faults in one entry", len(specs))
		}
		if err != nil {
			return bad(fmt.Sprintf("%s[%d]", path, i), "write one fault per entry, for example "+example, "%v", err)
		}
	}
	return nil
}

// FaultText is all faults in one line, in the mock's grammar.
func (s Storage) FaultText() string { return strings.Join(s.Faults, ",") }

// FaultNames lists the faults as the mock's counters and ledger name them.
func (s Storage) FaultNames() (names []string) {
	for _, f := range s.FaultSpecs() {
		names = append(names, f.Name)
	}
	return names
}
