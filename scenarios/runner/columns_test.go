package runner

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func verdicts(pairs ...string) map[string]result.Check {
	out := map[string]result.Check{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = result.Check{Verdict: pairs[i+1], Judged: 1, Counterexample: "web"}
	}
	return out
}

func TestColumn(t *testing.T) {
	limit := 1.0
	over := result.Fact{Column: "T", Name: "recovery", Unit: "s", Value: 2, Limit: &limit}
	under := result.Fact{Column: "T", Name: "recovery", Unit: "s", Value: 0.5, Limit: &limit, OK: true}
	for _, tc := range []struct {
		name, col string
		checks    map[string]result.Check
		facts     []result.Fact
		want      string
	}{
		{"all hold", "C", verdicts("G1", result.Pass, "G9", result.NotJudged), nil, result.Pass},
		{"the main one was not judged", "C", verdicts("G1", result.NotJudged, "G9", result.Pass), nil, result.NotJudged},
		{"one fails", "C", verdicts("G1", result.Pass, "G12", result.Fail), nil, result.Fail},
		{"a failure the scenario allows is one in the matrix", "O", verdicts("G2", result.Allowed, "G3", result.Pass), nil, result.Fail},
		{"nothing", "T", nil, nil, result.NotJudged},
		{"within the bound", "T", nil, []result.Fact{under}, result.Pass},
		{"over the bound", "T", nil, []result.Fact{under, over}, result.Fail},
		{"a figure of another column", "A", nil, []result.Fact{under}, result.NotJudged},
	} {
		if got := column(tc.col, tc.checks, tc.facts); got.Verdict != tc.want {
			t.Errorf("%s: %+v, want %s", tc.name, got, tc.want)
		}
	}
	if got := column("T", nil, []result.Fact{over}); got.Value != "2 s" || got.Detail != "recovery: 2 s, at most 1" {
		t.Errorf("%+v", got)
	}
}

func TestVacuousIsInvalid(t *testing.T) {
	s := spec.Default()
	s.Storage.Faults = []string{"503:10%", "reset(max=2)"}
	s.Fault = &spec.Fault{Row: "F4", Title: "x", Assert: []string{"C"}}
	cell := result.Cell{Valid: true, Checks: verdicts("G1", result.NotJudged)}
	c := &cellRun{s: s, fired: []firing{{"503", 7, 2}, {"reset", 2, 2}, {"late", 0, 0}}}
	c.fillRow(&cell, nil)
	c.notVacuous(&cell)
	why := strings.Join(cell.InvalidReasons, "\n")
	for _, want := range []string{"the fault 503 hit 2 objects; at least 3 are needed", "the fault late never fired", "column C could not be judged: G1 was not judged"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q lacks %q", why, want)
		}
	}
	if cell.Valid || strings.Contains(why, "reset") {
		t.Errorf("valid %v: %s", cell.Valid, why)
	}
}

func TestBackoffSteps(t *testing.T) {
	for in, want := range map[time.Duration]int{0: 1, 50 * time.Millisecond: 2, time.Second: 5, 10 * time.Second: 9} {
		if got := backoffSteps(in); got != want {
			t.Errorf("%s: %d steps, want %d", in, got, want)
		}
	}
}

