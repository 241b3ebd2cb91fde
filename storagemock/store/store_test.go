package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/storagemock/store"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func ignore(store.Change) {}

func key(ns, name string) store.Key {
	return store.Key{Cluster: "C", Kind: "Pod", Namespace: ns, Name: name}
}

func object(uid string, version uint64) store.Object {
	data := fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":"%d"}}`, uid, version)
	return store.Object{Data: data, Meta: store.ParseMeta(data)}
}

func put(s *store.Store, k store.Key, uid string, version uint64, at time.Time) string {
	return s.Put(k, object(uid, version), at, ignore).Effect
}

func TestLifeOfADocument(t *testing.T) {
	s := store.New(store.Faithful, 1)
	for i := range 3 {
		put(s, key("a", fmt.Sprint("p", i)), "u", 1, start)
	}
	first := s.Get(key("a", "p1"), nil)
	if first.Created != start || first.Updated != start {
		t.Errorf("created %s, updated %s", first.Created, first.Updated)
	}
	if got := put(s, key("a", "p1"), "u", 2, start.Add(time.Second)); got != ledger.EffectReplaced {
		t.Errorf("second PUT: %s", got)
	}
	second := s.Get(key("a", "p1"), nil)
	if second.Created != start || second.Updated != start.Add(time.Second) || second.ID != first.ID {
		t.Errorf("after the second PUT: %+v", second)
	}
	if string(first.Data()) == string(second.Data()) || first.ResourceVersion != 1 {
		t.Error("the first record has changed")
	}
	s.Delete(key("a", "p1"), nil, "", start, ignore)
	if s.Get(key("a", "p1"), nil) != nil || s.Live() != 2 {
		t.Error("the document is still there")
	}
	if got := put(s, key("a", "p1"), "u9", 3, start.Add(time.Minute)); got != ledger.EffectCreated {
		t.Errorf("revival: %s", got)
	}
	revived := s.Get(key("a", "p1"), nil)
	if revived.ID != first.ID || revived.Created != start.Add(time.Minute) {
		t.Errorf("revived: %+v", revived)
	}
	var names []string
	for _, r := range s.List("C", "Pod", "a") {
		names = append(names, r.Name)
	}
	if !slices.Equal(names, []string{"p0", "p1", "p2"}) {
		t.Errorf("natural order is %v", names)
	}
}

// TestFormer: what is replaced or deleted is kept in order, the latest of much.
func TestFormer(t *testing.T) {
	s := store.New(store.Faithful, 1)
	versions := func() (all []uint64) {
		for _, r := range s.Former() {
			all = append(all, r.ResourceVersion)
		}
		return all
	}
	put(s, key("a", "p"), "u", 1, start)
	put(s, key("a", "q"), "u", 2, start)
	put(s, key("a", "p"), "u", 3, start)
	s.Delete(key("a", "q"), nil, "", start, ignore)
	put(s, key("a", "q"), "v", 4, start)
	if got := versions(); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("kept %v, want what was replaced and what was deleted", got)
	}
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = 'A' + byte(rand.IntN(26))
	}
	for v := range uint64(100) {
		o := object("u", 10+v)
		o.Data = append(o.Data, noise...)
		s.Put(key("a", "large"), o, start, ignore)
	}
	got := versions()
	if n := len(got); n < 20 || n > 99 || got[0] == 1 || got[n-1] != 108 {
		t.Errorf("kept %d of 101 records, from version %d to %d", n, got[0], got[n-1])
	}
}

func TestClusterScopeHasNoNamespaceCondition(t *testing.T) {
	s := store.New(store.Faithful, 1)
	put(s, key("a", "x"), "u1", 1, start)
	put(s, key("b", "x"), "u2", 2, start)
	if r := s.Get(key("", "x"), store.Filter{}); r == nil || r.UID != "u1" {
		t.Errorf("GET found %+v", r)
	}
	if ch := s.Put(key("", "x"), object("u3", 3), start, ignore); ch.Effect != ledger.EffectReplaced || ch.Key.Namespace != "a" {
		t.Errorf("PUT: %+v", ch)
	}
	if ch := s.Delete(key("", "x"), nil, "", start, ignore); len(ch) != 2 || s.Live() != 0 {
		t.Errorf("DELETE: %+v", ch)
	}
}

