package check

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/watchbench/watchbench/scenarios/history"
)

// Load opens the history in a cell's folder. history.json and the ledger must be there; without op log, state, marks or
// samples the checks that need them are not judged. The big files are read by Judge, not here.
func Load(dir string) (*History, error) {
	h := &History{Dir: dir}
	if err := history.LoadJSON(dir, history.FileMeta, &h.Meta); err != nil {
		return nil, err
	}
	if err := h.Validate(); err != nil {
		return nil, &history.FormatError{File: filepath.Join(dir, history.FileMeta), Err: err}
	}
	var err error
	if h.Ledger, err = history.Ledger(dir); err != nil {
		return nil, err
	}
	if h.Ledger == nil {
		return nil, &history.FormatError{File: filepath.Join(dir, history.FileLedger),
			Err: errors.New("no ledger in this folder: is it the folder of one cell?")}
	}
	if h.Ops, err = history.Ops(dir); err != nil {
		return nil, err
	}
	if h.State, err = history.State(dir); err != nil {
		return nil, err
	}
	if h.Former, err = history.Former(dir); err != nil {
		return nil, err
	}
	if h.Marks, err = history.LoadLines[history.Mark](dir, history.FileMarks); err != nil {
		return nil, err
	}
	if h.Samples, err = history.LoadLines[history.Sample](dir, history.FileSamples); err != nil {
		return nil, err
	}
	// A reading asked for between two ticks may have been noted before that of a tick.
	slices.SortStableFunc(h.Samples, func(a, b history.Sample) int { return cmp.Compare(a.Time, b.Time) })
	return h, nil
}

// Validate reports what the judge could not work with.
func (m *Meta) Validate() error {
	switch m.Mode {
	case "", ModeFaithful, ModeConditional:
	default:
		return fmt.Errorf("mode %q: want %s or %s", m.Mode, ModeFaithful, ModeConditional)
	}
	for i, mask := range m.Rules.Masks {
		if mask.Kind == "" || len(mask.Path) == 0 {
			return fmt.Errorf("rules.masks[%d]: want a kind and a path", i)
		}
	}
	return nil
}
