package oplog

import (
	"errors"
	"iter"
	"os"
)

// Merge writes the records of several logs to one at path, in the order in which requests
// were answered; each log keeps its own order. On an error there is
// none at path.
func Merge(path string, logs ...string) (err error) {
	type source struct {
		head Record
		next func() (Record, error, bool)
	}
	var open []*source
	for _, log := range logs {
		next, stop := iter.Pull2(ReadFile(log))
		defer stop()
		s := &source{next: next}
		r, err, ok := next()
		switch {
		case !ok:
			continue // no records
		case err != nil:
			return err
		}
		s.head = r
		open = append(open, s)
	}
	w, err := Create(path)
	if err != nil {
		return err
	}
	for len(open) > 0 {
		least := 0
		for i, s := range open {
			if s.head.Finished < open[least].head.Finished {
				least = i
			}
		}
		w.Append(open[least].head)
		r, err, ok := open[least].next()
		switch {
		case !ok:
			open = append(open[:least], open[least+1:]...)
		case err != nil:
			return errors.Join(err, w.Close(), os.Remove(path))
		default:
			open[least].head = r
		}
	}
	return w.Close()
}