func TestPurge(t *testing.T) {
	s := store.New(store.Faithful, 1)
	put(s, key("a", "x"), "u", 1, start)
	id := s.Get(key("a", "x"), nil).ID
	s.Delete(key("a", "x"), nil, "", start, ignore)
	s.Clean(start.Add(store.PurgeAfter - time.Second))
	put(s, key("a", "x"), "u", 2, start)
	if s.Get(key("a", "x"), nil).ID != id {
		t.Error("purged before its time")
	}
	s.Delete(key("a", "x"), nil, "", start, ignore)
	s.Clean(start.Add(store.PurgeAfter))
	put(s, key("a", "x"), "u", 3, start)
	if s.Get(key("a", "x"), nil).ID == id {
		t.Error("not purged")
	}
	if got := len(s.List("C", "Pod", "a")); got != 1 {
		t.Errorf("%d documents", got)
	}
}

func TestFlaggedDocumentsAreBounded(t *testing.T) {
	s := store.New(store.Faithful, 1)
	obj := object("u", 1)
	const n = store.MaxDeleted + 10
	for i := range n {
		at := start.Add(time.Duration(i) * time.Microsecond)
		k := key("a", fmt.Sprint("p", i))
		s.Put(k, obj, at, ignore)
		s.Delete(k, nil, "", at, ignore)
	}
	var buf bytes.Buffer
	if err := s.Save(&buf); err != nil {
		t.Fatal(err)
	}
	again := store.New(store.Faithful, 1)
	if err := again.Load(&buf); err != nil {
		t.Fatal(err)
	}
	put(s, key("a", "p0"), "u", 1, start)                 // purged long ago: a new document
	put(s, key("a", fmt.Sprint("p", n-1)), "u", 1, start) // flagged last: revived, before the new one
	list := s.List("C", "Pod", "a")
	if len(list) != 2 || list[0].Name == "p0" {
		t.Errorf("%d documents, first %s", len(list), list[0].Name)
	}
}

// TestConditionalModel holds the store against a model that knows the true history: a watcher may send any suffix of it
// late and in any order, and the store must never go back.
func TestConditionalModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		// The true history of one name: incarnations with rising versions.
		type op struct {
			uid     string
			version uint64
			del     bool
		}
		var history []op
		version := uint64(0)
		for inc := range 3 {
			uid := fmt.Sprint("u", inc)
			for range 1 + r.IntN(3) {
				version++
				history = append(history, op{uid, version, false})
			}
			if inc < 2 || r.IntN(2) == 0 {
				version++
				history = append(history, op{uid, version, true})
			}
		}
		s := store.New(store.Conditional, seed)
		send := func(o op) {
			if o.del {
				cond := store.Filter{{Path: "data.metadata.uid", Values: []string{o.uid}}}
				s.Delete(key("a", "x"), cond, o.uid, start, ignore)
				return
			}
			put(s, key("a", "x"), o.uid, o.version, start)
		}
		for i, o := range history {
			send(o)
			for range r.IntN(3) {
				send(history[r.IntN(i+1)]) // a late duplicate
			}
			want := &history[i]
			got := s.Get(key("a", "x"), nil)
			switch {
			case want.del && got != nil:
				t.Fatalf("seed %d: after the delete of %s the store holds %s at %d", seed, want.uid, got.UID, got.ResourceVersion)
			case !want.del && (got == nil || got.UID != want.uid || got.ResourceVersion != want.version):
				t.Fatalf("seed %d: the store holds %+v, want %+v", seed, got, *want)
			}
		}
	}
}

func TestCommitsAreInOrderOfApplication(t *testing.T) {
	s := store.New(store.Faithful, 1)
	var log []string
	done := make(chan struct{})
	for w := range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 500 {
				uid := fmt.Sprintf("%d-%d", w, i)
				s.Put(key("a", "x"), object(uid, 1), start, func(ch store.Change) { log = append(log, ch.UID) })
			}
		}()
	}
	for range 4 {
		<-done
	}
	if last := s.Get(key("a", "x"), nil).UID; len(log) != 2000 || log[1999] != last {
		t.Errorf("the last of %d commits is %s, the store holds %s", len(log), log[len(log)-1], last)
	}
}

