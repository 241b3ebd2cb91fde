package synchronizer

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/watcher/object"
)

// suspect is an object whose record seems to differ.
type suspect struct {
	object.Key
	// uid is set for a record of the cluster scope that no object of its kind can have: storage takes a key without a
	// namespace for one in any namespace, so the uid alone names it (contract §1.5).
	uid string
	// proven says that the page shows the record to be missing or older than expected, and
	// that nothing was on its way meanwhile: it need not be read by itself.
	proven   bool
	expected expected // when that was so
	leftover bool     // no object is expected
	row      string   // of a leftover in shards by uid: the record's uid
	newer    bool     // the record is newer than the object
	missing  bool     // there is no record
	version  uint64   // of the record, 0: none, or no number
}

// expected is the part of an Expectation that a suspect keeps.
type expected struct {
	uid     string
	version uint64
}

// findings are the results for one kind.
type findings struct {
	mu       sync.Mutex // guards the rest
	repaired int
	open     int   // something is on its way, so that nothing could be said
	failed   int   // reads in a row
	err      error // the first
	over     bool
	first    bool // of a first list: sending what storage lacks does not count as a repair
}

const (
	// mostFailures is how many reads in a row may fail before storage is taken for down
	// and the kind is left to the next round.
	mostFailures = 3
	// mostLogged is how many repairs of a kind get a log line of their own per comparison.
	mostLogged = 10
)

// kind compares one kind and repairs what differs. Of open objects something is on its
// way, so that nothing could be said.
func (s *Synchronizer) kind(ctx context.Context, kind string) (repaired, open int, err error) {
	c := s.suspects(ctx, kind, s.wholly(kind), false)
	if c.err != nil {
		return 0, 0, c.err
	}
	f := findings{open: c.open}
	s.settleAll(ctx, kind, c.suspects, &f)
	return f.repaired, f.open, f.err
}

// settleAll examines suspects: those to be read a limited number at a time, the proven ones one after the other.
func (s *Synchronizer) settleAll(ctx context.Context, kind string, suspects []suspect, f *findings) {
	s.metrics.repairs.WithLabelValues(kind) // from 0, so that the first repair is an increase
	waiting := s.metrics.waiting.WithLabelValues(kind)
	waiting.Set(float64(len(suspects)))
	defer waiting.Set(0)
	var g errgroup.Group
	for i, x := range suspects {
		waiting.Set(float64(len(suspects) - i))
		if f.ended() {
			break
		}
		if x.proven {
			s.take(ctx, f, x)
			continue
		}
		s.reading <- struct{}{}
		if f.ended() {
			<-s.reading
			break
		}
		g.Go(func() error {
			defer func() { <-s.reading }()
			s.take(ctx, f, x)
			return nil
		})
	}
	_ = g.Wait()
}

func (f *findings) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// finding is the outcome for a suspect.
type finding uint8

const (
	innocent   finding = iota
	undecided          // something is on its way
	unread             // storage did not answer
	repairing          // handed over
	offered            // handed over again, after storage refused the same
	unrepaired         // could not be handed over
)

// take examines a suspect and notes what became of it.
func (s *Synchronizer) take(ctx context.Context, f *findings, x suspect) {
	what, err := s.examine(ctx, x, f.first)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = cmp.Or(f.err, err)
	switch what {
	case undecided:
		f.open++
		return // it may not have been read
	case unread:
		f.failed++
		f.over = f.over || f.failed >= mostFailures // till then the others are not held up
		return
	case repairing:
		if f.repaired++; f.first && !x.leftover {
			break
		}
		s.metrics.repairs.WithLabelValues(x.Kind).Inc()
		if f.repaired <= mostLogged && s.differs == nil {
			s.set.Logger.Info("storage differs, repaired", "object", x.Key)
		}
	case unrepaired:
		f.over = true
	}
	f.failed = 0
}

// examine repairs one suspect if it differs. Of a first list, what cannot be read is sent all the same, behind what
// is on its way, and a newer record is left to the next comparison: the apiserver may be behind.
func (s *Synchronizer) examine(ctx context.Context, x suspect, first bool) (finding, error) {
	if x.leftover && x.uid == "" && s.set.Cache.Unreadable(x.Key) {
		return innocent, nil
	}
	behind := first && !x.leftover && !x.proven && s.set.Pipeline.Pending(x.Key)
	if first && x.newer || !behind && s.set.Pipeline.Pending(x.Key) {
		return undecided, nil
	}
	if !x.proven && !behind {
		switch differs, err := s.confirm(ctx, x); {
		case errors.Is(err, errOpen):
			return undecided, nil
		case err != nil && first && !x.leftover:
		case err != nil:
			return unread, err
		case !differs:
			return innocent, nil
		}
	}
	if err := s.set.Pipeline.Spare(ctx, x.Kind); err != nil {
		return unrepaired, err
	}
	if !behind && s.set.Pipeline.Pending(x.Key) || x.proven && s.overtaken(x) {
		return undecided, nil
	}
	refused := s.set.Pipeline.Refused(x.Key)
	if err := s.repair(ctx, x); err != nil {
		return unrepaired, err
	}
	if refused {
		return offered, nil
	}
	return repairing, nil
}

func (s *Synchronizer) repair(ctx context.Context, x suspect) error {
	if s.differs != nil {
		s.differs(x)
		return nil
	}
	if x.uid != "" {
		return s.set.Cache.Remove(ctx, x.Key, x.uid)
	}
	uid := ""
	if s.cfg.Shard.ByUID {
		uid = cmp.Or(x.row, x.expected.uid)
	}
	return s.set.Cache.Repair(ctx, x.Key, uid)
}

// overtaken reports that the object has changed since it was compared, and that its change is on
// its way. A Node's change may be a heartbeat, which is not sent.
func (s *Synchronizer) overtaken(x suspect) bool {
	e, expected := s.set.Cache.Expectation(x.Key)
	return !expected || e.UID != x.expected.uid || e.Version > x.expected.version && x.Kind != kindNode
}

// errOpen says that something of an object was on its way, or came, while its record was read: it may have reached
// storage since, and the record only looks old.
var errOpen = errors.New("something of the object was on its way while its record was read")

// confirm reads the one record and compares it with the cache as it is now.
func (s *Synchronizer) confirm(ctx context.Context, x suspect) (differs bool, err error) {
	before, was := s.set.Cache.Expected(x.Key)
	if s.set.Pipeline.Pending(x.Key) {
		return false, errOpen
	}
	rec, found, err := s.set.Storage.Get(ctx, x.Key, x.uid)
	if err != nil {
		return false, err
	}
	o, expected := s.set.Cache.Expected(x.Key)
	if was != expected || expected && (before.UID != o.UID || before.ResourceVersion != o.ResourceVersion) {
		return false, errOpen
	}
	switch {
	case found && x.Namespace == "" && rec.Namespace != "":
		// A leftover in a namespace answers for it; once that is gone, there is an answer.
		return false, errOpen
	case !found || !expected:
		return expected || found && s.ours(x.Kind, rec.Data), nil
	}
	return !Same(x.Kind, rec.Data, o.JSON()), nil
}
