package assess

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRunTwice: a run's folder alone gives results.json, and gives the same bytes again.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	assesstest.Run(t, dir, assesstest.Scenario(t, "plain", ""), 30, nil)
	before := assesstest.Contents(t, dir)
	var first, second bytes.Buffer
	for _, to := range []*bytes.Buffer{&first, &second} {
		res, err := Run(t.Context(), dir)
		must(t, err)
		must(t, result.Encode(to, res))
	}
	if d := cmp.Diff(first.String(), second.String()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, assesstest.Contents(t, dir)); d != "" {
		t.Errorf("the folder was changed:\n%s", d)
	}
	res, err := result.Decode(&first, "first")
	must(t, err)
	c := res.Cells[0]
	if !c.Valid || c.ID != "only" || c.Params["load"] != "light" || c.Load.Done != 54 || c.Freshness == nil || c.Freshness.P99 < 0.029 || c.Freshness.P99 > 0.031 || c.Robustness != nil {
		t.Errorf("valid %v %v, %+v, freshness %+v", c.Valid, c.InvalidReasons, c.Load, c.Freshness)
	}
	if w := c.Watcher; w.Stored == nil || *w.Stored != 2.13 || w.StoredCPU == nil || *w.StoredCPU != 0.25 {
		t.Errorf("%+v", w)
	}
	for _, g := range []string{"G1", "G2", "G3"} {
		if c.Checks[g].Verdict != result.Pass {
			t.Errorf("%s: %+v", g, c.Checks[g])
		}
	}
	if res.Run.Seed != 1<<63+1 || res.Environment.Provider != "embedded" {
		t.Errorf("%+v, %+v", res.Run, res.Environment)
	}
}

// TestThresholds: the folder alone tells whether the scenario's bounds hold.
func TestThresholds(t *testing.T) {
	for bound, holds := range map[string]bool{"< 40ms": true, "< 20ms": false} {
		dir := t.TempDir()
		assesstest.Run(t, dir, assesstest.Scenario(t, "plain", "", "thresholds.freshness.p99="+bound), 30, nil)
		res, err := Run(t.Context(), dir)
		must(t, err)
		if len(res.Thresholds) != 1 || res.Thresholds[0].Holds != holds || res.Thresholds[0].Point != "only" {
			t.Errorf("%s: %+v", bound, res.Thresholds)
		}
	}
}

// TestCheckRun: what is missing is said to be, and what is written otherwise is named.
func TestCheckRun(t *testing.T) {
	dir := t.TempDir()
	assesstest.Run(t, dir, assesstest.Scenario(t, "plain", ""), 30, nil)
	c, err := Check(t.Context(), dir)
	if err != nil || !c.Missing || c.Results == nil || c.Matrix != nil {
		t.Fatalf("%+v, %v", c, err)
	}
	path := filepath.Join(dir, result.FileName)
	must(t, result.Save(path, c.Results))
	if c, err = Check(t.Context(), dir); err != nil || c.Missing || len(c.Differences) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	c.Results.Cells[0].Checks["G2"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 3}
	c.Results.Cells[0].Load.Done = 7
	c.Results.Cells[0].Freshness = nil
	must(t, result.Save(path, c.Results))
	c, err = Check(t.Context(), dir)
	must(t, err)
	got := strings.Join(c.Differences, "\n")
	for _, want := range []string{
		"cells[only].checks.G2.verdict: results.json has fail, the record now gives pass",
		"cells[only].load.done: results.json has 7, the record now gives 54",
		"cells[only].freshness: results.json has nothing, the record now gives {",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %q", got, want)
		}
	}
	lone, err := Check(t.Context(), history.CellDir(dir, "only"))
	if err != nil || len(lone.Results.Cells) != 1 || lone.Results.Cells[0].Checks["G1"].Verdict != result.Pass {
		t.Errorf("the cell alone: %+v, %v", lone, err)
	}
	must(t, os.Remove(filepath.Join(history.CellDir(dir, "only"), history.FileCell)))
	var input *badinput.Error
	if _, err = Check(t.Context(), history.CellDir(dir, "only")); !errors.As(err, &input) {
		t.Errorf("an older version's cell alone: %v", err)
	}
}

