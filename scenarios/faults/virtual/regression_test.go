package virtual

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// regression is a history that once went wrong.
type regression struct {
	Description string             `json:"description"`
	Test        string             `json:"test"` // the small test of the same mistake
	Guarantees  []string           `json:"guarantees"`
	Seeds       []uint64           `json:"seeds"`
	Operations  int                `json:"operations"`
	Span        config.Duration    `json:"span"`
	Mode        string             `json:"mode"`
	Storage     string             `json:"storage"`
	Watch       string             `json:"watch"`
	Strategy    pipeline.Strategy  `json:"strategy"`
	QueueFull   pipeline.QueueFull `json:"queueFull"`
	HandlerLen  int                `json:"handlerQueueLen"`
	SyncPeriod  config.Duration    `json:"synchronizerPeriod"` // none: off
}

func (r regression) setup(seed uint64) setup {
	return setup{
		seed: seed, ops: r.Operations, span: time.Duration(r.Span), mode: r.Mode, storage: r.Storage, watch: r.Watch,
		edit: func(c *config.Config, f *config.Filter) {
			if r.Strategy != "" {
				c.BCS.Strategy = r.Strategy
			}
			if r.QueueFull != "" {
				c.BCS.QueueFull = r.QueueFull
			}
			if r.HandlerLen > 0 {
				c.BCS.HandlerQueueLen = r.HandlerLen
			}
			if r.SyncPeriod > 0 {
				synced(time.Duration(r.SyncPeriod))(c, f)
			}
		},
	}
}

// TestRegressions replays the histories under scenarios/regression/virtual.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob("../../regression/virtual/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d recorded histories: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r regression
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&r); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if r.Description == "" || len(r.Guarantees) == 0 || len(r.Seeds) == 0 || r.Operations < 10 || r.Span <= 0 {
				t.Fatalf("%s: want description, guarantees, seeds, operations and span", file)
			}
			for _, seed := range r.Seeds {
				o := simulate(t, r.setup(seed))
				for _, f := range o.failures("G1", "G2", "G3", "G4", "G5", "G6", "G10", "G11", "G14") {
					t.Errorf("seed %d: %s\n  it was: %s\n  again: go test ./scenarios/faults/virtual -run 'TestRegressions/%s$' -count 20", seed, f, r.Description, name)
				}
			}
		})
	}
}
