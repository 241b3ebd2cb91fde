package result

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// MatrixFile is the matrix's name in its folder, MatrixSchema the name of its format.
const (
	MatrixFile   = "matrix.json"
	MatrixSchema = "watchbench/matrix/v1"
)

// Matrix is matrix.json: the outcome of the fault matrix's scenarios.
type Matrix struct {
	Schema  string        `json:"schema"`
	Profile string        `json:"profile"`
	Seconds float64       `json:"seconds"`
	Entries []MatrixEntry `json:"entries"`
	Retries []Retry       `json:"secondTries,omitempty"`
}

// Retry is a second try of a scenario, or of a setting that is tuned, and why the first one proves nothing.
type Retry struct {
	Scenario string `json:"scenario"`
	Why      string `json:"why"`
}

// MostRetries is how many scenarios of a matrix may get a second try before it proves nothing.
const MostRetries = 2

// MatrixEntry is the outcome of one cell of one scenario, or why a row has none.
type MatrixEntry struct {
	Row      string            `json:"row"`
	Title    string            `json:"title"`
	Scenario string            `json:"scenario,omitempty"`
	Cell     string            `json:"cell,omitempty"`
	Columns  map[string]Column `json:"columns,omitempty"`
	Facts    []Fact            `json:"facts,omitempty"`
	Fired    map[string]int64  `json:"fired,omitempty"`
	Keys     map[string]int64  `json:"keys,omitempty"`
	Expected []string          `json:"expectedToFail,omitempty"`
	Invalid  []string          `json:"invalid,omitempty"`
	// Late are the reasons in Invalid that are about time: a generator or a storage behind its plan.
	Late     []string `json:"lateReasons,omitempty"`
	Error    string   `json:"error,omitempty"` // the run was aborted
	NotBuilt string   `json:"notBuilt,omitempty"`
	NotRun   bool     `json:"notRun,omitempty"` // the matrix ended before
	Seconds  float64  `json:"seconds,omitempty"`
	First    string   `json:"firstTry,omitempty"`
	Dir      string   `json:"dir,omitempty"` // of the run, in the matrix's folder
}

// MatrixRow is one fault of the matrix.
type MatrixRow struct {
	ID    string
	Title string
	// NotBuilt is why no scenario of the product shows it.
	NotBuilt string
}

// goTest is where the rows are that only k8s-watch can have.
const goTest = "a Go test: make robustness"

// MatrixRows are all faults, in order.
var MatrixRows = []MatrixRow{
	{ID: "F0", Title: "none"},
	{ID: "F1", Title: "slow storage"},
	{ID: "F2", Title: "storage refuses connections, forgets"},
	{ID: "F3", Title: "storage never answers"},
	{ID: "F4", Title: "storage answers errors, Retry-After"},
	{ID: "F5", Title: "unknown outcome, late apply"},
	{ID: "F6", Title: "requests applied twice"},
	{ID: "F7", Title: "poison objects"},
	{ID: "F8", Title: "watches end, older cache"},
	{ID: "F9", Title: "silent watch"},
	{ID: "F10", Title: "410 Gone"},
	{ID: "F11", Title: "relist after 410 fails"},
	{ID: "F12", Title: "apiserver gone, 429"},
	{ID: "F13", Title: "streaming list without its bookmark"},
	{ID: "F14", Title: "SIGTERM"},
	{ID: "F15", Title: "SIGKILL", NotBuilt: goTest},
	{ID: "F16", Title: "deletions while down"},
	{ID: "F17", Title: "rows removed, edited, added in storage"},
	{ID: "F18", Title: "names created again"},
	{ID: "F19", Title: "burst into slow storage"},
	{ID: "F20", Title: "queues changed under load", NotBuilt: goTest},
	{ID: "F21", Title: "huge objects, garbled watch"},
	{ID: "F22", Title: "custom resources come and go", NotBuilt: goTest},
	{ID: "F23", Title: "two watchers at once, leader killed"},
	{ID: "F24", Title: "slow receivers of notifications", NotBuilt: goTest},
	{ID: "F25", Title: "forged addresses of webhooks", NotBuilt: goTest},
	{ID: "F26", Title: "canaries in masked fields"},
	{ID: "F27", Title: "bad certificates, old TLS, rotated CA and token"},
	{ID: "F28", Title: "abuse of the query API", NotBuilt: goTest},
	{ID: "F29", Title: "cluster restored from a backup"},
	{ID: "F30", Title: "lost watch events"},
}

// MatrixColumn is one guarantee of the matrix.
type MatrixColumn struct {
	ID, Title string
	Meaning   string // what it asks, in a sentence
}

// MatrixColumns are the matrix's columns, in order.
var MatrixColumns = []MatrixColumn{
	{"C", "converge", "In the end, and after each restart, storage holds what the apiserver holds."},
	{"O", "order", "No older state overwrites a newer one, and nothing that was deleted comes back. In brackets: how " +
		"many pairs of writes could have been swapped."},
	{"L", "loss", "Every event is accounted for: sent, merged, filtered, or still queued."},
	{"B", "bounded", "Memory, queues, goroutines and sockets stay below their ceilings."},
	{"I", "isolation", "Kinds and objects that the fault does not hit stay as fresh as without it."},
	{"A", "amplification", "Requests to storage per state that it took; retries back off."},
	{"T", "time", "How long recovery from the fault takes."},
	{"S", "secrecy", "Masked fields turn up in no log, file, metric or stored byte."},
	{"X", "exit", "Every watcher exits cleanly when asked to, none ends by itself or panics."},
}

// Verdict sums up an entry: failed are asserted columns that failed (with an expected failure, those that did not),
// invalid is why it proves nothing. What failed in an invalid entry failed nevertheless.
func (e *MatrixEntry) Verdict() (failed []string, invalid string) {
	if e.NotBuilt != "" || e.NotRun {
		return nil, ""
	}
	for _, c := range MatrixColumns {
		x, ok := e.Columns[c.ID]
		expected := slices.Contains(e.Expected, c.ID)
		switch {
		case !ok:
		case x.Verdict == Fail && len(e.Expected) == 0:
			failed = append(failed, c.ID)
		case x.Verdict != Fail && expected:
			failed = append(failed, c.ID+" was to fail")
		}
	}
	if e.Error != "" {
		return failed, e.Error
	}
	return failed, strings.Join(e.Invalid, "; ")
}

// LoadMatrix reads the matrix from its folder.
func LoadMatrix(dir string) (*Matrix, error) {
	return load[Matrix](filepath.Join(dir, MatrixFile), MatrixSchema)
}

// Started is when its first run began that is there; zero if none is.
func (m *Matrix) Started(dir string) time.Time {
	for _, e := range m.Entries {
		if e.Dir != "" && filepath.IsLocal(e.Dir) {
			if res, err := LoadFile(filepath.Join(dir, e.Dir)); err == nil {
				return res.Run.Started
			}
		}
	}
	return time.Time{}
}
