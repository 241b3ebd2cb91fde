package simulate

// Schema names the format of a Document as JSON, AgainstSchema that of an AgainstDocument.
const (
	Schema        = "watchbench/simulation/v1"
	AgainstSchema = "watchbench/simulation-against/v1"
)

// Document is the output of watchbench simulate for programs: nothing in it was measured.
type Document struct {
	Schema       string  `json:"schema" jsonschema:"enum=watchbench/simulation/v1"`
	Scenario     string  `json:"scenario"`     // its metadata.name
	OverheadMs   float64 `json:"overheadMs"`   // of each request, besides storage's latency
	WakeMs       float64 `json:"wakeMs"`       // of a worker that had nothing to do
	APILatencyMs float64 `json:"apiLatencyMs"` // from a write's dispatch to its answer and to the watcher
	Points       []Point `json:"points"`
}

// Point is one cell of the scenario's matrix.
type Point struct {
	Cell     string            `json:"cell"`
	Params   map[string]string `json:"params"`
	Strategy string            `json:"strategy"`
	Load     string            `json:"load"` // in words
	Outcome
}

// AgainstDocument is the output of watchbench simulate --against for programs.
type AgainstDocument struct {
	Schema    string       `json:"schema" jsonschema:"enum=watchbench/simulation-against/v1"`
	Tolerance float64      `json:"tolerance"` // largest error of drain time and storage rate, as a part
	Telling   int          `json:"telling"`   // cells that a wrong model could have missed by more
	Cells     []Comparison `json:"cells"`
	Left      []string     `json:"left"` // cells that could not be compared, and why
}
