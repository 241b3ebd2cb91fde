package assess

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const ms = int64(1e6)

// story is a record that is made up: ten Pods of which each is created, changed and deleted, while readers read.
type story struct {
	scenario spec.Scenario
	log      []readers.Record
	ops      []oplog.Record
}

// newStory has what everyone saw as it should be.
func newStory() *story {
	s := &story{}
	s.scenario = spec.Default()
	s.scenario.Readers = spec.Readers{Get: 100, List: 10, Watches: 3, Webhooks: 2}
	s.add(
		readers.Record{What: readers.Opened, Reader: readers.Control, Version: 10, Code: 200},
		readers.Record{What: readers.Opened, Reader: 1, Version: 10, Code: 200},
		readers.Record{What: readers.Opened, Reader: 2, Version: 12, Code: 200},
		readers.Record{What: readers.Opened, Reader: 3, Version: 10, Code: 200},
		readers.Record{What: readers.Started, Ended: 1000 * ms},
	)
	at := 1000 * ms
	for i := range 100 {
		at += 10 * ms
		s.add(readers.Record{What: readers.Get, Intended: at, Started: at + ms, Ended: at + 3*ms, Code: 200, Items: 1, Bytes: 3000})
		if i%10 == 0 {
			s.add(readers.Record{What: readers.List, Intended: at, Started: at, Ended: at + 5*ms, Code: 200, Items: 7, Bytes: 21000})
		}
	}
	version := uint64(20)
	for i, typ := range []string{"ADDED", "MODIFIED", "DELETED"} {
		for pod := range 10 {
			version += 2
			at := 1000*ms + int64(version)*ms
			uid := fmt.Sprint("uid-", pod)
			op := oplog.Record{Phase: oplog.PhaseLoad, Type: []string{oplog.TypeCreate, oplog.TypePatch, oplog.TypeDelete}[i], Kind: "Pod", Name: "p", UID: uid,
				ResourceVersion: version, Intended: at - 4*ms, Started: at - 4*ms, Finished: at, Status: 200}
			if i == 2 {
				op.ResourceVersion -= 20
			}
			s.ops = append(s.ops, op)
			for reader := range 4 {
				s.add(readers.Record{What: readers.Event, Reader: reader, Type: typ, UID: uid, Version: version, Ended: at + int64(reader)*ms})
			}
			for reader := 1; reader < 3; reader++ {
				if reader == 2 && pod == 3 {
					s.add(readers.Record{What: readers.Delivery, Reader: 2, Type: typ, UID: uid, Version: version, Started: at + 4*ms, Ended: at + 4*ms, Code: 500})
				}
				s.add(readers.Record{What: readers.Delivery, Reader: reader, Type: typ, UID: uid, Version: version, Started: at + 5*ms, Ended: at + 6*ms, Code: 204, Signed: true})
			}
		}
	}
	for i := range 5 { // which are there all the time
		s.ops = append(s.ops, oplog.Record{Phase: oplog.PhasePrepare, Type: oplog.TypeCreate, Kind: "Pod", UID: fmt.Sprint("early-", i), ResourceVersion: uint64(i + 1), Status: 201})
	}
	s.add(readers.Record{What: readers.Event, Reader: 1, Type: bookmark, Version: version, Ended: 1990 * ms}, readers.Record{What: readers.Stopped, Ended: 2000 * ms})
	return s
}

func (s *story) add(r ...readers.Record) { s.log = append(s.log, r...) }

// change edits the records that match, or drops those of which keep is false.
func (s *story) change(match func(*readers.Record) bool, edit func(*readers.Record) (keep bool)) {
	var log []readers.Record
	for _, r := range s.log {
		if match(&r) && !edit(&r) {
			continue
		}
		log = append(log, r)
	}
	s.log = log
}

func (s *story) judge(t *testing.T) (*result.Cell, error) {
	t.Helper()
	out := &result.Cell{Readers: &result.Readers{}, Checks: map[string]result.Check{}}
	return out, judgeReaders(t.Context(), reading{scenario: &s.scenario, log: sequence(s.log), ops: sequence(s.ops)}, out)
}

