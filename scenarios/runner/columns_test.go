package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
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
	rec := func(name, uid string, rv uint64) check.StateRecord {
		return check.StateRecord{Kind: "Pod", Namespace: "n", Name: name, UID: uid, ResourceVersion: rv, Digest: uid + string(rune(rv))}
	}
	all := func(r ...check.StateRecord) []check.StateRecord { return r }
	rules := check.Rules{Kinds: []string{"Pod"}}
	for _, tc := range []struct {
		name               string
		want, have, latest []check.StateRecord
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
	s := newSampler(map[string]int{measure.PartyWatcher: a.pid()}, func() *watcher { return now }, &mock{http: newClient(), admin: "http://127.0.0.1:1"})
	s.sample(t.Context())
	s.last = measure.Use{CPUSeconds: 100, Read: 10, Written: 20}
	now = b
	s.sample(t.Context())
	x := s.taken()
	if u := x[1].Parties[measure.PartyWatcher]; len(x) != 2 || u.CPUSeconds < 100 || u.Written < 20 || u.RSSBytes == 0 {
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
