package render

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

type saved struct {
	name, kind, scenario, headline string
	outcome                        Cell
	started                        time.Time
}

// History lists the runs, fault matrices and searches in a folder, such as out, the newest first; nil if it holds none.
// A folder that is broken or half written is listed with the reason. Links are not followed.
func History(dir string) (*Document, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder: %w", err)
	}
	var all []saved
	for _, f := range found {
		if !f.IsDir() || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		if s, ok := read(filepath.Join(dir, f.Name())); ok {
			s.name = f.Name()
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(all, func(a, b saved) int {
		return cmp.Or(b.started.Compare(a.started), cmp.Compare(b.name, a.name))
	})
	s := Section{ID: "runs", Title: "All, newest first", Table: Table{
		Heads: Heads("folder", "outcome", "started (UTC)", "kind", "scenario", "headline")}}
	for _, x := range all {
		at := unknown
		if !x.started.IsZero() {
			at = x.started.UTC().Format("2006-01-02 15:04")
		}
		s.Table.Rows = append(s.Table.Rows, append([]Cell{{Text: x.name}, x.outcome}, Cells(at, x.kind, orUnknown(x.scenario),
			orUnknown(x.headline))...))
	}
	return &Document{Title: "Saved runs", Sections: []Section{s}}, nil
}

// read is false for a folder without a file of ours.
func read(dir string) (s saved, ok bool) {
	var err error
	has := func(name string) bool {
		info, err := os.Lstat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	}
	switch {
	case has(result.FileName):
		var res *result.Results
		if res, err = result.LoadFile(dir); err == nil {
			t := arrange(res)
			s = saved{"", "run", res.Run.Scenario, t.summary().Text, stateCell(t.outcome()), res.Run.Started}
			if decided := t.decided(); len(decided) > 0 {
				s.headline = decided[0]
			}
		}
	case has(result.MatrixFile):
		var m *result.Matrix
		if m, err = result.LoadMatrix(dir); err == nil {
			s = saved{"", "matrix", "profile " + orUnknown(m.Profile), matrixAnswer(m),
				stateCell(sumUp(m).state(m)), m.Started(dir)}
		}
	case has(result.TuningFile):
		var t *result.Tuning
		if t, err = result.LoadTuning(filepath.Join(dir, result.TuningFile)); err == nil {
			s = saved{"", "tuning", t.Scenario, t.Sentence, Cell{Text: "not met", Tone: Warn}, t.Started}
			if t.Met {
				s.outcome = Cell{Text: "met", Tone: Good}
			}
		}
	case has("run.json"), has("matrix-run.json"):
		err = errors.New("killed, or not finished yet; watchbench check writes its results")
	default:
		return s, false
	}
	if err != nil { // the folder's path is the reader's own
		s.outcome = Cell{Text: "not readable", Tone: Warn}
		s.headline = strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
	}
	return s, true
}

func stateCell(s state) Cell { return Cell{Text: string(s), Tone: s.tone()} }

func span(seconds float64) string {
	if seconds < 90 {
		return Brief(seconds) + " s"
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}
