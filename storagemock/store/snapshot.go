package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/ndjson"
)

// A snapshot is NDJSON through zstd: one header, then the live documents, by kind and natural order.
const snapshotSchema = "watchbench/storagemock-snapshot/v2"

// maxSnapshotLine bounds one document.
const maxSnapshotLine = 64 << 20

type snapshotLine struct {
	Schema    string              `json:"schema,omitempty"` // header only
	Cluster   string              `json:"cluster,omitempty"`
	Kind      string              `json:"kind,omitempty"`
	Namespace string              `json:"namespace,omitempty"`
	Name      string              `json:"name,omitempty"`
	Data      json.RawMessage     `json:"data,omitempty"`
	Created   int64               `json:"created,omitempty"` // Unix ns
	Event     *bcsapi.EventRecord `json:"event,omitempty"`   // of an event, without its data
}

// Save writes all live documents to w. Writes to the store wait only while they are listed.
func (s *Store) Save(w io.Writer) error {
	err := ndjson.Encode(w, true, func(enc *json.Encoder) error {
		err := enc.Encode(snapshotLine{Schema: snapshotSchema})
		for _, r := range s.All() {
			l := snapshotLine{Cluster: r.Cluster, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Data: r.Data(),
				Created: r.Created.UnixNano(), Event: r.Event}
			err = cmp.Or(err, enc.Encode(l))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the snapshot: %w", err)
	}
	return nil
}

// Load replaces the whole state with a snapshot. If it fails, nothing has changed.
func (s *Store) Load(r io.Reader) error {
	lines, err := ndjson.NewZstd(r, maxSnapshotLine)
	if err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	defer func() { _ = lines.Close() }() // only read from
	loaded := New(s.mode, 0)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) && lines.Line() > 1 {
			break
		}
		var l snapshotLine
		if err == nil {
			err = json.Unmarshal(line, &l)
		}
		if err == nil && lines.Line() == 1 && l.Schema != snapshotSchema {
			err = fmt.Errorf("schema %q, want %q", l.Schema, snapshotSchema)
		}
		if err != nil {
			return fmt.Errorf("snapshot line %d: %w", lines.Line(), err)
		}
		if lines.Line() > 1 {
			loaded.restore(&l)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.colls, s.live, s.dead = loaded.colls, loaded.live, loaded.dead
	s.events, s.older = loaded.events, loaded.older
	return nil
}

func (s *Store) restore(l *snapshotLine) {
	created, done := time.Unix(0, l.Created), func(Change) {}
	if l.Event != nil {
		l.Event.Data = l.Data
		s.PutEvent(*l.Event, created, done)
		return
	}
	s.Put(Key{l.Cluster, l.Kind, l.Namespace, l.Name}, Object{l.Data, ParseMeta(l.Data)}, created, done)
}
