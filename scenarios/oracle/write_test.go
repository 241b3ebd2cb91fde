package oracle

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// saveLedger replaces a cell's ledger.
func saveLedger(t *testing.T, dir string, entries []ledger.Entry) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, history.FileLedger))
	if err != nil {
		t.Fatal(err)
	}
	err = ledger.WriteZstd(f, slices.Values(entries))
	info, serr := f.Stat()
	if err := errors.Join(err, serr, f.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := history.LoadCell(dir)
	if err == nil {
		c.LedgerBytes = info.Size()
		err = history.SaveJSON(dir, history.FileCell, c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// collected are the values of a record.
func collected[T any](t *testing.T, seq iter.Seq2[T, error], err error) (all []T) {
	t.Helper()
	for v, e := range seq {
		if err = errors.Join(err, e); err != nil {
			break
		}
		all = append(all, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
