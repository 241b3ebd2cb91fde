package result

import (
	"fmt"
	"time"
)

// TuningSchema names the format of tuning.json, TuningFile the file in a tuning's folder, and
// TuningQuestion the scenario of a question that names none.
const (
	TuningSchema   = "watchbench/tuning/v3"
	TuningFile     = "tuning.json"
	TuningQuestion = "tune"
)

// Tuning is the question, the tries and the answer of a search for settings or rates. Times are in seconds.
type Tuning struct {
	Schema      string    `json:"schema"`
	Started     time.Time `json:"started"`
	Finished    time.Time `json:"finished"`
	Interrupted bool      `json:"interrupted,omitempty"` // ended early; what was measured is kept
	Scenario    string    `json:"scenario"`              // its metadata.name
	Provider    string    `json:"provider"`              // on which was measured
	// Asked is the load and the storage in words: "200 writes/s, storage latency …".
	Asked     []TuningFact    `json:"asked"`
	Objective TuningObjective `json:"objective"`

	// Met says that a setting was measured and holds the objective in every valid cell, or a rate
	// of each strategy; a note says if those are fewer than were asked for.
	Met      bool   `json:"met"`
	Sentence string `json:"sentence"` // the answer, readable without the question
	// Best, RunnerUp and Original are indices of Candidates: the recommendation or what comes closest, the best of
	// another strategy, and the best that bcs-k8s-watch has; -1 where there is none.
	Best     int `json:"best"`
	RunnerUp int `json:"runnerUp"`
	Original int `json:"original"`

	Rates      []TunedRate      `json:"rates,omitempty"` // of a search for rates
	Candidates []TunedCandidate `json:"candidates"`
	Why        []TuningFact     `json:"why,omitempty"`
	Fragments  []TuningFragment `json:"fragments,omitempty"`
	Notes      []string         `json:"notes,omitempty"`

	Simulated int `json:"simulated"` // cells played in virtual time
	Measured  int `json:"measured"`  // cells, second tries included
}

// TunedRate is the highest rate that a strategy carries.
type TunedRate struct {
	Strategy string   `json:"strategy"`
	Unit     string   `json:"unit"`
	Rate     *float64 `json:"rate,omitempty"` // nil if none was carried
	// Above is the lowest rate above it that was not carried, and Why says why.
	Above *float64 `json:"above,omitempty"`
	Why   string   `json:"why,omitempty"`
	// AtLeast says that the strategy may carry more: above Rate nothing valid was measured.
	AtLeast  bool   `json:"atLeast,omitempty"`
	Sentence string `json:"sentence"`
}

// TuningFact is a line with a name.
type TuningFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TuningObjective is the figure and its bound.
type TuningObjective struct {
	Text   string  `json:"text"`   // as the user wrote it
	Metric string  `json:"metric"` // of results.json: freshness.p99, handler.drainSeconds, …
	Bound  float64 `json:"bound"`
}

// Setting is one way to run the watcher.
type Setting struct {
	Strategy   string `json:"strategy"`
	Queues     int    `json:"podQueueNum"` // 0 where the strategy has no such number
	WriterLen  int    `json:"writerQueueLen"`
	HandlerLen int    `json:"handlerQueueLen"`
	// Rate of the load is set in a search for rates, where the rest is the scenario's.
	Rate float64 `json:"rate,omitempty"`
}

// Name is "keyed 12", or "keyed at 200/s".
func (s Setting) Name() string {
	if s.Rate > 0 {
		return fmt.Sprintf("%s at %.3g/s", s.Strategy, s.Rate)
	}
	if s.Queues == 0 {
		return s.Strategy
	}
	return fmt.Sprintf("%s %d", s.Strategy, s.Queues)
}

// TunedFigures are those that a tuning looks at; nil is not known.
type TunedFigures struct {
	Events       int64    `json:"events"`
	Requests     int64    `json:"requests"`
	Drain        *float64 `json:"drainSeconds,omitempty"`
	DrainAfter   *float64 `json:"drainAfterLoadSeconds,omitempty"`
	P50          *float64 `json:"freshnessP50,omitempty"`
	P90          *float64 `json:"freshnessP90,omitempty"`
	P99          *float64 `json:"freshnessP99,omitempty"`
	Max          *float64 `json:"freshnessMax,omitempty"`
	StorageQPS   *float64 `json:"storageQPS,omitempty"`
	InFlight     *float64 `json:"inFlight,omitempty"`     // most requests that storage had at once
	WriterDepth  *float64 `json:"writerDepth,omitempty"`  // most events
	HandlerDepth *float64 `json:"handlerDepth,omitempty"` // most events
	WriterFull   *float64 `json:"writerFullSeconds,omitempty"`
	Dropped      *int64   `json:"dropped,omitempty"`
	Lost         *int64   `json:"lost,omitempty"`
}

// TunedCell is one measured cell.
type TunedCell struct {
	Setting Setting      `json:"setting"`
	Seed    uint64       `json:"seed"`
	Run     string       `json:"run"` // id of the run
	Seconds float64      `json:"seconds"`
	Valid   bool         `json:"valid"`
	Cut     bool         `json:"cut,omitempty"`
	Failed  []string     `json:"failed,omitempty"` // checks that failed, and what was lost
	Safe    bool         `json:"safe"`             // nothing lost: G1 passed, and the ledger has no loss
	Ordered bool         `json:"ordered"`          // order checks passed, with power
	Reason  string       `json:"reason,omitempty"` // why it is invalid
	KeepsUp *bool        `json:"keepsUp,omitempty"`
	Figures TunedFigures `json:"figures"`
}

// TunedCandidate is a setting with what was predicted and what was measured.
type TunedCandidate struct {
	Setting
	// Predicted is the worst of the seeds that were simulated, by the objective.
	Predicted TunedFigures `json:"predicted"`
	Value     *float64     `json:"value,omitempty"`    // predicted, of the objective's metric
	Excluded  string       `json:"excluded,omitempty"` // why it does not hold
	Cells     []TunedCell  `json:"cells,omitempty"`
	// Measured is the worst of the valid cells by the objective. Error is what part a cell is
	// beyond the prediction for its own plan, the median of the cells.
	Measured *float64 `json:"measured,omitempty"`
	Error    *float64 `json:"error,omitempty"`
	Verdict  string   `json:"verdict"` // one of the constants below
}

// Verdicts on a candidate.
const (
	TunedHolds      = "holds"        // the objective, in every cell measured
	TunedFails      = "fails"        // it in at least one
	TunedWrong      = "wrong"        // a check failed
	TunedInvalid    = "invalid"      // no valid cell
	TunedUnmeasured = "not measured" // predicted only
)

// TuningFragment is a part of a watcher's configuration, as a file.
type TuningFragment struct {
	File string `json:"file"`
	For  string `json:"for"`
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
}

// At is a candidate by its index, nil for -1.
func (t *Tuning) At(i int) *TunedCandidate {
	if i < 0 || i >= len(t.Candidates) {
		return nil
	}
	return &t.Candidates[i]
}

// LoadTuning reads tuning.json.
func LoadTuning(path string) (*Tuning, error) { return load[Tuning](path, TuningSchema) }