func sequence[R any](all []R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func TestGoodStory(t *testing.T) {
	s := newStory()
	out, err := s.judge(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.InvalidReasons) > 0 {
		t.Errorf("invalid: %q", out.InvalidReasons)
	}
	for name, judged := range map[string]int64{"R1": 110, "R2": 90, "R3": 60} {
		if c := out.Checks[name]; c.Verdict != result.Pass || c.Judged != judged {
			t.Errorf("%s: %+v", name, c)
		}
	}
	f := out.Readers
	if q := f.Get; q.Planned != 100 || q.Sent != 100 || q.Done != 100 || len(q.Errors) > 0 || *q.QPS != 100 || int(q.FromIntent.P50) != 3 {
		t.Errorf("GETs: %+v", q)
	}
	if q := f.List; q.Planned != 10 || q.Done != 10 || int(q.FromIntent.Max) != 5 {
		t.Errorf("LISTs: %+v", q)
	}
	if w := f.Watches; w.Count != 3 || w.Changes != 30 || w.Events != 90 || w.Missed+w.Resumed+w.Relisted != 0 || int(w.LagMs.Max+0.5) != 7 {
		t.Errorf("watches: %+v, lag %+v", w, w.LagMs)
	}
	if w := f.Webhooks; w.Receivers != 2 || w.Attempts != 63 || w.Delivered != 60 || w.Missed+w.Repeated != 0 || int(w.LagMs.Max+0.5) != 9 || w.LagMs.Count != 60 {
		t.Errorf("webhooks: %+v, lag %+v", w, w.LagMs)
	}
}

func of(what string, reader int, version uint64) func(*readers.Record) bool {
	return func(r *readers.Record) bool {
		return r.What == what && r.Reader == reader && (version == 0 || r.Version == version)
	}
}

func drop(*readers.Record) bool { return false }

// swap exchanges the versions and objects of two records of a reader.
func swap(what string, reader int, a, b uint64) func(*story) {
	return func(s *story) {
		var i, j int
		for n := range s.log {
			if of(what, reader, a)(&s.log[n]) {
				i = n
			}
			if of(what, reader, b)(&s.log[n]) {
				j = n
			}
		}
		x, y := &s.log[i], &s.log[j]
		x.Version, x.UID, x.Type, y.Version, y.UID, y.Type = y.Version, y.UID, y.Type, x.Version, x.UID, x.Type
	}
}

// Each bad history is rejected, with the error of what is wrong with it.
func TestBadStories(t *testing.T) {
	edit := func(match func(*readers.Record) bool, how func(*readers.Record)) func(*story) {
		return func(s *story) { s.change(match, func(r *readers.Record) bool { how(r); return true }) }
	}
	for name, c := range map[string]struct {
		spoil func(*story)
		check string
		err   error
		many  int64
	}{
		"another object": {edit(func(r *readers.Record) bool { return r.What == readers.Get && r.Intended == 1010*ms }, func(r *readers.Record) { r.Items, r.Error = 0, "it is not the object asked for" }), "R1", errAnswer, 1},
		"an empty list":  {edit(func(r *readers.Record) bool { return r.What == readers.List && r.Intended == 1010*ms }, func(r *readers.Record) { r.Items = 0 }), "R1", errShort, 1},
		"a short list":   {edit(func(r *readers.Record) bool { return r.What == readers.List && r.Intended == 1010*ms }, func(r *readers.Record) { r.Items = 4 }), "R1", errShort, 1},
		"a missed event": {func(s *story) { s.change(of(readers.Event, 2, 40), drop) }, "R2", errReliable, 1},
		"no last event":  {func(s *story) { s.change(of(readers.Event, 2, 80), drop) }, "R2", errReliable, 1},
		"an event twice": {func(s *story) {
			s.log = append(s.log, readers.Record{What: readers.Event, Reader: 1, Type: "ADDED", UID: "uid-9", Version: 40, Ended: 1995 * ms})
		}, "R2", errUnique, 1},
		"two events swapped": {swap(readers.Event, 3, 40, 42), "R2", errOrdered, 1},
		"a version that never was": {func(s *story) {
			s.log = append(s.log, readers.Record{What: readers.Event, Reader: 1, Type: "ADDED", UID: "uid-9", Version: 41, Ended: 1995 * ms})
		}, "R2", errReliable, 1},
		"another type": {edit(of(readers.Event, 1, 40), func(r *readers.Record) { r.Type = "MODIFIED" }), "R2", errReliable, 1},
		"another uid":  {edit(of(readers.Event, 1, 40), func(r *readers.Record) { r.UID = "x" }), "R2", errReliable, 1},
		"early bookmark": {func(s *story) {
			s.change(of(readers.Event, 3, 40), func(r *readers.Record) bool { r.Type = bookmark; r.Version = 60; return true })
		}, "R2", errBookmark, 0},
		"deliveries swapped": {func(s *story) { swap(readers.Delivery, 1, 22, 42)(s) }, "R3", errOrdered, 1},
		"one not delivered":  {func(s *story) { s.change(of(readers.Delivery, 1, 60), drop) }, "R3", errReliable, 1},
		"one not accepted":   {edit(of(readers.Delivery, 1, 60), func(r *readers.Record) { r.Code = 500 }), "R3", errReliable, 1},
		"a false delivery":   {edit(of(readers.Delivery, 2, 60), func(r *readers.Record) { r.Type = "ADDED" }), "R3", errReliable, 1},
		"no delivery at all": {edit(of(readers.Delivery, 2, 60), func(r *readers.Record) { r.Code, r.Error = 400, "its body is not an event" }), "R3", errAnswer, 2},
		"no signatures":      {edit(of(readers.Delivery, 1, 0), func(r *readers.Record) { r.Signed = false }), "R3", errUnsigned, 30},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			c.spoil(s)
			out, err := s.judge(t)
			if err != nil {
				t.Fatal(err)
			}
			got := out.Checks[c.check]
			if got.Verdict != result.Fail || c.many > 0 && got.Violations != c.many || !strings.Contains(got.Counterexample+strings.Join(got.Further, " "), c.err.Error()) {
				t.Errorf("%+v, want %d of %q", got, c.many, c.err)
			}
			for _, other := range []string{"R1", "R2", "R3"} {
				if x, ok := out.Checks[other]; ok && other != c.check && x.Verdict != result.Pass {
					t.Errorf("%s: %+v", other, x)
				}
			}
		})
	}
}

