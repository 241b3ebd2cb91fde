package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// t0 is 2026-01-02 10:00:00 UTC; every story is told in milliseconds after it.
const t0 = int64(1767348000_000_000_000)

func at(ms int64) int64 { return t0 + ms*1e6 }

// story is a hand-made history. Each op and request is one line:
//
//	ops:      "10 create web u1 100"    time, type, name, uid, version; @kind overrides Pod
//	requests: "20 PUT web u1 100"       time received, method, name, uid, version
//
// Further words of a request: applied=MS (default 5 ms after it was received), responded=MS (default 1 ms after that),
// twice (hit by a fault that applies it twice), late (no answer reached the client), gone=MS (when its connection
// ended), rejected (status 503), slow (answered after 6 s), tamper (made by the harness), effect=E. Requests are
// applied in the order of the lines; storage's state and effects follow from them.
type story struct {
	ops      []string
	requests []string
	meta     Meta
	// noState leaves the final states out; apiserver overrides its final state ("web u1 100" per line) where the op log
	// does not tell it.
	noState   bool
	apiserver []string
	storage   []string // overrides storage's final state
	noOps     bool
	marks     []history.Mark
	samples   []history.Sample
}

func (s story) history(t testing.TB) *History {
	t.Helper()
	h := &History{Meta: s.meta, Marks: s.marks, Samples: s.samples}
	ops := make([]oplog.Record, 0, len(s.ops))
	for i, l := range s.ops {
		ops = append(ops, parseOp(t, int64(i+1), l))
	}
	entries := make([]ledger.Entry, 0, len(s.requests))
	for _, l := range s.requests {
		entries = append(entries, parseRequest(t, l))
	}
	stored := applyAll(entries)
	if !s.noOps {
		h.Ops = items(ops)
	}
	h.Ledger = items(entries)
	if s.noState {
		return h
	}
	live := apiserverState(ops)
	if s.apiserver != nil {
		live = parseState(t, s.apiserver)
	}
	if s.storage != nil {
		stored = parseState(t, s.storage)
	}
	h.State = items(append(stateRecords(history.SideApiserver, live), stateRecords(history.SideStorage, stored)...))
	return h
}

// storyState is one object in a final state.
type storyState struct {
	uid, digest string
	rv          uint64
}

