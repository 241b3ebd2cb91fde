package synchronizer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/watcher/object"
)

// fields are what a comparison needs of a record: all of the object, since a
// record that was edited in place keeps its version.
const fields = "namespace,resourceName,data"

// suspect is an object whose record seems to differ.
type suspect struct {
	object.Key
	// uid is set for a record of the cluster scope that no object of its kind can have:
	// the record is then meant by its uid alone, because storage takes a key without a
	// namespace for one in any namespace (contract §1.5).
	uid string
}

// findings are those of one kind.
type findings struct {
	mu       sync.Mutex // guards the rest
	repaired int
	open     int   // something is on its way, so that nothing could be said
	failed   int   // reads in a row
	err      error // the first
	over     bool
}

// mostFailures is how many reads in a row may fail before storage is taken for down and
// the kind is left to the next round.
const mostFailures = 3

// kind compares one kind and repairs what is confirmed to differ. Of open objects
// something is on its way, so that nothing could be said.
func (s *Synchronizer) kind(ctx context.Context, kind string) (repaired, open int, err error) {
	suspects, err := s.suspects(ctx, kind)
	if err != nil {
		return 0, 0, err
	}
	var f findings
	var g errgroup.Group
	for _, x := range suspects {
		s.reading <- struct{}{}
		if f.ended() {
			<-s.reading
			break
		}
		g.Go(func() error {
			defer func() { <-s.reading }()
			what, err := s.examine(ctx, x)
			f.take(what, err)
			return nil
		})
	}
	_ = g.Wait()
	return f.repaired, f.open, f.err
}

func (f *findings) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// finding is what became of a suspect.
type finding uint8

const (
	innocent   finding = iota
	undecided          // something is on its way
	unread             // storage did not answer
	repairing          // handed over
	unrepaired         // could not be handed over
)

func (f *findings) take(what finding, err error) {
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
		f.repaired++
	case unrepaired:
		f.over = true
	}
	f.failed = 0
}

// examine repairs one suspect if it is confirmed to differ.
func (s *Synchronizer) examine(ctx context.Context, x suspect) (finding, error) {
	if s.set.Pipeline.Pending(x.Key) {
		return undecided, nil
	}
	differs, err := s.confirm(ctx, x)
	switch {
	case errors.Is(err, errOpen):
		return undecided, nil
	case err != nil:
		return unread, err
	case !differs:
		return innocent, nil
	case s.set.Pipeline.Pending(x.Key):
		return undecided, nil
	}
	if x.uid != "" {
		err = s.set.Cache.Remove(ctx, x.Key, x.uid)
	} else {
		err = s.set.Cache.Repair(ctx, x.Key)
	}
	if err != nil {
		return unrepaired, err
	}
	s.metrics.repairs.WithLabelValues(x.Kind).Inc()
	s.set.Logger.Info("storage differs, repaired", "object", x.Key)
	return repairing, nil
}

// suspects pages through what storage holds of a kind and names what seems to
// differ: changed records and leftovers as they come, then what is missing. The
// list in the cluster scope has no namespace condition (contract §1.5), so it
// finds the leftovers of namespaces that are gone.
func (s *Synchronizer) suspects(ctx context.Context, kind string) ([]suspect, error) {
	var out []suspect
	seen := map[object.Key]bool{}
	for offset := 0; ; offset += s.cfg.PageSize {
		if err := s.limit.Wait(ctx); err != nil {
			return nil, err
		}
		page, err := s.set.Storage.List(ctx, kind, s.cfg.Namespace, fields, s.cfg.PageSize, offset)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			k := object.Key{Kind: kind, Namespace: r.Namespace, Name: r.Name}
			if k.Namespace == "" {
				k.Namespace = s.cfg.Namespace
			}
			if seen[k] {
				continue
			}
			seen[k] = true
			o, expected := s.set.Cache.Expected(k)
			switch {
			case expected && !same(kind, r.Data, o.JSON()):
				out = append(out, suspect{Key: k})
			case !expected && s.ours(kind, r.Data):
				if x, ok := s.leftover(k, r.Data); ok {
					out = append(out, x)
				}
			}
		}
		if len(page) < s.cfg.PageSize {
			break
		}
	}
	for _, k := range s.set.Cache.ExpectedKeys(kind) {
		if !seen[k] {
			out = append(out, suspect{Key: k})
		}
	}
	return out, nil
}

// ours reports whether a record that no object was cached for is this watcher's to
// remove. With a label selector for the kind, what it does not select may be another
// watcher's.
func (s *Synchronizer) ours(kind string, record []byte) bool {
	selector := s.cfg.Selectors[ownKind(kind)]
	if selector == nil {
		return true
	}
	var o struct {
		Metadata struct{ Labels map[string]string }
	}
	return json.Unmarshal(record, &o) == nil && selector.Matches(labels.Set(o.Metadata.Labels))
}

// ownKind is an object's own kind, without what tells it in storage from those of
// other groups.
func ownKind(kind string) string {
	own, _, _ := strings.Cut(kind, ".")
	return own
}

// leftover is the suspect for a record that no object was cached for; false where it
// cannot be removed without others.
func (s *Synchronizer) leftover(k object.Key, record []byte) (suspect, bool) {
	if k.Namespace != "" || s.set.Cache.ClusterScoped(k.Kind) {
		return suspect{Key: k}, true
	}
	m, err := object.Scan(record)
	if err != nil || m.UID == "" {
		s.set.Logger.Warn("a record of the cluster scope has no uid and stays: storage would remove the records of that name in all namespaces with it", "object", k)
		return suspect{}, false
	}
	return suspect{k, m.UID}, true
}

// errOpen says that something of an object was on its way, or came, while its record was
// read. It may have reached storage since, and nobody waits for it any more: the record
// only looks old.
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
	return !same(x.Kind, rec.Data, o.JSON()), nil
}

// kindNode is the kind whose heartbeats are not sent.
const kindNode = "Node"

// same compares two objects of a kind by their values, without the heartbeats of a Node.
// Storage decodes what it is sent: it need not keep the order of keys, nor how a number
// is written, nor more of it than a double holds.
func same(kind string, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var va, vb any
	if json.Unmarshal(a, &va) != nil || json.Unmarshal(b, &vb) != nil {
		return false
	}
	if kind == kindNode {
		for _, path := range object.HeartbeatPaths {
			cut(va, path)
			cut(vb, path)
		}
	}
	return reflect.DeepEqual(va, vb)
}

// cut removes the field that a path names; "*" is any index.
func cut(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
			return
		}
		cut(v[path[0]], path[1:])
	case []any:
		for _, e := range v {
			if path[0] == "*" && len(path) > 1 {
				cut(e, path[1:])
			}
		}
	}
}