// campaign writes a matrix's folder: F0, late at its first try, and F1, which is compared with it; F2 was aborted.
func campaign(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	f0, f1 := assesstest.Scenario(t, "f00-none", "F0"), assesstest.Scenario(t, "f01-slow", "F1")
	late := func(name string, f *spec.File, delay int64, base *result.Cell) *result.Results {
		assesstest.Run(t, filepath.Join(dir, name), f, delay, base)
		res, err := Run(t.Context(), filepath.Join(dir, name))
		must(t, err)
		return res
	}
	late("a", f0, 900, nil)
	base := &late("b", f0, 150, nil).Cells[0]
	late("c", f1, 290, base)
	run := func(row, dir, errText string, try int) history.CampaignRun {
		return history.CampaignRun{Scenario: strings.ToLower(row), Row: row, Title: "of " + row, Cells: 1, Dir: dir, Seconds: 2, Error: errText, Try: try}
	}
	must(t, history.SaveJSON(dir, history.FileCampaign, &history.Campaign{
		Schema: history.CampaignSchema, Profile: "default", Asked: []string{"F0", "F1", "F2"}, Seconds: 9,
		Runs: []history.CampaignRun{run("F0", "a", "", 1), run("F0", "b", "", 2), run("F1", "c", "", 1), run("F2", "gone", "no cluster", 1)},
	}))
	return dir
}

