package spec

import (
	"time"

	"github.com/watchbench/watchbench/storagemock/latency"
)

// validLatency reads the latency in the mock's own grammar, so that a mistake is
// found before anything is started.
func validLatency(text string) error {
	if _, err := latency.ParseModel(text, 1); err != nil {
		return bad("storage.latency", "write for example lognormal(mean=87ms,p99=110ms)", "%v", err)
	}
	return nil
}

// MeanLatency is the configured mean time to answer a write of the kind; 0 when
// the text cannot be read, which Validate reports.
func (s Storage) MeanLatency(kind string) time.Duration {
	m, err := latency.ParseModel(s.Latency, 1)
	if err != nil {
		return 0
	}
	return m.Mean("PUT", kind)
}
