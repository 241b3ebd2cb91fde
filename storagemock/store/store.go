package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/pack"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Mode determines whether writes have preconditions.
type Mode string

// The modes.
const (
	Faithful    Mode = "faithful"
	Conditional Mode = "conditional"
)

// ParseMode parses a mode. Its error lists the valid ones.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Faithful, Conditional:
		return m, nil
	}
	return "", fmt.Errorf("mode %q: want faithful or conditional", s)
}

// Bounds and times of the real server and of this one.
const (
	// DefaultLimit is the page size of a list without a limit.
	DefaultLimit = 3000
	// MaxDeleted is the maximum number of flagged documents; beyond it the oldest half is purged at once instead of by
	// the hourly cleaner.
	MaxDeleted = 200_000
	// MaxEvents is the number of events after which the oldest ones' duplicates begin to count as new.
	MaxEvents = 200_000
	// PurgeAfter is how long a flagged document stays.
	PurgeAfter = time.Hour
	// MirrorRetention is how long an event stays.
	MirrorRetention = time.Hour
	// maxFormer is how many bytes of replaced and deleted records are kept, packed as they were: some 40,000 pods. The
	// oldest go first.
	maxFormer = 32 << 20
	// maxPastUIDs bounds the superseded uids remembered under one key.
	maxPastUIDs = 64
)

// Store holds everything. It is safe for concurrent use.
type Store struct {
	mode Mode

	mu     sync.RWMutex // guards the rest; held for memory work only
	ids    idSource
	colls  map[string]*collection // by kind
	events map[eventID]bool       // stored before; see note
	older  map[eventID]bool
	live   int       // documents
	dead   int       // flagged documents
	former []*Record // replaced or deleted, the latest last; see maxFormer
	kept   int       // their bytes
}

// New returns an empty store; seed determines the identifiers.
func New(mode Mode, seed uint64) *Store {
	return &Store{
		mode: mode, ids: newIDSource(seed),
		colls: map[string]*collection{}, events: map[eventID]bool{},
	}
}

// Live returns the number of live documents.
func (s *Store) Live() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.live
}

// collection is the documents of one kind.
type collection struct {
	byKey map[slotKey]*slot
	order []*slot // natural order
	// namespaced counts slots with a namespace: while it is 0, a request of the cluster scope needs no search.
	namespaced int
	packer     pack.Packer
}

type slotKey struct{ cluster, namespace, name string }

// slot is a document's place, which survives soft deletion.
type slot struct {
	key     slotKey
	id      ObjectID
	rec     *Record   // nil while flagged as deleted
	deleted time.Time // when it was flagged
	// Kept in Conditional mode only.
	highest uint64   // resourceVersion
	past    []string // uids deleted or superseded, oldest first
}

func (s *Store) collection(kind string) *collection {
	c := s.colls[kind]
	if c == nil {
		c = &collection{byKey: map[slotKey]*slot{}}
		s.colls[strings.Clone(kind)] = c
	}
	return c
}

func (c *collection) add(k Key, id ObjectID) *slot {
	key := slotKey{unique.Make(k.Cluster).Value(), unique.Make(k.Namespace).Value(), strings.Clone(k.Name)}
	sl := &slot{key: key, id: id}
	c.byKey[sl.key] = sl
	c.order = append(c.order, sl)
	if k.Namespace != "" {
		c.namespaced++
	}
	return sl
}

// target returns the slot that a Put of k writes to, nil if there is none. In the cluster scope the real server's
// condition has no namespace, so that it also finds a namespaced document of that name; live ones are preferred,
// because only they are visible to clients.
func (c *collection) target(k Key) *slot {
	sl := c.byKey[slotKey{k.Cluster, k.Namespace, k.Name}]
	if k.Namespace != "" || c.namespaced == 0 || sl != nil && sl.rec != nil {
		return sl
	}
	for _, other := range c.order {
		if other.rec != nil && other.key.cluster == k.Cluster && other.key.name == k.Name {
			return other
		}
	}
	return sl
}

// Object is the content of a Put.
type Object struct {
	Data []byte // copied
	Meta Meta
}

// Put stores obj under k. It calls commit with the change before any other change can happen.
func (s *Store) Put(k Key, obj Object, now time.Time, commit func(Change)) Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.put(k, obj, nil, now)
	commit(ch)
	return ch
}

