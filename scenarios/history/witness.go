package history

import (
	"iter"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// FileWitness is the record of a witness in a cell with controllers: records of the phase
// oplog.PhaseWitnessed, the load's own writes among them. See record.Witness.
const FileWitness = "witness.ndjson.zst"

// version is one state of an object, or with rv 0 its end.
type version struct {
	uid string
	rv  uint64
}

// withWitnessed adds to an op log the writes that only the witness knows, each where it
// received them. What the load wrote is left to its own record, which knows more of it.
func withWitnessed(ops, seen iter.Seq2[oplog.Record, error]) iter.Seq2[oplog.Record, error] {
	return func(yield func(oplog.Record, error) bool) {
		ours := map[version]bool{}
		for r, err := range ops {
			if err != nil {
				yield(r, err)
				return
			}
			if r.OK() {
				ours[versionOf(&r)] = true
			}
		}
		next, stop := iter.Pull2(seen)
		defer stop()
		w, err, more := next()
		// upTo yields what was witnessed until then, the load's own left out.
		upTo := func(until int64) bool {
			for more && (err != nil || w.Finished <= until) {
				if (err != nil || !ours[versionOf(&w)]) && !yield(w, err) || err != nil {
					return false
				}
				w, err, more = next()
			}
			return true
		}
		for r, err := range ops {
			if !upTo(r.Finished) || !yield(r, err) || err != nil {
				return
			}
		}
		upTo(endOfTime)
	}
}

const endOfTime = 1<<63 - 1

func versionOf(r *oplog.Record) version {
	if r.Type == oplog.TypeDelete {
		return version{uid: r.UID}
	}
	return version{r.UID, r.ResourceVersion}
}