// An error status is an error and no fast answer; one that is late counts from when it was due.
func TestErrorsAreNoAnswers(t *testing.T) {
	s := newStory()
	n := 0
	s.change(func(r *readers.Record) bool { return r.What == readers.Get }, func(r *readers.Record) bool {
		switch n++; {
		case n <= 5:
			r.Code, r.Items, r.Ended = 429, 0, r.Started+1
		case n <= 8:
			r.Code, r.Items, r.Error = 0, 0, "timeout"
		case n == 9:
			r.Started, r.Ended = r.Intended+500*ms, r.Intended+501*ms
		}
		return true
	})
	out, err := s.judge(t)
	if err != nil {
		t.Fatal(err)
	}
	if q := out.Readers.Get; q.Done != 92 || q.Errors["429"] != 5 || q.Errors["timeout"] != 3 || q.FromIntent.Count != 92 || int(q.FromIntent.Max+0.5) != 501 {
		t.Errorf("%+v, %+v", q, q.FromIntent)
	}
	if len(out.InvalidReasons) > 0 {
		t.Errorf("%q", out.InvalidReasons)
	}
}

// A query that the reader itself gives up is no answer, and none that is wrong; one that the server cuts is.
func TestAnswersThatAreGivenUp(t *testing.T) {
	for reason, want := range map[string]string{readers.CutOff: result.Pass, readers.Timeout: result.Fail, "the body is not complete": result.Fail} {
		s := newStory()
		s.change(func(r *readers.Record) bool { return r.What == readers.Get && r.Intended == 2000*ms }, func(r *readers.Record) bool {
			r.Items, r.Error = 0, reason
			return true
		})
		out, err := s.judge(t)
		if err != nil {
			t.Fatal(err)
		}
		if q := out.Readers.Get; q.Done != 99 || q.Errors[reason] != 1 || out.Checks["R1"].Verdict != want {
			t.Errorf("%s: %+v, %+v, want %s", reason, q, out.Checks["R1"], want)
		}
	}
}

