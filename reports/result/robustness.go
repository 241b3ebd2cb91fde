package result

// Robustness is the row of the fault matrix that a cell fills.
type Robustness struct {
	Row     string            `json:"row"` // F0 to F30
	Title   string            `json:"title,omitempty"`
	Profile string            `json:"profile,omitempty"` // of the watcher
	Columns map[string]Column `json:"columns"`           // C, O, L, B, I, A, T, S, X
	Facts   []Fact            `json:"facts,omitempty"`   // what was measured beside the checks
	// Fired is how often each fault or event happened, Keys how many objects it hit where that is known.
	Fired map[string]int64 `json:"fired,omitempty"`
	Keys  map[string]int64 `json:"keys,omitempty"`
	// Expected are the columns in which this profile is expected to fail.
	Expected []string `json:"expected,omitempty"`
	// Paired is how many times the freshness p99 of the cell without the fault this one may
	// have; 0 where nothing is compared.
	Paired float64 `json:"paired,omitempty"`
}

// Measured is the verdict of a column that is shown and not judged.
const Measured = "measured"

// Column is one cell of the fault matrix.
type Column struct {
	Verdict string `json:"verdict" jsonschema:"enum=pass,enum=fail,enum=fail-allowed,enum=measured,enum=no-power,enum=not-judged,enum=not-applicable"`
	Value   string `json:"value,omitempty"`  // the figure, with its unit
	Detail  string `json:"detail,omitempty"` // what failed, or could not be judged
	// Power and MinPower are the least of the checks that the column is about; see Check.
	Power    *int64 `json:"power,omitempty"`
	MinPower int64  `json:"minPower,omitempty"`
}

// Fact is a figure that a column is judged by, beside the guarantees.
type Fact struct {
	Column string   `json:"column"`
	Name   string   `json:"name"`
	Unit   string   `json:"unit,omitempty"`
	Value  float64  `json:"value"`
	Limit  *float64 `json:"limit,omitempty"` // at most; nil is only measured
	// Least is a count from which on the row proves something; fewer make it invalid.
	Least *float64 `json:"least,omitempty"`
	OK    bool     `json:"ok"`
	// Missing says that the figure could not be established, for the reason in Detail.
	Missing bool   `json:"missing,omitempty"`
	Detail  string `json:"detail,omitempty"`
}
