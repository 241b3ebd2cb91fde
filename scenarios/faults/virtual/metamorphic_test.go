package virtual

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/synchronizer"
)

// settings under each of which one history must end in one state.
var settings = []struct {
	name    string
	mode    string
	storage string
	watch   string
	edit    func(*config.Config, *config.Filter)
}{
	{name: "defaults"},
	{name: "handlerQueueLen=1", edit: func(c *config.Config, _ *config.Filter) { c.BCS.HandlerQueueLen = 1 }},
	{name: "handlerQueueLen=2,block", edit: func(c *config.Config, _ *config.Filter) {
		c.BCS.HandlerQueueLen, c.BCS.QueueFull = 2, pipeline.Block
	}},
	{name: "writerQueueLen=1,block", edit: func(c *config.Config, _ *config.Filter) {
		c.BCS.HandlerQueueLen, c.BCS.WriterQueueLen, c.BCS.QueueFull = 1, 1, pipeline.Block
	}},
	{name: "podQueueNum=0", edit: func(c *config.Config, _ *config.Filter) { c.BCS.PodQueueNum = 0 }},
	{name: "podQueueNum=16", edit: func(c *config.Config, _ *config.Filter) { c.BCS.PodQueueNum = 16 }},
	{name: "parkAfter=1", storage: "500(method=PUT|DELETE,max=30):20%", edit: func(c *config.Config, _ *config.Filter) {
		c.BCS.ParkAfter = 1
		synced(5*time.Second)(c, nil)
	}},
	{name: "synchronizer", edit: synced(2 * time.Second)},
	{name: "no mask", edit: func(_ *config.Config, f *config.Filter) { f.ResourceMaskers = nil }},
	{name: "managedFields kept", edit: func(_ *config.Config, f *config.Filter) { f.KeepManagedFields = true }},
	{name: "refusals", storage: "503(method=PUT|DELETE):20%"},
	{name: "conditional", mode: check.ModeConditional, storage: "reset-after(method=PUT|DELETE):5%"},
	{name: "watch ends", watch: "close(1s,3s)"},
}

// TestMetamorphic: one history through all strategies and settings ends in one state
// of storage.
func TestMetamorphic(t *testing.T) {
	for _, seed := range seedsOf(t, max(1, *seeds/10)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			var want, by string
			runs := 0
			for _, strategy := range pipeline.Strategies() {
				if strategy == pipeline.Unordered {
					continue
				}
				for _, set := range settings {
					o := simulate(t, setup{seed: seed, ops: *opsFlag, span: 20 * time.Second, mode: set.mode, storage: set.storage, watch: set.watch,
						edit: func(c *config.Config, f *config.Filter) {
							c.BCS.Strategy = strategy
							if set.edit != nil {
								set.edit(c, f)
							}
						}})
					name := string(strategy) + " " + set.name
					again := fmt.Sprintf("again: go test ./scenarios/faults/virtual -run TestMetamorphic -seed %d -ops %d", seed, *opsFlag)
					for _, f := range o.failures("G1", "G2", "G3", "G4", "G5", "G6", "G10", "G11", "G14") {
						t.Errorf("%s: %s\n  %s", name, f, again)
					}
					got := o.digest(t)
					if runs++; runs == 1 {
						want, by = got, name
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Errorf("%s ends differently from %s:\n%s\n  %s", name, by, d, again)
					}
				}
			}
			if strings.Count(want, "\n") < 10 {
				t.Errorf("only a few objects in the end:\n%s", want)
			}
			t.Logf("seed %d: %d runs (%d settings), one state of %d objects", seed, runs, len(settings), strings.Count(want, "\n"))
		})
	}
}

// digest is storage's final state in one form, whatever was masked.
func (o *outcome) digest(t *testing.T) string {
	t.Helper()
	var lines []string
	for _, d := range o.docs {
		if d.Kind == synchronizer.StateKind {
			continue // not the cluster's
		}
		rec, err := check.Digest(check.Raw{Side: history.SideApiserver, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, JSON: d.Data()},
			check.Rules{Masks: []check.Mask{{Kind: "Secret", Path: []string{"data"}}}})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s/%s/%s %s %s\n", d.Kind, d.Namespace, d.Name, rec.UID, rec.Digest))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
