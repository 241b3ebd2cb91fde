package oracle

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestSpoiledReaders spoils the records of readers at random, has the judge assess them, and
// computes them a second time: what a good record does not show, both see alike.
func TestSpoiledReaders(t *testing.T) {
	if *folders != "" {
		t.Skip("the folders that were asked for are not spoiled")
	}
	const rounds = 16
	seen := map[string]int{}
	for seed := range uint64(rounds) {
		dir := unpacked(t, "testdata/readers")
		rng := rand.New(rand.NewPCG(seed, 0))
		var did []string
		for _, cell := range []string{"reads", "apiserver", "hooks"} {
			path := filepath.Join(dir, "cells", cell, history.FileReaders)
			log := collected(t, readers.ReadFile(path), nil)
			for range rng.IntN(10) {
				s := spoilers[rng.IntN(len(spoilers))]
				if log = s.spoil(rng, log); !slices.Contains(did, cell+": "+s.name) {
					did = append(did, cell+": "+s.name)
				}
			}
			rewrite(t, path, log)
		}
		res, err := assess.Run(t.Context(), dir)
		if err != nil {
			t.Fatalf("seed %d, %q: %v", seed, did, err)
		}
		for i := range res.Cells {
			have := leavesOf(t, res.Cells[i])
			r := load(t, filepath.Join(dir, "cells", res.Cells[i].ID))
			for _, d := range compare(r, compute(t, r), have) {
				t.Errorf("seed %d, %q: %s: %s", seed, did, res.Cells[i].ID, d)
			}
			for _, check := range []string{"R1", "R2", "R3"} {
				seen[fmt.Sprint(check, " ", have["checks."+check+".verdict"])]++
			}
			for _, figure := range []string{"list.errors.objects are missing", "get.errors.429", "watches.missed", "watches.resumed", "watches.relisted", "webhooks.repeated", "webhooks.missed"} {
				if n, _ := have["readers."+figure].(float64); n > 0 {
					seen[figure]++
				}
			}
		}
	}
	if want := 3*3 + 7; len(seen) != want { // three checks pass, fail, and are not asked
		t.Errorf("%d of %d things are to be seen in the spoiled records: %v", len(seen), want, seen)
	}
}

// spoilers each change a record in one place, if it has what they change.
var spoilers = []struct {
	name  string
	spoil func(*rand.Rand, []readers.Record) []readers.Record
}{
	{"refused", edit(readers.Get, func(_ *rand.Rand, r *readers.Record) { r.Code, r.Items = 429, 0 })},
	{"no answer", edit(readers.Get, func(_ *rand.Rand, r *readers.Record) { r.Code, r.Items, r.Error = 0, 0, "EOF" })},
	{"given up", edit(readers.List, func(_ *rand.Rand, r *readers.Record) { r.Items, r.Error = 0, readers.CutOff })},
	{"not finished", edit(readers.List, func(_ *rand.Rand, r *readers.Record) { r.Items, r.Error = 0, readers.Timeout })},
	{"cut body", edit(readers.List, func(_ *rand.Rand, r *readers.Record) { r.Items, r.Error = 0, "the body is not complete" })},
	{"short list", edit(readers.List, func(g *rand.Rand, r *readers.Record) { r.Items -= g.Int64N(3) })},
	{"another object", edit(readers.Get, func(_ *rand.Rand, r *readers.Record) { r.Items, r.Error = 0, "it is not the object asked for" })},
	{"no GET", drop(readers.Get)},
	{"no event", drop(readers.Event)},
	{"no delivery", drop(readers.Delivery)},
	{"another type", edit(readers.Event, func(_ *rand.Rand, r *readers.Record) { r.Type = "MODIFIED" })},
	{"another uid", edit(readers.Delivery, func(_ *rand.Rand, r *readers.Record) { r.UID = "x" })},
	{"another version", edit(readers.Event, func(g *rand.Rand, r *readers.Record) { r.Version += g.Uint64N(40) })},
	{"early bookmark", edit(readers.Event, func(_ *rand.Rand, r *readers.Record) { r.Type, r.UID = "BOOKMARK", "" })},
	{"failed", edit(readers.Delivery, func(_ *rand.Rand, r *readers.Record) { r.Code = 503 })},
	{"unsigned", edit(readers.Delivery, func(_ *rand.Rand, r *readers.Record) { r.Signed = false })},
	{"no event at all", edit(readers.Delivery, func(_ *rand.Rand, r *readers.Record) { r.Code, r.Error = 400, "its body is not an event" })},
	{"late delivery", edit(readers.Delivery, func(_ *rand.Rand, r *readers.Record) { r.Started += 3e8; r.Ended += 3e8 })},
	{"clock", edit(readers.Get, func(_ *rand.Rand, r *readers.Record) { r.Started += 2e9 })},
	{"event again", twice(readers.Event)},
	{"delivery again", twice(readers.Delivery)},
	{"resumed", reopened(0)},
	{"relisted", reopened(410)},
}

// pick finds a record of a kind, but none of the control's.
func pick(g *rand.Rand, log []readers.Record, what string) (int, bool) {
	var at []int
	for i, r := range log {
		if r.What == what && (r.Reader != readers.Control || r.Intended != 0) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return 0, false
	}
	return at[g.IntN(len(at))], true
}

func edit(what string, how func(*rand.Rand, *readers.Record)) func(*rand.Rand, []readers.Record) []readers.Record {
	return func(g *rand.Rand, log []readers.Record) []readers.Record {
		if i, ok := pick(g, log, what); ok {
			how(g, &log[i])
		}
		return log
	}
}

func drop(what string) func(*rand.Rand, []readers.Record) []readers.Record {
	return func(g *rand.Rand, log []readers.Record) []readers.Record {
		if i, ok := pick(g, log, what); ok {
			log = slices.Delete(log, i, i+1)
		}
		return log
	}
}

// twice repeats a record later.
func twice(what string) func(*rand.Rand, []readers.Record) []readers.Record {
	return func(g *rand.Rand, log []readers.Record) []readers.Record {
		if i, ok := pick(g, log, what); ok {
			r := log[i]
			r.Started += 1e8
			r.Ended += 1e8
			log = slices.Insert(log, i+1+g.IntN(len(log)-i), r)
		}
		return log
	}
}

// reopened ends a watch after an event. One that begins anew lacks up to three more.
func reopened(code int) func(*rand.Rand, []readers.Record) []readers.Record {
	return func(g *rand.Rand, log []readers.Record) []readers.Record {
		i, ok := pick(g, log, readers.Event)
		if !ok {
			return log
		}
		closed := readers.Record{What: readers.Closed, Reader: log[i].Reader, Version: log[i].Version, Code: code, Ended: log[i].Ended + 1}
		opened := readers.Record{What: readers.Opened, Reader: log[i].Reader, Version: log[i].Version, Code: 200, Ended: log[i].Ended + 2}
		skip := 0
		if code != 0 {
			skip = g.IntN(4)
		}
		for j := i + 1; j < len(log) && skip > 0; j++ {
			if log[j].What == readers.Event && log[j].Reader == opened.Reader && log[j].Version > opened.Version {
				opened.Version, skip = log[j].Version, skip-1
				log = slices.Delete(log, j, j+1)
				j--
			}
		}
		return slices.Insert(log, i+1, closed, opened)
	}
}

// rewrite replaces a record.
func rewrite(t *testing.T, path string, log []readers.Record) {
	t.Helper()
	w, err := readers.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range log {
		w.Append(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