// The last interval of the rate may have its query when the queries end, which is then no more than was planned.
func TestPlannedQueries(t *testing.T) {
	s := newStory()
	s.change(func(r *readers.Record) bool { return r.What == readers.Stopped }, func(r *readers.Record) bool { r.Ended = 1995 * ms; return true })
	out, err := s.judge(t)
	if err != nil {
		t.Fatal(err)
	}
	if q := out.Readers.Get; q.Planned != 100 || q.Sent != 100 {
		t.Errorf("%+v", q)
	}
	s.change(func(r *readers.Record) bool { return r.What == readers.Get && r.Intended > 1980*ms }, drop)
	if out, err = s.judge(t); err != nil {
		t.Fatal(err)
	}
	if q := out.Readers.Get; q.Planned != 99 || q.Sent != 98 {
		t.Errorf("two are missing: %+v", q)
	}
}

// A LIST lacks what was there before and never deleted, whether or not it was changed.
func TestListsOfWhatWasThere(t *testing.T) {
	s := newStory()
	for i := range 3 { // beside the story's 5
		s.ops = append(s.ops, oplog.Record{Phase: oplog.PhasePrepare, Type: oplog.TypeCreate, Kind: "Pod", UID: fmt.Sprint("hot-", i), ResourceVersion: uint64(i + 1), Status: 201})
	}
	for uid, version := range map[string]uint64{"hot-2": 7, "uid-0": 62} { // one is deleted before the load
		s.ops = append(s.ops, oplog.Record{Phase: oplog.PhaseOutside, Type: oplog.TypeDelete, Kind: "Pod", UID: uid, ResourceVersion: version, Status: 200})
	}
	out, err := s.judge(t)
	if err != nil || out.Checks["R1"].Verdict != result.Pass {
		t.Fatal(out.Checks["R1"], err)
	}
	s.change(func(r *readers.Record) bool { return r.What == readers.List && r.Intended == 1010*ms }, func(r *readers.Record) bool { r.Items = 6; return true })
	if out, err = s.judge(t); err != nil || out.Checks["R1"].Violations != 1 {
		t.Errorf("%+v, %v", out.Checks["R1"], err)
	}
}

// What had to be written more than once counts from when it was due, as any other.
func TestLagOfRetriedWrites(t *testing.T) {
	s := newStory()
	s.ops[0].Attempt, s.ops[0].Intended = 1, s.ops[0].Intended-500*ms
	out, err := s.judge(t)
	if err != nil {
		t.Fatal(err)
	}
	if w := out.Readers.Watches; w.LagMs.Count != 90 || int(w.LagMs.Max) != 507 {
		t.Errorf("%+v", w.LagMs)
	}
}

// A watch that goes on where it was missed nothing; one that began anew skipped, which shows.
func TestWatchesThatEnd(t *testing.T) {
	s := newStory()
	s.add(readers.Record{What: readers.Closed, Reader: 1, Version: 80}, readers.Record{What: readers.Opened, Reader: 1, Version: 80})
	s.change(func(r *readers.Record) bool {
		return r.What == readers.Event && r.Reader == 3 && r.Version > 60 && r.Version < 70
	}, func(r *readers.Record) bool {
		if r.Version == 62 {
			*r = readers.Record{What: readers.Closed, Reader: 3, Version: 60, Code: 410}
			return true
		}
		if r.Version == 68 {
			*r = readers.Record{What: readers.Opened, Reader: 3, Version: 69}
			return true
		}
		return false
	})
	out, err := s.judge(t)
	if err != nil {
		t.Fatal(err)
	}
	if w := out.Readers.Watches; w.Resumed != 1 || w.Relisted != 1 || w.Missed != 0 || w.Events != 86 || out.Checks["R2"].Verdict != result.Pass {
		t.Errorf("%+v, %+v", w, out.Checks["R2"])
	}
}

// A watch begins anew after a 410, also where nothing happened meanwhile.
func TestQuietRelist(t *testing.T) {
	s := newStory()
	s.add(readers.Record{What: readers.Closed, Reader: 1, Version: 80, Code: 410}, readers.Record{What: readers.Closed, Reader: 1, Version: 80, Error: "EOF"},
		readers.Record{What: readers.Opened, Reader: 1, Version: 80},
		readers.Record{What: readers.Closed, Reader: 1, Version: 80}, readers.Record{What: readers.Opened, Reader: 1, Version: 80})
	out, err := s.judge(t)
	if err != nil {
		t.Fatal(err)
	}
	if w := out.Readers.Watches; w.Resumed != 1 || w.Relisted != 1 {
		t.Errorf("%+v", w)
	}
}

