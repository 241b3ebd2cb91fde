package synchronizer

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"hash/maphash"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// Fields of each record in a page: all, or those that identify its state.
const (
	wholeRecords = "namespace,resourceName,data"
	stateFields  = "namespace,resourceName,data.apiVersion,data.metadata.uid,data.metadata.resourceVersion"
)

const (
	// smallKind is how many objects a kind may have whose records are compared whole each
	// time, since a record that was edited in place keeps its version.
	smallKind = 1000
	// bodiesWithin is the time within which every record of a larger kind is read whole,
	// at least leastBodies of them at each comparison.
	bodiesWithin = 24 * time.Hour
	leastBodies  = 100

	// fewMissing is how many records may be missing that are looked for one by one all the
	// same, in case a storage keeps no order after all.
	fewMissing = 100

	pageBytes = 4 << 20     // of a page, about
	pageTime  = time.Minute // for one, as long as something comes
	mostRows  = 20_000      // of a page
	leastRows = 16          // of one that is smaller because a larger one failed
	rowBytes  = 120         // of a record besides its data
	// overlap is which part of a page the next one shows again. Storage does not sort, but keeps the order: as long
	// as a page begins with a record of the one before, none was skipped. So many may be deleted meanwhile.
	overlap = 10
)

// wholly reports whether the records of a kind are compared whole each time. Those of Nodes are: one of
// an older version may lack only heartbeats.
func (s *Synchronizer) wholly(kind string) bool {
	of := max(1, s.cfg.Shard.Of) // what is read is the whole kind
	return kind == kindNode || of*len(s.set.Cache.ExpectedKeys(kind)) <= smallKind
}

// isDue reports whether this is the comparison in which a record is read whole, n being the number of its kind.
func (s *Synchronizer) isDue(k object.Key, n int) bool {
	turns := min(max(1, int(bodiesWithin/s.cfg.Period)), max(1, n/leastBodies))
	h := fnv.New32a()
	_, _ = h.Write([]byte(k.Namespace + "/" + k.Name))
	return int(h.Sum32()%uint32(turns)) == int(s.round.Load()%int64(turns))
}

// outcome is the result of reading a kind.
type outcome struct {
	suspects []suspect
	open     int  // of which something was on its way meanwhile
	sound    bool // no record can have been skipped that was there all the time
	err      error
}

// suspects reads what storage holds of a kind and names what seems to differ: changed records as they come, what is
// missing, leftovers, also of namespaces that are gone, as the list in the cluster scope has no namespace condition
// (contract §1.5). Of a first list, what is on its way may be of another life of the kind: an object is a suspect all
// the same.
func (s *Synchronizer) suspects(ctx context.Context, kind string, whole, first bool) (out outcome) {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return outcome{err: context.Cause(ctx)}
	}
	keys := s.set.Cache.ExpectedKeys(kind)
	touched, end := s.set.Pipeline.Trace(kind)
	defer end()
	// Most may be of other shards: hashes are enough.
	seen, seed := make(map[uint64]struct{}, len(keys)), maphash.MakeSeed()
	var leftovers []suspect
	add := func(x suspect) {
		if touched(x.Key) {
			if !first || x.leftover {
				out.open++
				return
			}
			x.proven = false
		}
		if x.leftover {
			leftovers = append(leftovers, x)
		} else {
			out.suspects = append(out.suspects, x)
		}
	}
	var err error
	out.sound, err = s.lister.pages(ctx, kind, s.fields(kind, whole), func(r *storage.Record) (fresh bool) {
		k := object.Key{Kind: kind, Namespace: r.Namespace, Name: r.Name}
		if k.Namespace == "" {
			k.Namespace = s.cfg.Namespace
		}
		hash := maphash.Comparable(seed, k)
		if _, known := seen[hash]; known {
			return false
		}
		seen[hash] = struct{}{}
		switch e, expected := s.set.Cache.Expectation(k); {
		case expected:
			if x, differs := s.judge(k, e, r.Data, whole, len(keys)); differs {
				add(x)
			}
		case s.holds(k, r.Data) && s.ours(kind, r.Data):
			if x, ok := s.leftover(k, r.Data); ok {
				add(x)
			}
		}
		return true
	})
	if err != nil {
		return outcome{err: err}
	}
	keys = slices.DeleteFunc(keys, func(k object.Key) bool { _, found := seen[maphash.Comparable(seed, k)]; return found })
	out.suspects = slices.Grow(out.suspects, len(keys))
	for _, k := range keys {
		if e, is := s.set.Cache.Expectation(k); is {
			add(suspect{Key: k, missing: true, proven: out.sound && (first || len(keys) > fewMissing),
				expected: expected{e.UID, e.Version}})
		}
	}
	out.suspects = append(out.suspects, leftovers...)
	return out
}

