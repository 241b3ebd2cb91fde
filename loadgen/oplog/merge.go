package oplog

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/ndjson"
)

// PartPath is where shard number i keeps its part of the log at path: ops-2.ndjson.zst beside ops.ndjson.zst.
func PartPath(path string, i int) string {
	dir, name := filepath.Split(path)
	stem, ext, _ := strings.Cut(name, ".")
	return dir + strings.TrimSuffix(fmt.Sprintf("%s-%d.%s", stem, i, ext), ".")
}

// Part is what the log of one shard has.
type Part struct {
	Shard   int   // 0: it has no record
	Written int64 // acknowledged operations of the load
	Cut     bool  // it has no end mark: its writer was killed
}

// ErrParts means that logs are not those of several shards, each once.
var ErrParts = errors.New("each part must be the log of another shard, and none the whole")

// Merge makes one log at path of those of shards, by the times of the answers, with one record of each in memory, and
// removes them. One that is cut stays; what it has is taken. After an error all are as they were, and so is path.
func Merge(path string, parts []string) ([]Part, error) {
	temporary := path + ".merging"
	out, err := Create(temporary)
	if err != nil {
		return nil, err
	}
	all, err := merge(out, path, parts)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("merging op logs: %w", err), os.Remove(temporary))
	}
	for i, part := range parts {
		if !all[i].Cut {
			err = errors.Join(err, os.Remove(part))
		}
	}
	return all, err
}

// head is the next record of a part.
type head struct {
	*Part
	path   string
	next   func() (Record, error, bool)
	record Record
}

func merge(out *Writer, path string, parts []string) ([]Part, error) {
	all, byShard := make([]Part, len(parts)), map[int]*head{}
	var heads []*head // of parts that have a further record
	advance := func(h *head) (err error) {
		var more bool
		h.record, err, more = h.next()
		if h.Cut = errors.Is(err, ndjson.ErrTruncated); h.Cut || err == nil && !more {
			heads = slices.DeleteFunc(heads, func(other *head) bool { return other == h })
			return nil
		}
		s := h.record.Shard
		if of := byShard[s]; err == nil && (s == 0 || of != nil && of != h || h.Shard != 0 && h.Shard != s) {
			err = fmt.Errorf("%w: %s has records of shard %d", ErrParts, h.path, s)
		}
		h.Shard, byShard[s] = s, h
		return err
	}
	there, _ := os.Stat(path)
	for i, part := range parts {
		if info, err := os.Stat(part); err == nil && os.SameFile(info, there) {
			return nil, fmt.Errorf("%w: %s", ErrParts, part)
		}
		next, stop := iter.Pull2(ReadFile(part))
		defer stop()
		h := &head{Part: &all[i], path: part, next: next}
		heads = append(heads, h)
		if err := advance(h); err != nil {
			return nil, err
		}
	}
	for len(heads) > 0 {
		h := slices.MinFunc(heads, func(a, b *head) int { return cmp.Compare(a.record.Finished, b.record.Finished) })
		r := h.record
		if out.Append(r); r.Phase == PhaseLoad && !r.Bystander && r.Type != TypeHeartbeat && r.OK() {
			h.Written++
		}
		if err := advance(h); err != nil {
			return nil, err
		}
	}
	return all, nil
}
