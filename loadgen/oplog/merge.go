package oplog

import (
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
	stem, ext, dotted := strings.Cut(name, ".")
	name = fmt.Sprintf("%s-%d", stem, i)
	if dotted {
		name += "." + ext
	}
	return dir + name
}

// Merge makes one log at path of the parts that shards wrote, by the times of the answers, with one record of each in memory.
// Parts that are whole are then removed. Of a part whose writer died the records up to there are taken; cut has its
// index. After an error no part is removed, and nothing is at path that was not there before.
func Merge(path string, parts []string) (cut []int, err error) {
	temporary := path + ".merging"
	out, err := Create(temporary)
	if err != nil {
		return nil, err
	}
	cut, err = merge(out, parts)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("merging op logs: %w", err), os.Remove(temporary))
	}
	for i, part := range parts {
		if !slices.Contains(cut, i) {
			err = errors.Join(err, os.Remove(part))
		}
	}
	return cut, err
}

// head is the next record of a part.
type head struct {
	record Record
	next   func() (Record, error, bool)
	more   bool
}

func merge(out *Writer, parts []string) (cut []int, err error) {
	heads := make([]*head, len(parts))
	advance := func(i int) error {
		h := heads[i]
		var err error
		if h.record, err, h.more = h.next(); errors.Is(err, ndjson.ErrTruncated) {
			cut, h.more, err = append(cut, i), false, nil
		}
		return err
	}
	for i, part := range parts {
		next, stop := iter.Pull2(ReadFile(part))
		defer stop()
		heads[i] = &head{next: next}
		if err := advance(i); err != nil {
			return nil, err
		}
	}
	for {
		first := -1
		for i, h := range heads {
			if h.more && (first < 0 || h.record.Finished < heads[first].record.Finished) {
				first = i
			}
		}
		if first < 0 {
			return cut, nil
		}
		out.Append(heads[first].record)
		if err := advance(first); err != nil {
			return nil, err
		}
	}
}
