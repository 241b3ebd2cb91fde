package runner

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// setback is a storage that was killed and came back with what it held some time
// before: what it had acknowledged since then is gone, and nobody tells the watcher.
type setback struct {
	snapshot int64 // when the snapshot was complete
	cut      int64 // when storage took no more requests
	back     int64 // when it took them again
	took     time.Duration
	caughtUp bool
}

// killStorage takes a snapshot, lets time pass, kills storage and starts it again at the
// same addresses with the snapshot. Connections are cut before the kill, so that the
// ledger, which dies with the process, can be fetched complete: what was under way at
// that moment was never acknowledged and is not in the snapshot.
func (c *cellRun) killStorage(ctx context.Context, e spec.Event) error {
	m := c.mock
	s := m.setup
	if err := save(ctx, m.http, m.admin+"/snapshot", s.file("documents", s.life)); err != nil {
		return err
	}
	b := setback{snapshot: time.Now().UnixNano()}
	if err := pause(ctx, e.For.Std()); err != nil {
		return err
	}
	b.cut = time.Now().UnixNano()
	if err := m.setFaults(ctx, "refuse(for=1h)"); err != nil {
		return err
	}
	if err := m.fetchLedger(ctx, s.file("ledger.ndjson.zst", s.life)); err != nil {
		return err
	}
	c.mark(history.MarkStorageKilled)
	m.kill()
	s.life++
	next, err := startMock(ctx, s)
	if err != nil {
		return fmt.Errorf("start storage again: %w", err)
	}
	// The sampler knows the mock by its addresses, which stay.
	m.process, m.setup = next.process, next.setup
	began := time.Now()
	b.back = began.UnixNano()
	c.mark(history.MarkStorageBack)
	took, why, err := c.caughtUp(ctx, began)
	if err != nil {
		return err
	}
	b.took, b.caughtUp = took, why == ""
	c.setbacks = append(c.setbacks, b)
	if why != "" {
		c.markNote(history.MarkDiverged, why)
	}
	return nil
}

// sentLater is how long before the cut a write must have been acknowledged to count as
// settled for the watcher.
const sentLater = int64(500 * time.Millisecond)

// repaired counts the rows that were written again as they had been, although their
// write was acknowledged: only who compares storage with the cluster does that.
func (b setback) repaired(entries []ledger.Entry) int {
	type write struct{ method, kind, namespace, name, uid string }
	lost := map[write]uint64{}
	again := map[write]bool{}
	for _, e := range entries {
		w := write{e.Method, e.Kind, e.Namespace, e.Name, e.UID}
		switch {
		case !e.Took() || e.Applied <= b.snapshot:
		case e.Responded != 0 && e.Responded < b.cut-sentLater && e.Acked():
			lost[w] = e.ResourceVersion
		case e.Applied < b.cut:
			delete(lost, w) // a later write of the row may be tried again by itself
		case e.Applied >= b.back:
			if rv, ok := lost[w]; ok && (rv == e.ResourceVersion || e.Method == http.MethodDelete) {
				again[w] = true
			}
		}
	}
	return len(again)
}

// setbackFacts: storage has everything again within one round of the synchronizer.
func (c *cellRun) setbackFacts(within bounded, add func(result.Fact), limit float64) {
	for _, b := range c.setbacks {
		f := within("T", "catch-up after storage came back", "s", b.took.Seconds(), limit)
		if !b.caughtUp {
			f.OK, f.Detail = false, fmt.Sprintf("it had not within %s", catchUpLimit)
		}
		add(f)
		n := b.repaired(c.evidence.entries)
		add(result.Fact{Column: "C", Name: "acknowledged rows that were written again", Unit: "rows", Value: float64(n), OK: n >= minKeys})
	}
}