func event(name string, version int, at int64) bcsapi.EventRecord {
	return bcsapi.EventRecord{
		ClusterID: "C", Env: bcsapi.EventEnv, EventTime: at, Kind: "Pod",
		Data: fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"a","resourceVersion":"%d"}}`, name, version),
	}
}

// TestEventRefusedAgain: an event that was refused is not a duplicate.
func TestEventRefusedAgain(t *testing.T) {
	s := store.New(store.Conditional, 1)
	s.PutEvent(event("e", 9, 100), start, ignore)
	for range 2 {
		if ch := s.PutEvent(event("e", 8, 100), start, ignore); ch.Effect != ledger.EffectRejected {
			t.Errorf("an older version: %+v", ch)
		}
	}
}

func TestEvents(t *testing.T) {
	s := store.New(store.Faithful, 1)
	for i, at := range []int64{100, 300, 200} {
		s.PutEvent(event(fmt.Sprint("e", i), i, at), start, ignore)
	}
	if ch := s.PutEvent(event("e0", 0, 900), start, ignore); ch.Effect != ledger.EffectNone {
		t.Errorf("duplicate: %+v", ch)
	}
	if ch := s.PutEvent(event("e0", 7, 150), start, ignore); ch.Effect != ledger.EffectReplaced {
		t.Errorf("another version: %+v", ch)
	}
	if got := s.List("C", "Event", "a"); len(got) != 3 || got[0].Event.EventTime != 150 {
		t.Errorf("%d events are stored", len(got))
	}
	s.Clean(time.Unix(200, 0).Add(store.MirrorRetention + time.Second)) // 100 and 200 are past it
	if got := s.List("C", "Event", "a"); len(got) != 1 || got[0].Name != "e1" {
		t.Errorf("after an hour %d events are stored", len(got))
	}
	for i := range store.MaxEvents + 1 {
		s.PutEvent(event("e", i+10, 300), start, ignore)
	}
	if ch := s.PutEvent(event("e0", 7, 150), start, ignore); ch.Effect != ledger.EffectNone {
		t.Errorf("a duplicate after many events: %+v", ch)
	}
}

func TestSnapshot(t *testing.T) {
	s := store.New(store.Conditional, 1)
	put(s, key("a", "x"), "u1", 5, start)
	put(s, key("", "node"), "u2", 6, start)
	put(s, key("a", "gone"), "u3", 7, start)
	s.Delete(key("a", "gone"), nil, "u3", start, ignore)
	s.Put(store.Key{Cluster: "C", Kind: "exportservice", Namespace: "a", Name: "svc"}, object("u4", 8), start, ignore)
	s.PutEvent(event("e", 9, 100), start, ignore)
	var buf bytes.Buffer
	if err := s.Save(&buf); err != nil {
		t.Fatal(err)
	}
	saved := bytes.Clone(buf.Bytes())
	again := store.New(store.Conditional, 2)
	if err := again.Load(&buf); err != nil {
		t.Fatal(err)
	}
	text := func(d *store.Record) (all string) {
		for name, v := range d.Fields() {
			if name != "_id" {
				all += fmt.Sprintf("%s=%s ", name, v)
			}
		}
		return all
	}
	describe := func(s *store.Store) (out []string) {
		for _, r := range s.All() {
			out = append(out, text(r))
		}
		return out
	}
	if diff := cmp.Diff(describe(s), describe(again)); diff != "" {
		t.Errorf("-saved +loaded:\n%s", diff)
	}
	if ch := again.PutEvent(event("e", 9, 100), start, ignore); ch.Effect != ledger.EffectNone {
		t.Errorf("the event is not known after loading: %+v", ch)
	}
	for name, bad := range map[string][]byte{"cut": saved[:len(saved)-3], "empty": {}, "text": []byte("hello")} {
		if err := again.Load(bytes.NewReader(bad)); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
	if diff := cmp.Diff(describe(s), describe(again)); diff != "" {
		t.Errorf("a failed load changed the state:\n%s", diff)
	}
}

func TestParseMode(t *testing.T) {
	if _, err := store.ParseMode("strict"); err == nil || !strings.Contains(err.Error(), "faithful or conditional") {
		t.Errorf("got %v", err)
	}
}
