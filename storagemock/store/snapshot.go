package store

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/watchbench/watchbench/internal/bcsapi"
)

// A snapshot is NDJSON through zstd: one header, then documents in natural order,
// then events.
const snapshotSchema = "watchbench/storagemock-snapshot/v1"

// maxSnapshotLine bounds one document.
const maxSnapshotLine = 64 << 20

type snapshotLine struct {
	Schema    string          `json:"schema,omitempty"` // header only
	Documents int             `json:"documents,omitempty"`
	Events    int             `json:"events,omitempty"`
	Cluster   string          `json:"cluster,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Name      string          `json:"name,omitempty"`
	ID        string          `json:"id,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Created   int64           `json:"created,omitempty"` // Unix ns
	Updated   int64           `json:"updated,omitempty"`
	Deleted   int64           `json:"deleted,omitempty"` // not 0: flagged
	Highest   uint64          `json:"highest,omitempty"`
	Past      []string        `json:"past,omitempty"`
	// Event is the record of an events table, or of a mirrored document.
	Event *bcsapi.EventRecord `json:"event,omitempty"`
}

// Save writes the whole state to w. Writes to the store wait only while it is copied in
// memory.
func (s *Store) Save(w io.Writer) error {
	lines := s.lines()
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return fmt.Errorf("starting zstd: %w", err)
	}
	buffered := bufio.NewWriterSize(z, 256<<10)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	for i := range lines {
		if err := enc.Encode(&lines[i]); err != nil {
			return errors.Join(fmt.Errorf("writing line %d of the snapshot: %w", i+1, err), z.Close())
		}
	}
	if err := errors.Join(buffered.Flush(), z.Close()); err != nil {
		return fmt.Errorf("ending the snapshot: %w", err)
	}
	return nil
}

// lines copies the state.
func (s *Store) lines() []snapshotLine {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lines := []snapshotLine{{Schema: snapshotSchema}}
	for _, kind := range sortedKeys(s.colls) {
		for _, sl := range s.colls[kind].order {
			l := snapshotLine{
				Cluster: sl.key.cluster, Kind: kind, Namespace: sl.key.namespace, Name: sl.key.name,
				ID: sl.id.String(), Highest: sl.highest, Past: sl.past,
			}
			if sl.rec == nil {
				l.Deleted = sl.deleted.UnixNano()
			} else {
				l.Data, l.Created, l.Updated = sl.rec.Data(), sl.rec.Created.UnixNano(), sl.rec.Updated.UnixNano()
				if sl.rec.Event != nil {
					ev := sl.rec.Event.Record
					ev.Data = nil // it is the document's data
					l.Event = &ev
				}
			}
			lines = append(lines, l)
		}
	}
	lines[0].Documents = len(lines) - 1
	for _, cluster := range sortedKeys(s.events) {
		for _, e := range s.events[cluster].order {
			lines = append(lines, snapshotLine{Cluster: cluster, ID: e.ID.String(), Created: e.Created.UnixNano(),
				Event: &e.Record})
		}
	}
	lines[0].Events = len(lines) - 1 - lines[0].Documents
	return lines
}

// Load replaces the whole state with a snapshot. If it fails, nothing has changed.
func (s *Store) Load(r io.Reader) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(512<<20))
	if err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	defer z.Close()
	loaded := New(s.mode, 0)
	in := bufio.NewScanner(z)
	in.Buffer(make([]byte, 0, 1<<20), maxSnapshotLine)
	var header snapshotLine
	n := 0
	for ; in.Scan(); n++ {
		var l snapshotLine
		dec := json.NewDecoder(bytes.NewReader(in.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&l); err != nil {
			return fmt.Errorf("snapshot line %d: %w", n+1, err)
		}
		if n == 0 {
			if header = l; header.Schema != snapshotSchema {
				return fmt.Errorf("snapshot line 1: schema %q, want %q", header.Schema, snapshotSchema)
			}
			continue
		}
		if err := loaded.restore(l, n > header.Documents); err != nil {
			return fmt.Errorf("snapshot line %d: %w", n+1, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("snapshot line %d: %w", n+1, err)
	}
	if n != 1+header.Documents+header.Events {
		return fmt.Errorf("snapshot ends after line %d, its header says %d documents and %d events", n, header.Documents,
			header.Events)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.colls, s.names, s.events, s.live, s.dead = loaded.colls, loaded.names, loaded.events, loaded.live, loaded.dead
	return nil
}

func (s *Store) restore(l snapshotLine, isEvent bool) error {
	var id ObjectID
	b, err := hex.DecodeString(l.ID)
	if err != nil || len(b) != len(id) {
		return fmt.Errorf("id %q is not 24 hexadecimal digits", l.ID)
	}
	copy(id[:], b)
	created := time.Unix(0, l.Created)
	if isEvent {
		if l.Event == nil {
			return errors.New("an event's record is missing")
		}
		e := newEvent(*l.Event, created)
		e.ID = id
		t := s.eventTable(l.Cluster)
		t.known[idOf(e)] = struct{}{}
		t.order = append(t.order, e)
		return nil
	}
	if l.Kind == "" {
		return errors.New("a document's kind is missing")
	}
	c := s.collection(l.Kind)
	sl := s.addSlot(c, Key{l.Cluster, l.Kind, l.Namespace, l.Name}, id)
	sl.highest, sl.past = l.Highest, l.Past
	if l.Deleted != 0 {
		sl.deleted = time.Unix(0, l.Deleted)
		s.dead++
		return nil
	}
	s.live++
	meta := ParseMeta(l.Data)
	sl.rec = &Record{
		Key: Key{sl.key.cluster, s.intern(l.Kind), sl.key.namespace, sl.key.name}, ID: id,
		UID: meta.UID, ResourceVersion: meta.ResourceVersion, Created: created, Updated: time.Unix(0, l.Updated),
	}
	c.keep(sl.rec, l.Data)
	if l.Event != nil {
		l.Event.Data = l.Data
		sl.rec.Event = newEvent(*l.Event, created)
	}
	return nil
}
