package store

import (
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// mirrorKind is the dynamic collection that events are mirrored into.
const mirrorKind = bcsapi.KindEvent

// Event is one record of an events table. It is immutable.
type Event struct {
	ID      ObjectID
	Record  bcsapi.EventRecord
	Meta    Meta      // of Record.Data
	Time    time.Time // Record.EventTime
	Created time.Time
}

var _ Document = (*Event)(nil)

// Fields yields the document's fields as the real server returns them.
func (e *Event) Fields() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		data := []byte(e.Record.Data)
		if data == nil {
			data = []byte("null")
		}
		if yield("_id", quote(e.ID.String())) &&
			yield("clusterId", quote(e.Record.ClusterID)) &&
			yield("data", data) &&
			yield("createTime", AppendTime(nil, e.Created)) {
			e.ownFields(yield)
		}
	}
}

// ownFields yields the fields that a mirrored event has too.
func (e *Event) ownFields(yield func(string, []byte) bool) bool {
	r := &e.Record
	extra := []byte(`{"namespace":`)
	extra = jsonscan.AppendString(extra, r.ExtraInfo.Namespace)
	extra = jsonscan.AppendString(append(extra, `,"name":`...), r.ExtraInfo.Name)
	extra = jsonscan.AppendString(append(extra, `,"kind":`...), r.ExtraInfo.Kind)
	extra = append(extra, '}')
	return yield("id", quote(r.ID)) && yield("env", quote(r.Env)) && yield("kind", quote(r.Kind)) &&
		yield("level", quote(r.Level)) && yield("component", quote(r.Component)) && yield("type", quote(r.Type)) &&
		yield("describe", quote(r.Describe)) && yield("extraInfo", extra) && yield("eventTime", AppendTime(nil, e.Time))
}

// eventTable is the events of one cluster.
type eventTable struct {
	order []*Event // by event time, then arrival
	known map[eventID]struct{}
}

// eventID is an event's unique key in a table.
type eventID struct {
	name, version string
}

func idOf(e *Event) eventID {
	return eventID{
		jsonscan.Unquote(jsonscan.Lookup(e.Record.Data, "metadata", "name")),
		string(jsonscan.Lookup(e.Record.Data, "metadata", "resourceVersion")),
	}
}

// expire drops events created before that time.
func (t *eventTable) expire(before time.Time) {
	t.order = slices.DeleteFunc(t.order, func(e *Event) bool {
		gone := e.Created.Before(before)
		if gone {
			delete(t.known, idOf(e))
		}
		return gone
	})
}

func newEvent(rec bcsapi.EventRecord, created time.Time) *Event {
	return &Event{Record: rec, Meta: ParseMeta(rec.Data), Time: time.Unix(rec.EventTime, 0), Created: created}
}

func (s *Store) eventTable(cluster string) *eventTable {
	t := s.events[cluster]
	if t == nil {
		t = &eventTable{known: map[eventID]struct{}{}}
		s.events[strings.Clone(cluster)] = t
	}
	return t
}

// PutEvent stores an event and mirrors it into the dynamic collection. A
// duplicate changes nothing: its Effect is EffectNone.
func (s *Store) PutEvent(rec bcsapi.EventRecord, now time.Time, commit func(Change)) Change {
	e := newEvent(rec, now)
	ch := Change{
		Key:    Key{Cluster: rec.ClusterID, Kind: mirrorKind, Namespace: e.Meta.Namespace, Name: e.Meta.Name},
		Effect: ledger.EffectCreated, UID: e.Meta.UID, ResourceVersion: e.Meta.ResourceVersion,
	}
	id := idOf(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.eventTable(rec.ClusterID)
	if _, dup := t.known[id]; dup {
		ch.Effect = ledger.EffectNone
		commit(ch)
		return ch
	}
	if jsonscan.IsObject(rec.Data) {
		mirrored := s.put(ch.Key, Object{rec.Data, e.Meta}, e, now)
		if mirrored.Refusal != "" {
			commit(mirrored)
			return mirrored
		}
		ch.Effect = mirrored.Effect
	}
	e.ID = s.ids.next(now)
	t.known[id] = struct{}{}
	// Events come nearly in order; look for the place from the end.
	at := sort.Search(len(t.order), func(i int) bool { return t.order[i].Time.After(e.Time) })
	t.order = slices.Insert(t.order, at, e)
	if len(t.order) > MaxEvents {
		for _, old := range t.order[:MaxEvents/10] {
			delete(t.known, idOf(old))
		}
		t.order = slices.Delete(t.order, 0, MaxEvents/10)
	}
	commit(ch)
	return ch
}

// Events returns a cluster's events, latest first.
func (s *Store) Events(cluster string) []*Event {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.events[cluster]
	if t == nil {
		return nil
	}
	out := slices.Clone(t.order)
	slices.Reverse(out)
	return out
}
