package simulate

// Schema names the format of a Document as JSON.
const Schema = "watchbench/simulation/v2"

// Document is the output of watchbench simulate for programs: nothing in it was measured.
type Document struct {
	Schema     string  `json:"schema" jsonschema:"enum=watchbench/simulation/v2"`
	Scenario   string  `json:"scenario"`   // its metadata.name
	OverheadMs float64 `json:"overheadMs"` // of each request, besides storage's latency
	Points     []Point `json:"points"`
}

// Point is one cell of the scenario's matrix.
type Point struct {
	Cell     string            `json:"cell"`
	Params   map[string]string `json:"params"`
	Strategy string            `json:"strategy"`
	Load     string            `json:"load"` // in words
	Outcome
}
