package knee

import "time"

// Schema names the format of a Report as JSON.
const Schema = "watchbench/knee/v1"

// Report is what was found.
type Report struct {
	Schema     string    `json:"schema"`
	Scenario   string    `json:"scenario"`
	Objective  string    `json:"objective"`
	Limit      float64   `json:"limitSeconds"`
	Resolution float64   `json:"resolution"`
	Unit       string    `json:"unit"` // of rates
	Provider   string    `json:"provider"`
	LoadS      float64   `json:"loadSeconds"` // of each probe
	Started    time.Time `json:"started"`
	Finished   time.Time `json:"finished"`
	Command    []string  `json:"command,omitempty"`
	// Interrupted says that the search ended early; what was found so far is there.
	Interrupted bool       `json:"interrupted,omitempty"`
	Strategies  []Strategy `json:"strategies"`
}

// What bounds a knee from above.
const (
	ByStrategy  = "strategy"  // a higher rate was measured and not carried
	ByGenerator = "generator" // at higher rates the generator was late: the knee is at least this
	ByMachine   = "machine"   // at higher rates the cells were invalid for another reason
	ByFormat    = "format"    // the highest rate that a scenario can have was carried
	Unfinished  = "unfinished"
)

// Strategy is what was found of one.
type Strategy struct {
	Strategy string `json:"strategy"`
	// Knee is the highest rate that was carried; nil if none was.
	Knee *float64 `json:"knee,omitempty"`
	// Above is the lowest rate above it that was not, and Why is why, nil if none was tried.
	Above *float64 `json:"above,omitempty"`
	Why   string   `json:"why,omitempty"`
	Bound string   `json:"bound"`
	// Complete says that the bracket is as narrow as the resolution asks.
	Complete bool     `json:"complete"`
	Cells    int      `json:"cells"` // that the search took
	Probes   []Probe  `json:"probes"`
	Remarks  []string `json:"remarks,omitempty"`
	Steady   *Steady  `json:"steady,omitempty"`
}

// AtLeast reports whether the knee is a lower bound only.
func (s *Strategy) AtLeast() bool { return s.Knee != nil && s.Bound != ByStrategy }

// Verdicts of a cell.
const (
	Carried = "carried"
	Not     = "not carried"
	Invalid = "invalid"
)

// Probe is a cell of the search.
type Probe struct {
	Rate    float64  `json:"rate"`
	Seed    uint64   `json:"seed"`
	Verdict string   `json:"verdict"`
	Why     string   `json:"why,omitempty"` // for all verdicts but Carried
	Reached *float64 `json:"reached,omitempty"`
	QPS     float64  `json:"writesQPS,omitempty"`
	Lost    *int64   `json:"lost,omitempty"`
	Run     string   `json:"run,omitempty"` // its id, which names its folder

	hard      bool // no further measurement takes the verdict back
	near      bool // within noise of the objective
	generator bool // invalid, and the generator was late
	paced     bool // it is known whether the backlog grew
	few       bool // too few operations for a 99th percentile, which is their maximum
}

// Steady is the measurement at a part of the knee.
type Steady struct {
	Rate    float64  `json:"rate"`
	Share   float64  `json:"share"`
	P50     *float64 `json:"p50,omitempty"` // of freshness, median of the valid cells, in seconds
	P99     *float64 `json:"p99,omitempty"`
	P99Low  *float64 `json:"p99Low,omitempty"` // the lowest and the highest of those cells
	P99High *float64 `json:"p99High,omitempty"`
	Lost    *int64   `json:"lost,omitempty"` // in all valid cells; nil if that is not known of one
	Cells   int      `json:"cells"`
	Valid   int      `json:"valid"`
	Carried int      `json:"carried"` // of the valid ones
	Why     string   `json:"why,omitempty"`
	Run     string   `json:"run,omitempty"`
	// SecondTries are those of cells that were late while the machine stood still.
	SecondTries []SecondTry `json:"secondTries,omitempty"`
}

// SecondTry is a cell that was run twice: why, and the evidence that the machine stood still
// in the first try.
type SecondTry struct {
	Cell    string   `json:"cell"`
	Why     string   `json:"why"`
	Stalled []string `json:"stalled"`
	Run     string   `json:"run"` // of the second try
}