func (s *Store) put(k Key, obj Object, ev *bcsapi.EventRecord, now time.Time) Change {
	ch := Change{Key: k, UID: obj.Meta.UID, ResourceVersion: obj.Meta.ResourceVersion, Effect: ledger.EffectReplaced}
	c := s.collection(k.Kind)
	sl := c.target(k)
	if s.mode == Conditional && sl != nil {
		if why := sl.refuses(obj.Meta); why != "" {
			ch.Effect, ch.Refusal = ledger.EffectRejected, why
			return ch
		}
	}
	if sl == nil {
		sl = c.add(k, s.ids.next(now))
	} else if sl.rec == nil {
		s.dead--
	}
	created := now
	if sl.rec == nil {
		ch.Effect = ledger.EffectCreated
		s.live++
	} else {
		created = sl.rec.Created
		if s.mode == Conditional && sl.rec.UID != obj.Meta.UID {
			sl.remember(sl.rec.UID)
		}
	}
	ch.Key = Key{sl.key.cluster, unique.Make(k.Kind).Value(), sl.key.namespace, sl.key.name}
	sl.highest = max(sl.highest, obj.Meta.ResourceVersion)
	s.retire(sl.rec)
	sl.rec = &Record{
		Key: ch.Key, ID: sl.id,
		UID: obj.Meta.UID, ResourceVersion: obj.Meta.ResourceVersion, Created: created, Updated: now, Event: ev,
	}
	c.keep(sl.rec, obj.Data)
	return ch
}

// Delete flags every live document that k and filter select: exactly k if it has a namespace, otherwise every document
// of that cluster, kind and name. commit gets one change for each, or one with EffectNone if there was none. In
// Conditional mode uid, if not empty, is remembered as deleted even if no such document is live, so that a late Put of
// it is refused.
func (s *Store) Delete(k Key, filter Filter, uid string, now time.Time, commit func(Change)) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collection(k.Kind)
	direct := c.byKey[slotKey{k.Cluster, k.Namespace, k.Name}]
	var changes []Change
	for _, sl := range c.named(k, direct) {
		if sl.rec == nil || !filter.Match(sl.rec) {
			continue
		}
		changes = append(changes, Change{Key: sl.rec.Key, Effect: ledger.EffectDeleted, UID: sl.rec.UID,
			ResourceVersion: sl.rec.ResourceVersion})
		if s.mode == Conditional {
			sl.remember(sl.rec.UID)
		}
		s.retire(sl.rec)
		sl.rec, sl.deleted = nil, now
		s.live--
		s.dead++
	}
	if s.mode == Conditional && uid != "" {
		if direct == nil {
			direct = c.add(k, s.ids.next(now))
			direct.deleted = now
			s.dead++
		}
		direct.remember(uid)
	}
	if len(changes) == 0 {
		changes = append(changes, Change{Key: k, Effect: ledger.EffectNone})
	}
	for _, ch := range changes {
		commit(ch)
	}
	s.limitDeleted(now)
	return changes
}

// named returns the slots that a request for k means, direct being that of exactly k: without a namespace those of
// every namespace.
func (c *collection) named(k Key, direct *slot) []*slot {
	if k.Namespace == "" && c.namespaced > 0 {
		var all []*slot
		for _, sl := range c.order {
			if sl.key.cluster == k.Cluster && sl.key.name == k.Name {
				all = append(all, sl)
			}
		}
		return all
	}
	if direct == nil {
		return nil
	}
	return []*slot{direct}
}

// Get returns the live document of k that filter selects, nil if there is none: exactly k if it has a namespace,
// otherwise the first of that cluster, kind and name.
func (s *Store) Get(k Key, filter Filter) *Record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.colls[k.Kind]
	if c == nil {
		return nil
	}
	for _, sl := range c.named(k, c.byKey[slotKey{k.Cluster, k.Namespace, k.Name}]) {
		if sl.rec != nil && filter.Match(sl.rec) {
			return sl.rec
		}
	}
	return nil
}

// List returns the live documents of a cluster, a kind and, if it is not empty, a namespace in natural order.
func (s *Store) List(cluster, kind, namespace string) []*Record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := s.colls[kind]
	if c == nil {
		return nil
	}
	var out []*Record
	for _, sl := range c.order {
		if sl.rec != nil && sl.key.cluster == cluster && (namespace == "" || sl.key.namespace == namespace) {
			out = append(out, sl.rec)
		}
	}
	return out
}

// retire keeps a record that is replaced or deleted; nil is none.
func (s *Store) retire(r *Record) {
	if r == nil {
		return
	}
	s.former = append(s.former, r)
	for s.kept += r.size(); s.kept > maxFormer; s.former = s.former[1:] {
		s.kept -= s.former[0].size()
	}
}

// Former returns the records that were replaced or deleted, the latest last; the oldest of many are gone.
func (s *Store) Former() []*Record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.former)
}

// All returns every live document, by kind and natural order.
func (s *Store) All() []*Record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*Record, 0, s.live)
	for _, kind := range slices.Sorted(maps.Keys(s.colls)) {
		for _, sl := range s.colls[kind].order {
			if sl.rec != nil {
				out = append(out, sl.rec)
			}
		}
	}
	return out
}
