package store

import (
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// mirrorKind is the dynamic collection that events are kept in.
const mirrorKind = bcsapi.KindEvent

// eventID tells events from their duplicates.
type eventID struct{ cluster, name, version string }

// note remembers an event that was stored. Two generations of MaxEvents are kept.
func (s *Store) note(id eventID) {
	if len(s.events) >= MaxEvents {
		s.events, s.older = map[eventID]bool{}, s.events
	}
	s.events[id] = true
}

// PutEvent stores an event. A duplicate changes nothing: its Effect is EffectNone.
func (s *Store) PutEvent(rec bcsapi.EventRecord, now time.Time, commit func(Change)) Change {
	data, meta := rec.Data, ParseMeta(rec.Data)
	rec.Data = nil // the record has it
	ch := Change{Key: Key{rec.ClusterID, mirrorKind, meta.Namespace, meta.Name}, Effect: ledger.EffectNone, UID: meta.UID,
		ResourceVersion: meta.ResourceVersion}
	id := eventID{rec.ClusterID, meta.Name, string(jsonscan.Lookup(data, "metadata", "resourceVersion"))}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.events[id] && !s.older[id] {
		if ch = s.put(ch.Key, Object{data, meta}, &rec, now); ch.Refusal == "" {
			s.note(id)
		}
	}
	commit(ch)
	return ch
}

// fields yields what an event has besides the fields of other documents.
func fields(e *bcsapi.EventRecord, yield func(string, []byte) bool) bool {
	extra := jsonscan.AppendString([]byte(`{"namespace":`), e.ExtraInfo.Namespace)
	extra = jsonscan.AppendString(append(extra, `,"name":`...), e.ExtraInfo.Name)
	extra = jsonscan.AppendString(append(extra, `,"kind":`...), e.ExtraInfo.Kind)
	return yield("id", quote(e.ID)) && yield("env", quote(e.Env)) && yield("kind", quote(e.Kind)) &&
		yield("level", quote(e.Level)) && yield("component", quote(e.Component)) && yield("type", quote(e.Type)) &&
		yield("describe", quote(e.Describe)) && yield("extraInfo", append(extra, '}')) &&
		yield("eventTime", appendTime(nil, time.Unix(e.EventTime, 0)))
}
