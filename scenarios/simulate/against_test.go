package simulate

import (
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// saved is the folder of a run in which storage had every write 28 ms after its answer.
func saved(t *testing.T, edit func(*history.Cell), sets ...string) string {
	t.Helper()
	dir := t.TempDir()
	assesstest.Run(t, dir, assesstest.Scenario(t, "plain", "", sets...), 30, nil)
	cell := history.CellDir(dir, "only")
	c, err := history.LoadCell(cell)
	if err != nil {
		t.Fatal(err)
	}
	edit(c)
	if err := history.SaveJSON(cell, history.FileCell, c); err != nil {
		t.Fatal(err)
	}
	res, err := assess.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Save(filepath.Join(dir, result.FileName), res); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAgainst: the right latency predicts the cell, a wrong one does not, and what cannot be
// compared is said.
func TestAgainst(t *testing.T) {
	same := func(*history.Cell) {}
	all, left, err := Against(t.Context(), saved(t, same, "storage.latency=28ms"), 0)
	if err != nil || len(all) != 1 || len(left) != 0 {
		t.Fatalf("%+v, %v, %v", all, left, err)
	}
	if c := all[0]; !c.Within(0.005) || c.Measured.Requests != c.Predicted.Requests || c.Predicted.FreshnessP99 < 0.029 || c.Predicted.FreshnessP99 > 0.031 {
		t.Errorf("%+v", c)
	}
	all, _, err = Against(t.Context(), saved(t, same, "storage.latency=90ms"), 0)
	if err != nil || len(all) != 1 || all[0].Within(0.05) || all[0].DrainError < 0.05 {
		t.Errorf("a wrong latency: %+v, %v", all, err)
	}
	all, left, err = Against(t.Context(), saved(t, func(c *history.Cell) { c.Planned = 1000 }), 0)
	if err != nil || len(all) != 0 || len(left) != 1 || !strings.Contains(left[0], "invalid") {
		t.Errorf("an invalid cell: %+v, %v, %v", all, left, err)
	}
	all, left, err = Against(t.Context(), saved(t, func(c *history.Cell) { c.Scenario.Watcher.Profile = "legacy" }), 0)
	if err != nil || len(all) != 0 || len(left) != 1 || !strings.Contains(left[0], "legacy") {
		t.Errorf("legacy: %+v, %v, %v", all, left, err)
	}
	if _, why, err := load("", &result.Cell{Valid: true, Cut: true}); err != nil || !strings.Contains(why, "cut") {
		t.Errorf("a cut cell: %q, %v", why, err)
	}
	if _, _, err := Against(t.Context(), t.TempDir(), 0); !badinput.Is(err) {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestFit: an overhead is found again in what it made, and never fitted on the cell's own point.
func TestFit(t *testing.T) {
	cell := func(point string, overhead time.Duration, sets ...string) *measured {
		m := &measured{cell: &result.Cell{Params: map[string]string{"point": point}}, scenario: scenario(t, append(sets, "watcher.strategy=single")...), seed: 3}
		arrivals, err := planned(m.scenario, 3, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		m.arrivals = slices.Collect(arrivals)
		o, err := m.run(t.Context(), overhead, m.seed)
		if err != nil {
			t.Fatal(err)
		}
		m.cell.Storage.QPS = o.StorageQPS
		if err := m.fit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return m
	}
	a, b, idle := cell("a", 3*time.Millisecond), cell("b", 5*time.Millisecond), cell("c", 5*time.Millisecond, "load.rate=5")
	for m, want := range map[*measured]time.Duration{a: 3 * time.Millisecond, b: 5 * time.Millisecond} {
		if d := m.overhead - want; !m.fits || d > 100*time.Microsecond || d < -100*time.Microsecond {
			t.Errorf("fitted %s, want %s", m.overhead, want)
		}
	}
	if idle.fits {
		t.Errorf("fitted %s to a cell that waits for its load", idle.overhead)
	}
	fast := a.cell.Storage.QPS
	a.fits, a.overhead = false, 0
	*fast *= 2
	if err := a.fit(t.Context()); err != nil || a.fits {
		t.Errorf("%v: fitted %s to a cell that was faster than without any", err, a.overhead)
	}
	*fast /= 20
	if err := a.fit(t.Context()); err != nil || a.fits {
		t.Errorf("%v: fitted %s to a cell that was slower than with the most", err, a.overhead)
	}
	a.fits = true
	fitted := func(m *measured) (time.Duration, bool) { return m.overhead, m.fits }
	cells := []*measured{a, b, idle}
	if d, n := median(others(cells, a, fitted)); d != b.overhead || n != 1 {
		t.Errorf("of others: %s of %d", d, n)
	}
	if d, n := median(others(cells[:1], a, fitted)); d != 0 || n != 0 {
		t.Errorf("of none: %s of %d", d, n)
	}
}

// TestDelay: the time from an answer to the first request with that very state, of no other.
func TestDelay(t *testing.T) {
	const ms = int64(time.Millisecond)
	arrivals := []Arrival{
		{At: 1 * time.Millisecond, UID: "a", Version: 1}, {At: 2 * time.Millisecond, UID: "b", Version: 2}, {At: 3 * time.Millisecond, UID: "c", Version: 3},
		{At: 4 * time.Millisecond, UID: "d", Version: 4, Delete: true}, {At: 5 * time.Millisecond, UID: "e", Version: 5, Uncounted: true},
	}
	put := func(uid string, version uint64, received int64) ledger.Entry {
		return ledger.Entry{Method: "PUT", UID: uid, ResourceVersion: version, Received: 100*ms + received}
	}
	entries := []ledger.Entry{
		put("a", 1, 3*ms), put("b", 2, 9*ms), put("b", 2, 900*ms), // once more
		put("c", 3, 6*ms), put("d", 4, 500*ms), put("e", 5, 500*ms), put("a", 7, 500*ms), {Method: "DELETE", UID: "c", ResourceVersion: 3, Received: 500 * ms},
	}
	each := func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
	if d, err := delayOf(arrivals, 100*ms, each); d != 3*time.Millisecond || err != nil {
		t.Errorf("%s, %v; want the median of 2, 7 and 3 ms", d, err)
	}
	for name, sent := range map[string]iter.Seq2[ledger.Entry, error]{"no ledger": nil, "an empty one": func(func(ledger.Entry, error) bool) {}} {
		d, err := delayOf(arrivals, 100*ms, sent)
		if m := (&measured{delay: d, scenario: scenario(t)}); d >= 0 || err != nil || m.idle() {
			t.Errorf("%s: %s, %v: unknown is not idle", name, d, err)
		}
	}
}

// TestWake: a cell is woken as idle cells of other points were, and what comes meanwhile is merged.
func TestWake(t *testing.T) {
	burst := []Arrival{{Kind: podKind, Name: "p", UID: "u", Version: 1}, {At: 100 * time.Microsecond, Kind: podKind, Name: "p", UID: "u", Version: 2}}
	cell := func(point string, delay time.Duration) *measured {
		return &measured{cell: &result.Cell{Params: map[string]string{"point": point}}, scenario: scenario(t, "watcher.strategy=dedup"), delay: delay, arrivals: burst}
	}
	alone, busy, unknown := cell("a", time.Millisecond), cell("b", time.Second), cell("c", -1)
	cells := []*measured{alone, cell("a", time.Millisecond), busy, unknown}
	wake(cells)
	if alone.wake != 0 || alone.woken != 0 || busy.wake != time.Millisecond || busy.woken != 2 || unknown.woken != 2 {
		t.Errorf("%s of %d, %s of %d", alone.wake, alone.woken, busy.wake, busy.woken)
	}
	for m, want := range map[*measured]int64{alone: 2, busy: 1} {
		if o, err := m.run(t.Context(), 0, 1); err != nil || o.Requests != want {
			t.Errorf("%+v, %v; want %d requests", o, err, want)
		}
	}
}

// TestTypical: what is shown is the simulation in the middle of those with other latencies, whole.
func TestTypical(t *testing.T) {
	m := &measured{cell: &result.Cell{}, scenario: scenario(t, "watcher.strategy=partitioned"), seed: 3}
	arrivals, err := planned(m.scenario, 3, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	m.arrivals = slices.Collect(arrivals)
	got, err := m.typical(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	below, above, same := 0, 0, 0
	for seed := range uint64(5) {
		switch o, err := m.run(t.Context(), 0, 3+seed); {
		case err != nil:
			t.Fatal(err)
		case cmp.Equal(o, got):
			same++
		case *o.DrainSeconds < *got.DrainSeconds:
			below++
		default:
			above++
		}
	}
	if below != 2 || same != 1 || above != 2 {
		t.Errorf("%d draws drain sooner, %d are it, %d drain later", below, same, above)
	}
}

// TestNoRatio: a cell with a rate of 0, such as that of a single request, cannot be compared: no
// error relative to it is a number.
func TestNoRatio(t *testing.T) {
	m := &measured{cell: &result.Cell{ID: "only"}, scenario: scenario(t, "watcher.strategy=dedup", "storage.latency=10ms"), seed: 3}
	m.cell.Handler.DrainSeconds, m.cell.Storage.QPS, m.cell.Freshness = new(0.02), new(50.0), &result.Quantiles{}
	m.arrivals = []Arrival{{Kind: podKind, Namespace: "ns", Name: "a", UID: "a", Version: 1}}
	if c, err := m.compare(t.Context(), 0); c != nil || err != nil {
		t.Errorf("predicted 0: %+v, %v", c, err)
	}
	m.arrivals = append(m.arrivals, Arrival{At: time.Second, Kind: podKind, Namespace: "ns", Name: "b", UID: "b", Version: 2})
	if c, err := m.compare(t.Context(), 0); c == nil || err != nil {
		t.Errorf("predicted 1/s: %+v, %v", c, err)
	}
	m.cell.Storage.QPS = new(0.0)
	if c, err := m.compare(t.Context(), 0); c != nil || err != nil {
		t.Errorf("measured 0: %+v, %v", c, err)
	}
}

// TestTelling: a cell that follows its load shows nothing of the model, however well it is met.
func TestTelling(t *testing.T) {
	same := func(*history.Cell) {}
	all, _, err := Against(t.Context(), saved(t, same, "storage.latency=28ms"), 0)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	c := all[0]
	if twice := 0.028 / c.Predicted.DrainSeconds; c.Sensitivity < twice/2 || c.Sensitivity > 2*twice || c.Telling(c.Sensitivity) || !c.Telling(c.Sensitivity/2) {
		t.Errorf("sensitivity %g: a drain of %g s would be 28 ms longer", c.Sensitivity, c.Predicted.DrainSeconds)
	}
}

// TestRecorded: one object's changes arrive in the order of their versions, whatever the
// answers' order was; a real apiserver shows a Pod's end before it is gone.
func TestRecorded(t *testing.T) {
	op := func(typ, name string, version uint64, finished int64) oplog.Record {
		return oplog.Record{Phase: oplog.PhaseLoad, Type: typ, Kind: podKind, Name: name, UID: name, ResourceVersion: version, Intended: 1000, Started: 1000, Finished: finished, Status: 200}
	}
	failed := op(oplog.TypePatch, "a", 0, 1500)
	failed.Error = "no"
	beat, beside := op(oplog.TypeHeartbeat, "l", 4, 4500), op(oplog.TypePatch, "c", 5, 600)
	beside.Kind, beside.Bystander, beside.Intended, beside.Started = bystanderKind, true, 500, 500
	records := []oplog.Record{
		failed, op(oplog.TypeDelete, "a", 3, 5000), op(oplog.TypePatch, "a", 3, 2000), op(oplog.TypePatch, "a", 2, 4000), op(oplog.TypeCreate, "b", 1, 3000), beat, beside,
		{Phase: oplog.PhaseWarmup, Type: oplog.TypeCreate, Kind: podKind, Name: "w", Started: 1, Finished: 2, Status: 200},
	}
	each := func(yield func(oplog.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
	for provider, want := range map[string][]string{
		"replay":   {"c@5 0s", "b@1 2µs", "a@2 3µs", "a@3 3µs", "a@3 4µs gone"},
		"embedded": {"c@5 0s", "b@1 2µs", "a@2 3µs", "a@3 3µs", "a@3 4µs", "a@3 4µs gone"},
	} {
		s := scenario(t, "cluster.provider="+provider)
		all, first, err := recorded(s, each)
		if err != nil || first != 1000 {
			t.Fatal(first, err)
		}
		var got []string
		for _, a := range all {
			text := a.Name + "@" + string(rune('0'+a.Version)) + " " + a.At.String()
			if a.Delete {
				text += " gone"
			}
			got = append(got, text)
			if want := a.At + map[string]time.Duration{"c": 500}[a.Name]; a.Lag != want || a.Name == "c" && !a.Uncounted {
				t.Errorf("%s: lag %s, uncounted %t", text, a.Lag, a.Uncounted)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", provider, d)
		}
	}
}