func TestMatrix(t *testing.T) {
	dir := campaign(t)
	m, _, err := assessMatrix(t.Context(), dir)
	must(t, err)
	// F0 asserts I and had nothing to compare with, so its second try counts.
	if len(m.Entries) != 3 || m.Seconds != 9 || m.Entries[0].Dir != "b" || len(m.Retries) != 1 || m.Entries[2].Error != "no cluster" {
		t.Fatalf("%+v", m.Entries)
	}
	for col, want := range map[string]string{"C": result.Pass, "I": result.Pass, "T": result.Measured} {
		if x := m.Entries[1].Columns[col]; x.Verdict != want {
			t.Errorf("%s: %+v, want %s", col, x, want)
		}
	}
	// Against an undisturbed row that is twice as fast, the same is too slow.
	assesstest.Run(t, filepath.Join(dir, "b"), assesstest.Scenario(t, "f00-none", "F0"), 20, nil)
	if m, _, err = assessMatrix(t.Context(), dir); err != nil || m.Entries[1].Columns["I"].Verdict != result.Fail {
		t.Errorf("%+v, %v", m.Entries[1].Columns["I"], err)
	}
	// A run's own record says what it was compared with.
	res, err := Run(t.Context(), filepath.Join(dir, "c"))
	if err != nil || res.Cells[0].Robustness.Columns["I"].Verdict != result.Pass {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestCheckMatrix(t *testing.T) {
	dir := campaign(t)
	c, err := Check(t.Context(), dir)
	if err != nil || !c.Missing || c.Matrix == nil || c.Results != nil {
		t.Fatalf("%+v, %v", c, err)
	}
	var b bytes.Buffer
	c.Matrix.Entries[1].Columns["I"] = result.Column{Verdict: result.Fail}
	must(t, result.EncodeJSON(&b, c.Matrix))
	must(t, os.WriteFile(filepath.Join(dir, result.MatrixFile), b.Bytes(), 0o600))
	c, err = Check(t.Context(), dir)
	if want := "entries[1].columns.I.verdict: matrix.json has fail, the record now gives pass"; err != nil || !strings.Contains(strings.Join(c.Differences, "\n"), want) {
		t.Errorf("%v lacks %q, %v", c.Differences, want, err)
	}
}

// TestMissingRecords: a folder that an older version wrote, or a damaged one, is refused with the name of what is
// missing.
func TestMissingRecords(t *testing.T) {
	cell := history.CellDir("", "only")
	for _, tc := range []struct{ name, remove, want string }{
		{"an older version's run", history.FileRun, history.FileRun + " is missing: an older version"},
		{"an older version's cell", cell + "/" + history.FileCell, history.FileCell + " is missing"},
		{"no ledger", cell + "/" + history.FileLedger, history.FileLedger + " is missing"},
		{"no op log", cell + "/" + history.FileOps, history.FileOps + " is missing"},
		{"no metrics", cell + "/" + history.FileAfter, history.FileAfter + " is missing"},
		{"no samples", cell + "/" + history.FileSamples, history.FileSamples + " is missing"},
		{"no marks", cell + "/" + history.FileMarks, history.FileMarks + " is missing"},
		{"no deeds", cell + "/" + history.FileDeeds, history.FileDeeds + " is missing"},
		{"a damaged one", cell + "/" + history.FileMarks, "must be complete and as it was written"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			assesstest.Run(t, dir, assesstest.Scenario(t, "plain", ""), 30, nil)
			must(t, os.WriteFile(filepath.Join(dir, result.FileName), []byte("{}"), 0o600))
			if strings.Contains(tc.want, "missing") {
				must(t, os.Remove(filepath.Join(dir, tc.remove)))
			} else {
				must(t, os.WriteFile(filepath.Join(dir, tc.remove), []byte("{\n"), 0o600))
			}
			_, err := Check(t.Context(), dir)
			var input *badinput.Error
			if !errors.As(err, &input) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		var input *badinput.Error
		if _, err := Check(t.Context(), dir); !errors.As(err, &input) || !strings.Contains(err.Error(), "name the folder of a run") {
			t.Errorf("%v", err)
		}
	}
}

// TestIncompleteRecords: what is not whole, or is of another cell, is refused instead of being judged by what is left
// of it.
func TestIncompleteRecords(t *testing.T) {
	rewrite := func(name string, edit func(string) string) func(string) error {
		return func(cell string) error {
			data, err := os.ReadFile(filepath.Join(cell, name))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(cell, name), []byte(edit(string(data))), 0o600)
		}
	}
	edited := func(edit func(*history.Cell)) func(string) error {
		return func(cell string) error {
			c, err := history.LoadCell(cell)
			if err != nil {
				return err
			}
			edit(c)
			return history.SaveJSON(cell, history.FileCell, c)
		}
	}
	firstLine := func(s string) string { return s[:strings.Index(s, "\n")+1] }
	for _, tc := range []struct {
		name   string
		damage func(cell string) error
		want   string
	}{
		{"history of another cell", rewrite(history.FileMeta, func(s string) string { return strings.Replace(s, `"cell": "only"`, `"cell": "other"`, 1) }), `it is of the cell "other"`},
		{"a cell under another name", edited(func(c *history.Cell) { c.ID = "other" }), "other"},
		{"a restart without marks", edited(func(c *history.Cell) { c.Watcher.Restarts = 1 }), "1 starts of a watcher, want 2"},
		{"no starts", rewrite(history.FileMarks, func(string) string { return "" }), "0 starts of a watcher, want 1"},
		{"a ledger of another length", edited(func(c *history.Cell) { c.LedgerBytes++ }), "were written"},
		{"samples cut short", rewrite(history.FileSamples, firstLine), "the samples end before the drain"},
		{"no samples in the file", rewrite(history.FileSamples, func(string) string { return "" }), "the samples end before the drain"},
		{"an empty scrape", rewrite(history.FileAfter, func(string) string { return "" }), "no metrics"},
		{"an event that nobody carried out", edited(func(c *history.Cell) { c.Scenario.Events = []spec.Event{{What: "kill-restart", Times: 3}} }), "-3 of the event kill-restart"},
		{"a deed that was not asked for", rewrite(history.FileDeeds, func(string) string { return `{"what":"sigkill","began":1,"ended":2}` + "\n" }), "+1 of the event sigkill"},
		{"controllers that nobody watched", edited(func(c *history.Cell) { c.Scenario.Cluster.Controllers = true }), history.FileWitness + " is missing"},
		{"nothing captured for the canaries", rewrite(history.FileMeta, func(s string) string { return strings.Replace(s, "{", `{"canaries": ["secret"],`, 1) }), history.DirCaptured + " is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out[1]") // a folder may have any name
			assesstest.Run(t, dir, assesstest.Scenario(t, "plain", ""), 30, nil)
			if _, err := Run(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			must(t, tc.damage(history.CellDir(dir, "only")))
			_, err := Run(t.Context(), dir)
			var input *badinput.Error
			if !errors.As(err, &input) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// TestExpect: what a scenario allows is no failure, and what it demands and did not come is one.
func TestExpect(t *testing.T) {
	s := spec.Default()
	of := func(verdict string) spec.Expectation {
		return spec.Expectation{"single": spec.ExpectPass, "default": verdict}
	}
	s.Expect = spec.Expect{"G1": of(spec.ExpectFailAllowed), "G2": of(spec.ExpectFail), "G3": of(spec.ExpectFail), "G4": of(spec.ExpectFail)}
	cell := result.Cell{Valid: true, Handler: result.Handler{Strategy: "keyed"}, Checks: map[string]result.Check{
		"G1": {Verdict: result.Fail}, "G2": {Verdict: result.Fail}, "G3": {Verdict: result.Pass, Note: "x"}, "G4": {Verdict: result.NotJudged}, "G5": {Verdict: result.Fail},
	}}
	expect(&s, &cell)
	want := map[string]result.Check{
		"G1": {Verdict: result.Allowed}, "G2": {Verdict: result.Allowed}, "G3": {Verdict: result.Fail, Note: "x; the scenario expects a violation and there was none"},
		"G4": {Verdict: result.NotJudged}, "G5": {Verdict: result.Fail},
	}
	if d := cmp.Diff(want, cell.Checks); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"G4 was to fail and could not be judged"}, cell.InvalidReasons); d != "" || cell.Valid {
		t.Error(d)
	}
}

// TestWeigh: what could hardly have failed did not pass; what failed, failed.
func TestWeigh(t *testing.T) {
	for _, tc := range []struct {
		verdict string
		power   int64 // -1: the check has none
		least   int
		want    string
	}{
		{result.Pass, 30, 30, result.Pass},
		{result.Pass, 29, 30, result.NoPower},
		{result.Pass, 0, 30, result.NoPower},
		{result.Pass, 0, 0, result.Pass},
		{result.Pass, -1, 30, result.Pass},
		{result.Fail, 1, 30, result.Fail},
		{result.NotJudged, 0, 30, result.NotJudged},
	} {
		s := spec.Default()
		s.Limits.MinPower = tc.least
		c := result.Check{Verdict: tc.verdict, Judged: 5}
		if tc.power >= 0 {
			c.Power = &tc.power
		}
		cell := result.Cell{Checks: map[string]result.Check{"G2": c}}
		weigh(&s, &cell)
		got := cell.Checks["G2"]
		if got.Verdict != tc.want || tc.power >= 0 && got.MinPower != int64(tc.least) || tc.power < 0 && got.MinPower != 0 {
			t.Errorf("%s with power %d of %d: %+v, want %s", tc.verdict, tc.power, tc.least, got, tc.want)
		}
	}
}

func TestExpectations(t *testing.T) {
	for _, tc := range []struct {
		expect, verdict string
		cut             bool
		want            string
		valid           bool
	}{
		{spec.ExpectPass, result.Fail, false, result.Fail, true},
		{spec.ExpectPass, result.Pass, false, result.Pass, true},
		{spec.ExpectFailAllowed, result.Fail, false, result.Allowed, true},
		{spec.ExpectFailAllowed, result.Pass, false, result.Pass, true},
		{spec.ExpectFail, result.Fail, false, result.Allowed, true},
		{spec.ExpectFail, result.Pass, false, result.Fail, true},
		{spec.ExpectFail, result.NotJudged, false, result.NotJudged, false},
		{spec.ExpectFail, result.NoPower, false, result.NoPower, false},
		{spec.ExpectFailAllowed, result.NoPower, false, result.NoPower, true},
		{spec.ExpectFail, result.NotJudged, true, result.NotJudged, true},
	} {
		s := spec.Default()
		s.Expect = spec.Expect{"G2": {"default": tc.expect}}
		cell := result.Cell{Valid: true, Cut: tc.cut, Checks: map[string]result.Check{"G2": {Verdict: tc.verdict, Judged: 5}}}
		expect(&s, &cell)
		if got := cell.Checks["G2"].Verdict; got != tc.want || cell.Valid != tc.valid {
			t.Errorf("%s expected, %s found: %s, valid %v; want %s, %v", tc.expect, tc.verdict, got, cell.Valid, tc.want, tc.valid)
		}
	}
}

// TestStorageDigest: it is of what storage holds, in any order, and of nothing else.
func TestStorageDigest(t *testing.T) {
	rec := func(side history.Side, namespace, name, uid, content string, version uint64) history.StateRecord {
		return history.StateRecord{Side: side, Kind: "Pod", Namespace: namespace, Name: name, UID: uid, Content: content, ResourceVersion: version, Digest: content + fmt.Sprint(version)}
	}
	of := func(all ...history.StateRecord) string {
		var i inventory
		for _, r := range all {
			i.add(&r)
		}
		return i.digest()
	}
	a, b := rec(history.SideStorage, "n", "a", "u", "c", 1), rec(history.SideStorage, "", "b", "v", "d", 2)
	want := fmt.Sprintf("%x", sha256.Sum256([]byte("Pod\t\tb\tv\td\nPod\tn\ta\tu\tc\n")))
	if got := of(a, b); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if of(b, rec(history.SideApiserver, "n", "x", "y", "", 1), rec(history.SideStorage, "n", "a", "u", "c", 7)) != want {
		t.Error("the order, a version or the apiserver's side changes it")
	}
	for what, other := range map[string]string{
		"another content": of(rec(history.SideStorage, "n", "a", "u", "e", 1), b), "another uid": of(rec(history.SideStorage, "n", "a", "w", "c", 1), b),
		"another name": of(rec(history.SideStorage, "n", "z", "u", "c", 1), b), "one object less": of(a), "one twice": of(a, b, b),
	} {
		if other == want || len(other) != 64 {
			t.Errorf("%s: %q", what, other)
		}
	}
	if d := of(a, rec(history.SideStorage, "n", "old", "u", "", 1)); d != "" {
		t.Errorf("of unknown contents: %s", d)
	}
}
