package oracle

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

type entry struct {
	Row, Title, Scenario, Cell, Dir, FirstTry, Error, NotBuilt string
	Columns                                                    map[string]struct {
		Verdict, Value  string
		Power, MinPower *int64
	}
	Facts []fact
	Fired map[string]int64
	Keys  map[string]int64
}

type fact struct {
	Column, Name string
	Value        *float64
	Limit        *float64
	OK           bool
}

// notComputed are the facts of the matrix without a second computation, and why.
var notComputed = map[string]string{
	"attempts while storage was down":           "its limit is made of the backoff's steps, which are the watcher's",
	"watchers that did not exit cleanly":        "the marks have the exit codes; the rule for those that must refuse storage is the code's",
	"catch-up after storage came back":          "measured while the load went on, by comparing both sides' states",
	"acknowledged rows that were written again": "what was settled before storage died is a matter of the code's 500 ms",
	"panics logged":                             "needs the logs, which are not part of a cell's record",
}

// matrices are the folders among those asked for that hold a matrix.
func matrices() (dirs []string) {
	for _, dir := range asked() {
		if _, err := os.Stat(filepath.Join(dir, "matrix.json")); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// TestMatrix computes the facts and verdicts of matrix.json a second time.
func TestMatrix(t *testing.T) {
	dirs := matrices()
	if len(dirs) == 0 && *folders == "" {
		t.Fatal("no matrix")
	}
	for _, dir := range dirs {
		var m struct{ Entries []entry }
		readJSON(t, filepath.Join(dir, "matrix.json"), &m)
		var campaign struct {
			Runs []struct {
				Scenario, Dir, Error string
				Try                  int
			}
		}
		readJSON(t, filepath.Join(dir, "matrix-run.json"), &campaign)
		for _, e := range m.Entries {
			if e.Cell == "" || e.Error != "" {
				continue
			}
			t.Run(e.Scenario+"/"+e.Cell, func(t *testing.T) {
				for _, run := range campaign.Runs {
					if run.Dir == e.Dir && run.Try < 2 && e.FirstTry != "" {
						t.Error("a first try is given for a run that was the first")
					}
				}
				r := load(t, filepath.Join(dir, e.Dir, "cells", e.Cell))
				for _, d := range r.against(t, filepath.Join(dir, e.Dir), e) {
					t.Error(d)
				}
			})
		}
	}
}

var outage = regexp.MustCompile(`from=(\w+),for=(\w+)`)

// facts computes what it can of an entry's facts, by name.
func (r *record) facts(t *testing.T, changes []change) map[string]float64 {
	out := map[string]float64{"changes that never arrived": 0}
	objects := r.objects()
	longest, others := 0.0, []int64{}
	for _, c := range changes {
		from := c.Intended
		if f := r.cell.Scenario.Fault; c.Bystander && f != nil && f.FromAnswer {
			from = c.Finished
		}
		switch {
		case c.stored != 0:
			longest = max(longest, seconds(c.stored-c.Intended))
			if c.Bystander {
				others = append(others, c.stored-from)
			}
		case !objects[c.key()][c.UID].deleted:
			out["changes that never arrived"]++
		}
	}
	out["longest delay of a change"] = milliseconds(longest)
	if q := quantiles(others, 1); q != nil {
		p99, _ := q["p99"].(float64)
		out["bystander freshness p99"] = milliseconds(p99)
	}
	// An outage that the scenario times: from the end of it until storage had all that
	// happened before.
	for _, text := range r.cell.Scenario.Storage.Faults {
		m := outage.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		from, err := time.ParseDuration(m[1])
		if err != nil {
			t.Fatal(err)
		}
		length, err := time.ParseDuration(m[2])
		if err != nil {
			t.Fatal(err)
		}
		end := r.cell.FaultsSet + int64(from+length)
		last := end
		for _, c := range changes {
			if c.Finished <= end {
				last = max(last, c.stored)
			}
		}
		out["recovery after the fault"] = milliseconds(seconds(last - end))
	}
	requests, states := 0.0, map[string]bool{}
	for i := range r.ledger {
		q := &r.ledger[i]
		if !q.mine() || q.Received < r.cell.LoadStarted {
			continue
		}
		requests++
		switch {
		case !q.took():
		case q.Method == "PUT":
			states[fmt.Sprint(q.UID, q.ResourceVersion)] = true
		default:
			states[fmt.Sprint(q.key(), "deleted", q.Received)] = true
		}
	}
	out["write attempts per state"] = milliseconds(requests / float64(len(states)))
	// After a failure, no state is sent whose deletion was answered more than 2 s before.
	failing := map[key]bool{}
	out["retries of what was deleted"] = 0
	for i := range r.ledger {
		q := &r.ledger[i]
		if !q.mine() {
			continue
		}
		x := objects[q.key()][q.UID]
		if failing[q.key()] && q.Method == "PUT" && x != nil && x.deleted && q.Received-x.deletedFinished > 2e9 {
			out["retries of what was deleted"]++
		}
		failing[q.key()] = q.Responded == 0 || q.Status >= 500
	}
	queued := 0.0
	for _, s := range r.samples {
		if s.QueueDepth != nil {
			queued = max(queued, *s.QueueDepth)
		}
	}
	out["events queued"] = queued
	// There is a series for each kind that was ever repaired.
	out["repairs of the synchronizer"], _ = r.after.sum("k8swatch_sync_repairs_total")
	return out
}

// milliseconds rounds to three decimals, as facts are published.
func milliseconds(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// columns are the checks that each column is judged by.
var columns = map[string][]string{
	"C": {"G1", "G9", "G12"}, "O": {"G2", "G3", "G4", "G5", "G10", "G11"}, "L": {"G6", "G14"},
	"B": {"G7"}, "I": {"G8"}, "S": {"G13"}, "A": nil, "T": nil, "X": nil,
}

// against lists where an entry differs. Checks that the oracle does not compute are
// taken from the run's results.json.
func (r *record) against(t *testing.T, run string, e entry) (out []string) {
	differ := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	want := compute(t, r)
	published := map[string]any{}
	for _, c := range cells(t, run) {
		if c.id == e.Cell {
			flatten(published, "", c.published)
		}
	}
	f := r.cell.Scenario.Fault
	if e.Row != f.Row || e.Title != f.Title {
		differ("row %s %q: the scenario has %s %q", e.Row, e.Title, f.Row, f.Title)
	}
	computed := r.facts(t, r.changes(r.cell.DrainEnd))
	failed := map[string]bool{}
	for _, x := range e.Facts {
		v, known := computed[x.Name]
		switch {
		case !known && notComputed[x.Name] == "":
			differ("fact %q: the oracle has none, and does not say why", x.Name)
		case known && x.Value == nil:
			differ("fact %q: unknown is published, the oracle has %v", x.Name, v)
		case known && math.Abs(v-*x.Value) > 1.5e-6:
			differ("fact %q: %v is published, the oracle has %v", x.Name, *x.Value, v)
		}
		ok := x.Value != nil && (x.Limit == nil || *x.Value <= *x.Limit)
		if ok != x.OK {
			differ("fact %q: %v of at most %v is published as ok: %v", x.Name, x.Value, x.Limit, x.OK)
		}
		if !ok {
			failed[x.Column] = true
		}
	}
	for name, checks := range columns {
		have, shown := e.Columns[name]
		asserted, measured := slices.Contains(f.Assert, name), slices.Contains(f.Measure, name)
		if shown != (asserted || measured) && name != "X" {
			differ("column %s: shown is %v, asserted %v, measured %v", name, shown, asserted, measured)
		}
		if !shown {
			continue
		}
		word, judged := "pass", len(checks) == 0
		if failed[name] {
			word = "fail"
		}
		for _, g := range checks {
			v, ok := want["checks."+g+".verdict"]
			if r.free("checks."+g+".verdict") || !ok {
				v = published["checks."+g+".verdict"]
			}
			switch v {
			case "fail":
				word = "fail"
			case "no-power":
				if word == "pass" && (g == "G2" || g == "G3") {
					word = "no-power"
				}
			}
			judged = judged || v != "not-judged"
		}
		switch {
		case measured:
			word = "measured"
		case !judged && word == "pass":
			word = "not-judged"
		}
		if have.Verdict != word {
			differ("column %s: %s is published, the oracle has %s", name, have.Verdict, word)
		}
		if name == "O" && have.Power != nil {
			least := int64(math.MaxInt64)
			for _, g := range []string{"G2", "G3"} {
				if p, ok := want["checks."+g+".power"].(float64); ok {
					least = min(least, int64(p))
				}
			}
			if *have.Power != least {
				differ("power of column O: %d is published, the oracle has %d", *have.Power, least)
			}
		}
	}
	for _, x := range append(r.cell.Fired, r.cell.WatchFired...) {
		if e.Fired[x.Name] != x.Fired || e.Keys[x.Name] != x.Keys {
			differ("fault %s: fired %d on %d keys is published, %d on %d recorded", x.Name, e.Fired[x.Name], e.Keys[x.Name], x.Fired, x.Keys)
		}
	}
	return out
}