func TestBehindOf(t *testing.T) {
	rec := func(name, uid string, rv uint64) history.StateRecord {
		return history.StateRecord{Kind: "Pod", Namespace: "n", Name: name, UID: uid, ResourceVersion: rv, Digest: uid + string(rune(rv))}
	}
	all := func(r ...history.StateRecord) []history.StateRecord { return r }
	rules := check.Rules{Kinds: []string{"Pod"}}
	for _, tc := range []struct {
		name               string
		want, have, latest []history.StateRecord
		behind             string
	}{
		{"equal", all(rec("a", "u", 5)), all(rec("a", "u", 5)), nil, ""},
		{"storage is ahead", all(rec("a", "u", 5)), all(rec("a", "u", 7), rec("b", "v", 8)), nil, ""},
		{"a later object of the name", all(rec("a", "u", 5)), all(rec("a", "v", 9)), nil, ""},
		{"missing", all(rec("a", "u", 5)), nil, nil, "Pod/n/a version 5 is not in storage"},
		{"missing, and still there", all(rec("a", "u", 5)), nil, all(rec("a", "u", 5)), "is not in storage"},
		{"missing, and gone meanwhile", all(rec("a", "u", 5)), nil, all(rec("b", "v", 9)), ""},
		{"old", all(rec("a", "u", 5)), all(rec("a", "u", 4)), nil, "storage holds uid u version 4"},
		{"old, although gone meanwhile", all(rec("a", "u", 5)), all(rec("a", "u", 4)), all(rec("b", "v", 9)), "storage holds uid u version 4"},
		{"an older uid", all(rec("a", "u", 5)), all(rec("a", "t", 2)), nil, "storage holds uid t"},
		{"an orphan", all(rec("a", "u", 5)), all(rec("a", "u", 5), rec("z", "o", 3)), nil, "Pod/n/z version 3 is in storage, the apiserver has no such object"},
	} {
		got := behindOf(tc.want, tc.have, tc.latest, rules)
		if (tc.behind == "") != (got == "") || !strings.Contains(got, tc.behind) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.behind)
		}
	}
}

func TestAbandonedIn(t *testing.T) {
	log := filepath.Join(t.TempDir(), "w.log")
	text := `time=x level=INFO msg="storage answers again" kind=Pod
time=x level=WARN msg="events dropped" reason="not sent before the drain deadline" drainTimeout=4s events=217 kinds.Pod=200 kinds.ConfigMap=17
`
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := abandonedIn(log); n != 217 {
		t.Errorf("%d", n)
	}
	if n := abandonedIn(log + "x"); n != 0 {
		t.Errorf("%d of no log", n)
	}
}

// TestSamplerAddsUpLives: a new process begins at 0, the figures of the cell do not.
func TestSamplerAddsUpLives(t *testing.T) {
	a, b := &watcher{process: play(t, "hangs", child{})}, &watcher{process: play(t, "hangs", child{})}
	a.http, b.http = newClient(), newClient()
	now := a
	s := newSampler(map[string]int{history.PartyWatcher: a.pid()}, func() *watcher { return now }, &mock{http: newClient(), admin: "http://127.0.0.1:1"})
	s.sample(t.Context())
	s.last = history.Use{CPUSeconds: 100, Read: 10, Written: 20}
	now = b
	s.sample(t.Context())
	x := s.taken()
	if u := x[1].Parties[history.PartyWatcher]; len(x) != 2 || u.CPUSeconds < 100 || u.Written < 20 || u.RSSBytes == 0 {
		t.Errorf("after a restart: %+v", u)
	}
}

func TestFaultEnd(t *testing.T) {
	at := func(faults, watch []string) (time.Duration, bool) {
		s := spec.Default()
		s.Storage.Faults, s.Watch.Faults = faults, watch
		c := &cellRun{s: s, faultsSet: 1, loadFinished: 1 + int64(10*time.Second)}
		end, windowed := c.faultEnd()
		return time.Duration(end - 1), windowed
	}
	for _, tc := range []struct {
		faults, watch []string
		end           time.Duration
		windowed      bool
	}{
		{[]string{"refuse(from=1s,for=6s)"}, nil, 7 * time.Second, true},
		{[]string{"503:1%"}, nil, 10 * time.Second, false},
		{[]string{"503(from=1s,for=2s)"}, []string{"gone(4s,from=1s)"}, 5 * time.Second, true},
		{[]string{"503(from=1s,for=20s)"}, nil, 10 * time.Second, false},
		{nil, []string{"close(1s,2s)"}, 10 * time.Second, false},
	} {
		if end, windowed := at(tc.faults, tc.watch); end != tc.end || windowed != tc.windowed {
			t.Errorf("%v %v: %s, %v", tc.faults, tc.watch, end, windowed)
		}
	}
}