func items[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// subject splits "Node:n1" or "web" (a Pod in namespace a).
func subject(word string) history.Key {
	if kind, name, ok := strings.Cut(word, ":"); ok {
		if kind == "Node" {
			return history.Key{Kind: kind, Name: name}
		}
		return history.Key{Kind: kind, Namespace: "a", Name: name}
	}
	return history.Key{Kind: "Pod", Namespace: "a", Name: word}
}

func parseOp(t testing.TB, id int64, line string) oplog.Record {
	t.Helper()
	w := strings.Fields(line)
	k := subject(w[2])
	r := oplog.Record{
		ID: id, Phase: oplog.PhaseLoad, Type: w[1], Kind: k.Kind, Namespace: k.Namespace, Name: k.Name,
		UID: w[3], Started: at(number(t, w[0])), Status: 200,
	}
	r.Intended, r.Finished = r.Started, r.Started+1e6
	if len(w) > 4 && w[4] != "-" {
		r.ResourceVersion = uint64(number(t, w[4]))
	}
	for _, opt := range w[min(5, len(w)):] {
		switch opt {
		case "prepare":
			r.Phase = oplog.PhasePrepare
		case "outside": // found gone a second later
			r.Phase, r.Finished = oplog.PhaseOutside, r.Started+1e9
		case "witnessed": // received at that time, written at any time before
			r.ID, r.Phase, r.Intended, r.Finished, r.Started = 0, oplog.PhaseWitnessed, r.Started, r.Started, t0
		case "failed":
			r.Status, r.Error = 409, "conflict"
		default:
			t.Fatalf("op %q: unknown word %q", line, opt)
		}
	}
	return r
}

func parseRequest(t testing.TB, line string) ledger.Entry {
	t.Helper()
	w := strings.Fields(line)
	k := subject(w[2])
	e := ledger.Entry{Method: w[1], Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Received: at(number(t, w[0])), Status: 200}
	e.Applied, e.Responded = e.Received+5e6, e.Received+6e6
	for i, opt := range w[3:] {
		key, val, _ := strings.Cut(opt, "=")
		switch {
		case i == 0 && w[1] == "PUT":
			e.UID = opt
		case i == 1 && w[1] == "PUT":
			e.ResourceVersion = uint64(number(t, opt))
		case key == "applied":
			e.Applied = at(number(t, val))
			e.Responded = e.Applied + 1e6
		case key == "effect":
			e.Effect = val
		case key == "late":
			e.Responded, e.Status, e.Fault = 0, 0, "late"
		case key == "gone":
			e.Gone = at(number(t, val))
		case key == "responded":
			e.Responded = at(number(t, val))
		case key == "slow":
			e.Responded = e.Received + 6e9
		case key == "rejected":
			e.Applied, e.Status, e.Effect, e.Fault = 0, 503, ledger.EffectRejected, "503"
		case key == "twice":
			e.Fault = "double"
		case key == history.FaultTamper:
			e.Fault = history.FaultTamper
		default:
			t.Fatalf("request %q: unknown word %q", line, opt)
		}
	}
	return e
}

func parseState(t testing.TB, lines []string) map[history.Key]storyState {
	t.Helper()
	all := make(map[history.Key]storyState)
	for _, l := range lines {
		w := strings.Fields(l)
		s := storyState{uid: w[1], rv: uint64(number(t, w[2]))}
		s.digest = fmt.Sprintf("%s-%d", s.uid, s.rv)
		if len(w) > 3 {
			s.digest = w[3]
		}
		all[subject(w[0])] = s
	}
	return all
}

func number(t testing.TB, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// applyAll numbers the entries and lets them act on an empty, faithful storage: it fills in the effects and returns the
// state at the end.
func applyAll(entries []ledger.Entry) map[history.Key]storyState {
	state := make(map[history.Key]storyState)
	for i := range entries {
		e := &entries[i]
		e.Seq = uint64(i + 1)
		if e.Effect == ledger.EffectRejected {
			continue
		}
		k := history.Key{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
		old, live := state[k]
		if e.Method == "DELETE" {
			e.Effect, e.UID, e.ResourceVersion = ledger.EffectNone, "", 0
			if live {
				e.Effect, e.UID, e.ResourceVersion = ledger.EffectDeleted, old.uid, old.rv
				delete(state, k)
			}
			continue
		}
		e.Effect = ledger.EffectCreated
		if live {
			e.Effect = ledger.EffectReplaced
		}
		state[k] = storyState{uid: e.UID, rv: e.ResourceVersion, digest: fmt.Sprintf("%s-%d", e.UID, e.ResourceVersion)}
	}
	return state
}

func apiserverState(ops []oplog.Record) map[history.Key]storyState {
	state := make(map[history.Key]storyState)
	for _, r := range ops {
		k := history.Key{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		switch {
		case !r.OK():
		case r.Type == oplog.TypeDelete:
			delete(state, k)
		default:
			state[k] = storyState{uid: r.UID, rv: r.ResourceVersion, digest: fmt.Sprintf("%s-%d", r.UID, r.ResourceVersion)}
		}
	}
	return state
}

func stateRecords(side history.Side, state map[history.Key]storyState) []history.StateRecord {
	var all []history.StateRecord
	for k, s := range state {
		all = append(all, history.StateRecord{
			Side: side, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name,
			UID: s.uid, ResourceVersion: s.rv, Digest: s.digest, Bytes: 1,
		})
	}
	slices.SortFunc(all, func(a, b history.StateRecord) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