// judge compares a record with what is expected of it. Data is the whole object or what stateFields shows of it.
func (s *Synchronizer) judge(k object.Key, e Expectation, data []byte, whole bool, n int) (x suspect, differs bool) {
	x = suspect{Key: k, expected: expected{e.UID, e.Version}}
	m, err := object.Scan(data)
	if err != nil {
		return x, true
	}
	v := m.Version()
	x.version = v
	x.newer = v > e.Version && e.Version != 0
	x.proven = v != 0 && v < e.Version && (k.Kind != kindNode || m.UID != e.UID)
	switch {
	case x.proven, m.UID != e.UID, !whole && (e.Version == 0 || v < e.Version || x.newer):
		return x, true
	case whole:
		o, is := s.set.Cache.Expected(k)
		return x, is && !Same(k.Kind, data, o.JSON())
	}
	// Another version of the API has other bodies under the same resourceVersion.
	moved := e.APIVersion != "" && string(jsonscan.Lookup(data, "apiVersion")) != strconv.Quote(e.APIVersion)
	return x, moved || !object.HasAnnotations(data, &m, e.Annotations) || s.isDue(k, n)
}

// lister reads what storage holds of a kind.
type lister struct {
	storage   Storage
	namespace string // empty: all
	size      int    // of the first page, in records
	limit     *rate.Limiter
}

// pages reads a kind page by page, sized by what comes; one that failed by its size, or got no answer, is halved. After
// the latter they grow back while they come quickly: storage may have been busy. fresh reports whether a record is new.
// The list is sound as in outcome.
func (l *lister) pages(ctx context.Context, kind, fields string, fresh func(*storage.Record) bool) (sound bool,
	err error) {
	sound = true
	size, most, fits := l.size, mostRows, mostRows
	for offset := 0; ; {
		if err := l.limit.Wait(ctx); err != nil {
			return false, err
		}
		began := time.Now()
		page, err := l.page(ctx, kind, fields, size, offset)
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if large := storage.TooLarge(err); (large || timedOut(err)) && size > leastRows {
			size = max(leastRows, size/2)
			if most = size; large {
				fits = size
			}
			continue
		}
		if err != nil {
			return false, err
		}
		bytes, first := 0, true
		for i := range page {
			bytes += rowBytes + len(page[i].Data)
			if is := fresh(&page[i]); i == 0 {
				first = is
			}
		}
		sound = sound && (offset == 0 || !first)
		if len(page) < size {
			return sound, nil
		}
		offset += len(page) - max(1, len(page)/overlap)
		if time.Since(began) < pageTime/8 {
			most = min(fits, most+most/4)
		}
		size = min(most, 4*size, max(leastRows, pageBytes/(bytes/len(page))))
	}
}

// timedOut reports whether a read was given up.
func timedOut(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

func (l *lister) page(ctx context.Context, kind, fields string, size, offset int) ([]storage.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	return l.storage.List(ctx, kind, l.namespace, fields, size, offset)
}

// fields returns what a page shows. It includes annotations where some are not part of the object
// and so change without its version.
func (s *Synchronizer) fields(kind string, whole bool) string {
	if whole {
		return wholeRecords
	}
	fields := stateFields
	if s.cfg.Selectors[ownKind(kind)] != nil {
		fields += ",data.metadata.labels"
	}
	if kind == kindPod {
		fields += ",data.metadata.annotations"
	}
	return fields
}

// holds reports whether a record that no object was cached for is of this shard. By uid, one without any is of none: it
// could only be removed with whatever has the name by then.
func (s *Synchronizer) holds(k object.Key, record []byte) bool {
	if s.cfg.Shard.ByUID {
		m, err := object.Scan(record)
		return err == nil && m.UID != "" && s.cfg.Shard.Holds(k.Namespace, k.Name, m.UID)
	}
	return s.cfg.Shard.Holds == nil || s.cfg.Shard.Holds(k.Namespace, k.Name, "")
}

// ours reports whether such a record is this watcher's to remove: with a label selector for the kind, what it does not
// select may be another watcher's.
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

// ownKind returns an object's own kind, without the group that storage may add.
func ownKind(kind string) string {
	own, _, _ := strings.Cut(kind, ".")
	return own
}

// leftover is the suspect for a record that no object was cached for; false where it
// cannot be removed without others.
func (s *Synchronizer) leftover(k object.Key, record []byte) (suspect, bool) {
	m, err := object.Scan(record)
	x := suspect{Key: k, leftover: true, version: m.Version()}
	if s.cfg.Shard.ByUID {
		x.row = strings.Clone(m.UID)
	}
	if k.Namespace != "" || s.set.Cache.ClusterScoped(k.Kind) {
		return x, true
	}
	if err != nil || m.UID == "" {
		s.set.Logger.Warn("a record of the cluster scope has no uid and stays: storage would remove the records of that "+
			"name in all namespaces with it", "object", k)
		return suspect{}, false
	}
	x.uid = strings.Clone(m.UID)
	return x, true
}