// TestTokenProvesNothing: a rotation counts only if the former token is refused at the
// end, the new one is not, and watches had to be opened again.
func TestTokenProvesNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		a    account
		want string // empty: it counts
	}{
		{"as it should be", account{oldAnswer: 401, newAnswer: 200, endedAfter: 3}, ""},
		{"still good", account{oldAnswer: 200, newAnswer: 200, endedAfter: 3}, "answers 200 to the former token, not 401"},
		{"good without rights", account{oldAnswer: 403, newAnswer: 200, endedAfter: 3}, "answers 403 to the former token, not 401"},
		{"nobody is let in", account{oldAnswer: 401, newAnswer: 401, endedAfter: 3}, "answers 401 to the new token, not 200"},
		{"watches stayed open", account{oldAnswer: 401, newAnswer: 200, endedAfter: 2}, "2 watches ended after"},
		{"never asked", account{}, "answers 0 to the former token"},
	} {
		s := spec.Default()
		s.Fault = &spec.Fault{Row: "F27", Title: "x", Assert: []string{"T"}}
		cell := result.Cell{Valid: true}
		c := &cellRun{s: s, account: &tc.a, kinds: []string{"Pod", "ConfigMap", "Namespace"}}
		c.fillRow(&cell, []result.Fact{{Column: "T", OK: true}})
		c.notVacuous(&cell)
		why := strings.Join(cell.InvalidReasons, "\n")
		if cell.Valid != (tc.want == "") || !strings.Contains(why, tc.want) {
			t.Errorf("%s: valid %v, %q", tc.name, cell.Valid, why)
		}
	}
}

// TestLongestDelay counts what was made since a time, and what never came.
func TestLongestDelay(t *testing.T) {
	op := func(uid string, rv uint64, at int64) oplog.Record {
		return oplog.Record{Phase: oplog.PhaseLoad, Type: oplog.TypePatch, Kind: "Pod", Namespace: "a", Name: uid, UID: uid, ResourceVersion: rv, Intended: at, Started: at, Finished: at + 1e6, Status: 200}
	}
	ack := func(uid string, rv uint64, at int64) ledger.Entry {
		return ledger.Entry{Method: "PUT", Kind: "Pod", Namespace: "a", Name: uid, UID: uid, ResourceVersion: rv, Received: at - 1e6, Applied: at, Responded: at, Status: 200, Effect: ledger.EffectReplaced}
	}
	ops := []oplog.Record{op("u1", 1, 1e9), op("u2", 2, 2e9), op("u3", 3, 3e9), op("u4", 4, 4e9)}
	changes := check.Changes(ops, []ledger.Entry{ack("u1", 1, 9e9), ack("u2", 2, 25e8), ack("u3", 3, 4e9)})
	if d := longestDelay(changes, 0); d != (delays{changes: 4, missing: 1, longest: 8}) {
		t.Errorf("%+v", d)
	}
	if d := longestDelay(changes, 2e9); d != (delays{changes: 3, missing: 1, longest: 1}) {
		t.Errorf("since: %+v", d)
	}
	within := func(col, name, unit string, v, limit float64) result.Fact {
		return result.Fact{Column: col, Name: name, Unit: unit, Value: v, Limit: &limit, OK: v <= limit}
	}
	for _, tc := range []struct {
		d    delays
		want bool
	}{{delays{3, 0, 1}, true}, {delays{3, 0, 61}, false}, {delays{3, 1, 1}, false}} {
		if f := delayFact(within, "x", tc.d, 60); f.OK != tc.want {
			t.Errorf("%+v: %+v", tc.d, f)
		}
	}
}