// The record has a delivery when it ends. What counts is when it came.
func TestDeliveriesThatEndLate(t *testing.T) {
	s := newStory()
	var late readers.Record
	s.change(of(readers.Delivery, 1, 22), func(r *readers.Record) bool { late = *r; return false })
	late.Ended = 1999 * ms
	s.add(late)
	out, err := s.judge(t)
	if err != nil || out.Checks["R3"].Verdict != result.Pass {
		t.Errorf("%+v, %v", out.Checks["R3"], err)
	}
}

// A delivery that is repeated is none too many.
func TestRepeatedDelivery(t *testing.T) {
	s := newStory()
	s.add(readers.Record{What: readers.Delivery, Reader: 1, Type: "DELETED", UID: "uid-9", Version: 80, Started: 1999 * ms, Ended: 1999 * ms, Code: 204, Signed: true})
	out, err := s.judge(t)
	if err != nil {
		t.Fatal(err)
	}
	if w := out.Readers.Webhooks; w.Repeated != 1 || w.Delivered != 61 || out.Checks["R3"].Verdict != result.Pass {
		t.Errorf("%+v, %+v", w, out.Checks["R3"])
	}
}

// A run that shows nothing is invalid.
func TestVacuous(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*story)
		want  string
	}{
		"few GETs": {func(s *story) {
			s.change(func(r *readers.Record) bool { return r.What == readers.Get && r.Intended > 1790*ms }, drop)
		}, "79 of 100 planned GETs were answered (79%); at least 80% are needed"},
		"GETs refused": {func(s *story) {
			s.change(func(r *readers.Record) bool { return r.What == readers.Get }, func(r *readers.Record) bool { r.Code, r.Items = 503, 0; return true })
		}, "0 of 100 planned GETs were answered"},
		"no GET where none is enough": {func(s *story) {
			s.scenario.Limits.MinEvents = 0
			s.change(func(r *readers.Record) bool { return r.What == readers.Get }, drop)
		}, "0 of 100 planned GETs"},
		"no LIST": {func(s *story) { s.change(func(r *readers.Record) bool { return r.What == readers.List }, drop) }, "0 of 10 planned LISTs"},
		"no events": {func(s *story) {
			s.change(func(r *readers.Record) bool { return r.What == readers.Event && r.Reader > 0 }, drop)
		}, "0 of 90 events reached the watches"},
		"few events": {func(s *story) {
			s.change(func(r *readers.Record) bool { return r.What == readers.Event && r.Reader > 0 && r.Version > 64 }, drop)
		}, "66 of 90 events reached the watches"},
		"no delivery": {func(s *story) {
			s.change(func(r *readers.Record) bool { return r.What == readers.Delivery && r.Error == "" }, drop)
		}, "0 of 60 notifications reached the receivers"},
		"nothing happened": {func(s *story) { s.ops = nil }, "the load wrote no Pod"},
		"a blind control": {func(s *story) {
			s.change(of(readers.Event, readers.Control, 40), drop)
		}, "the control, a watch straight from the apiserver, lacks 1 of 30 writes, the first of version 40"},
		"a control that lists": {func(s *story) {
			s.add(readers.Record{What: readers.Closed, Reader: readers.Control, Code: 410})
		}, "the control had to list anew"},
	} {
		s := newStory()
		c.spoil(s)
		out, err := s.judge(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(strings.Join(out.InvalidReasons, "; "), c.want) {
			t.Errorf("%s: %q, want %q", name, out.InvalidReasons, c.want)
		}
	}
}

// A record that cannot be judged is an error.
func TestUnusable(t *testing.T) {
	broken := errors.New("broken")
	for name, spoil := range map[string]func(*story){
		"no control": func(s *story) { s.change(of(readers.Opened, readers.Control, 0), drop) },
		"no end":     func(s *story) { s.change(func(r *readers.Record) bool { return r.What == readers.Stopped }, drop) },
		"a control that goes back": func(s *story) {
			s.log = append(s.log, readers.Record{What: readers.Event, Type: "ADDED", UID: "u", Version: 30})
		},
	} {
		s := newStory()
		spoil(s)
		if _, err := s.judge(t); err == nil {
			t.Errorf("%s: judged", name)
		}
	}
	s := newStory()
	err := judgeReaders(t.Context(), reading{scenario: &s.scenario, log: func(yield func(readers.Record, error) bool) {
		yield(readers.Record{}, broken)
	}}, &result.Cell{})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}