// TestRepaired: only writes that were settled before the cut, lost with it, and sent
// again as they were, show that somebody compared.
func TestRepaired(t *testing.T) {
	b := setback{snapshot: 1e9, cut: 5e9, back: 6e9}
	put := func(uid string, rv uint64, at int64) ledger.Entry {
		return ledger.Entry{Method: "PUT", Kind: "Pod", Namespace: "a", Name: uid, UID: uid, ResourceVersion: rv, Received: at - 1e6, Applied: at, Responded: at + 1e6, Status: 200, Effect: ledger.EffectReplaced}
	}
	del := func(uid string, at int64) ledger.Entry {
		e := put(uid, 0, at)
		e.Method, e.Effect = "DELETE", ledger.EffectDeleted
		return e
	}
	unanswered := func(e ledger.Entry) ledger.Entry { e.Responded, e.Status = 0, 0; return e }
	rejected := func(e ledger.Entry) ledger.Entry { e.Effect, e.Status = ledger.EffectRejected, 503; return e }
	for _, tc := range []struct {
		name    string
		entries []ledger.Entry
		want    int
	}{
		{"sent again", []ledger.Entry{put("u", 5, 2e9), put("u", 5, 7e9)}, 1},
		{"sent again twice", []ledger.Entry{put("u", 5, 2e9), put("u", 5, 7e9), put("u", 5, 8e9)}, 1},
		{"deleted again", []ledger.Entry{del("u", 2e9), del("u", 7e9)}, 1},
		{"never sent again", []ledger.Entry{put("u", 5, 2e9)}, 0},
		{"in the snapshot", []ledger.Entry{put("u", 5, 5e8), put("u", 5, 7e9)}, 0},
		{"a new version", []ledger.Entry{put("u", 5, 2e9), put("u", 6, 7e9)}, 0},
		{"never acknowledged", []ledger.Entry{unanswered(put("u", 5, 2e9)), put("u", 5, 7e9)}, 0},
		{"too near to the cut", []ledger.Entry{put("u", 5, 49e8), put("u", 5, 7e9)}, 0},
		{"a later write was under way", []ledger.Entry{put("u", 5, 2e9), unanswered(put("u", 6, 49e8)), put("u", 6, 7e9)}, 0},
		{"refused the second time", []ledger.Entry{put("u", 5, 2e9), rejected(put("u", 5, 7e9))}, 0},
	} {
		if got := b.repaired(tc.entries); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	s := spec.Default()
	s.Fault = &spec.Fault{Row: "F2", Title: "x", Assert: []string{"T"}}
	cell := result.Cell{Valid: true}
	c := &cellRun{s: s, setbacks: []setback{b}}
	c.fillRow(&cell, []result.Fact{{Column: "T", OK: true}})
	c.notVacuous(&cell)
	if cell.Valid || !strings.Contains(strings.Join(cell.InvalidReasons, ""), "0 rows that storage had acknowledged and lost") {
		t.Errorf("nothing was lost: valid %v, %v", cell.Valid, cell.InvalidReasons)
	}
}

func TestPauseFacts(t *testing.T) {
	const ms = int64(time.Millisecond)
	s := spec.Default()
	s.Storage.Faults = []string{"refuse(from=1s,for=2s)"}
	s.Watcher.PodQueueNum = 1
	s.Events = []spec.Event{{What: spec.EventResize, PodQueueNum: 16}, {What: spec.EventResize, HandlerQueueLen: 7}, {What: spec.EventResize, PodQueueNum: 3}}
	put := func(name string, at int64) ledger.Entry {
		return ledger.Entry{Method: "PUT", Kind: "Pod", Name: name, UID: name, ResourceVersion: 1, Received: at * ms, Applied: at * ms, Responded: (at + 50) * ms, Status: 200, Effect: ledger.EffectCreated}
	}
	for _, tc := range []struct {
		name    string
		resizes []int64 // ms
		ops     int     // of a to f, that wait since long ago
		want    *result.Fact
	}{
		{"within two requests", []int64{9000}, 4, &result.Fact{Value: 0.08, OK: true, Detail: "1 changes, a request takes 50ms, the slowest 50ms"}},
		{"longer", []int64{9000, 9900}, 6, &result.Fact{Value: 0.94, Detail: "2 changes, a request takes 50ms, the slowest 50ms"}},
		{"in the outage, and in the backoff after it", []int64{1500, 7500}, 6, nil},
	} {
		var ops []oplog.Record
		for _, name := range []string{"a", "b", "c", "d", "e", "f"}[:tc.ops] {
			ops = append(ops, oplog.Record{Phase: oplog.PhaseLoad, Type: oplog.TypeCreate, Kind: "Pod", Name: name, UID: name, ResourceVersion: 1, Finished: 1, Status: 200})
		}
		entries := []ledger.Entry{put("a", 1000), put("a", 7400), put("b", 8950), put("c", 9010), put("d", 9090), put("e", 10030), put("f", 10430)}
		c := &cellRun{s: s, evidence: evidence{ops, entries, check.Changes(ops, entries)}}
		for _, at := range tc.resizes {
			c.resizes = append(c.resizes, at*ms)
		}
		var got *result.Fact
		c.pauseFacts(func(col, name, unit string, v, limit float64) result.Fact {
			return result.Fact{Value: v, OK: v <= limit}
		}, func(x result.Fact) { got = &x })
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
