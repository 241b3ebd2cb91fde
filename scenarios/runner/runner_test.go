package runner

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func strategies(t *testing.T, sets ...string) *spec.File {
	t.Helper()
	data, err := os.ReadFile("testdata/strategies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Format{}.Parse("strategies.yaml", data, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSame(t *testing.T) {
	rec := func(name, uid, digest string) history.StateRecord {
		return history.StateRecord{Kind: "Pod", Namespace: "n", Name: name, UID: uid, Digest: digest}
	}
	rules := check.Rules{Kinds: []string{"Pod"}, IgnoreNamespaces: []string{"kube-system"}}
	foreign := rec("x", "u", "d")
	foreign.Namespace = "kube-system"
	for _, tc := range []struct {
		name      string
		api, stor []history.StateRecord
		want      bool
	}{
		{"equal in any order", []history.StateRecord{rec("a", "1", "d"), rec("b", "2", "d")}, []history.StateRecord{rec("b", "2", "d"), rec("a", "1", "d")}, true},
		{"one missing", []history.StateRecord{rec("a", "1", "d")}, nil, false},
		{"one too many", nil, []history.StateRecord{rec("a", "1", "d")}, false},
		{"old content", []history.StateRecord{rec("a", "1", "d")}, []history.StateRecord{rec("a", "1", "e")}, false},
		{"old uid", []history.StateRecord{rec("a", "1", "d")}, []history.StateRecord{rec("a", "2", "d")}, false},
		{"what is ignored need not be there", []history.StateRecord{foreign}, nil, true},
	} {
		if got := history.Difference(wanted(tc.api, rules), tc.stor) == ""; got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
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

func TestEstimateLearns(t *testing.T) {
	p := NewProgress(terminal.New(io.Discard, false, nil))
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	p.begin(jobsOf(strategies(t, "matrix.watcher.strategy=keyed", "matrix.load=light", "repeat=3")), 0)
	p.cell(0)
	_, before := p.estimate()
	now = now.Add(3 * p.expected[0])
	p.finished(result.Cell{})
	if _, after := p.estimate(); after < before || (after-6*p.expected[0]).Abs() > time.Millisecond {
		t.Errorf("cells take three times what was guessed; %s left of three became %s of two, want %s", before, after, 6*p.expected[0])
	}
}

// TestExpectKnowsTheSpeed: a load that is played faster is over sooner.
func TestExpectKnowsTheSpeed(t *testing.T) {
	s := spec.Default()
	s.Cluster.Provider, s.Load.Model, s.Load.Rate, s.Load.Duration = spec.ProviderSimulated, result.ModelOpen, 1, spec.Duration(100*time.Second)
	s.Storage.Latency = "1ms"
	for speed, want := range map[units.Speed]time.Duration{0: 100 * time.Second, 10: 10 * time.Second, units.Unlimited: 0} {
		s.Load.Speed = speed
		if got := expect(s) - cellOverhead; (got - want).Abs() > 100*time.Millisecond {
			t.Errorf("at %s: %s, want %s", speed, got, want)
		}
	}
}

func TestMakeDir(t *testing.T) {
	out := t.TempDir()
	_, a, err := MakeDir(out, "x")
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := MakeDir(out, "x")
	if err != nil || a != "x" || b != "x-2" {
		t.Errorf("%s, %s: %v", a, b, err)
	}
	file := out + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := MakeDir(file, "x"); err == nil || !IsInput(err) || !strings.Contains(err.Error(), "for the run in "+file) {
		t.Errorf("a file for a folder: %v", err)
	}
}

// silent is a process that answers no scrape.
type silent struct{ cmd *exec.Cmd }

func (s silent) Use(ctx context.Context) (history.Use, bool) {
	return local(s.cmd.Process.Pid).use(ctx)
}

func (silent) Metrics(context.Context) ([]byte, history.Scrape, error) {
	return nil, nil, errors.New("no metrics")
}

func sleeping(t *testing.T) silent {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	// Right after its start a process has no memory of its own to show.
	p, err := procstat.Open(cmd.Process.Pid)
	for deadline := time.Now().Add(2 * time.Minute); err == nil && time.Now().Before(deadline); {
		var u procstat.Usage
		if u, err = p.Usage(); u.RSS > 0 {
			return silent{cmd}
		}
	}
	t.Fatalf("it uses no memory: %v", err)
	return silent{}
}

// TestSamplerAddsUpLives: a new process begins at 0, the figures of the cell do not.
func TestSamplerAddsUpLives(t *testing.T) {
	a, b := sleeping(t), sleeping(t)
	now := a
	s := newSampler(func() []metered { return []metered{now} }, silent{})
	s.sample(t.Context())
	s.parties[history.PartyWatcher][0].last = history.Use{CPUSeconds: 100, RSSHighestBytes: 1 << 40, Read: 10, Written: 20}
	now = b
	s.sample(t.Context())
	x := s.taken()
	if u := x[1].Parties[history.PartyWatcher]; len(x) != 2 || u.CPUSeconds < 100 || u.RSSHighestBytes != 1<<40 || u.Written < 20 || u.RSSBytes == 0 {
		t.Errorf("after a restart: %+v", u)
	}
}

// TestSamplerFollowsTheCluster: a part that was started again is read by its new process; the others go on.
func TestSamplerFollowsTheCluster(t *testing.T) {
	w := sleeping(t)
	s := newSampler(func() []metered { return []metered{w} }, silent{})
	etcd, before, after := sleeping(t).cmd.Process.Pid, sleeping(t).cmd.Process.Pid, sleeping(t).cmd.Process.Pid
	for _, apiserver := range []int{before, after} {
		s.cluster(map[string]int{"etcd": etcd, "kube-apiserver": apiserver})
		s.sample(t.Context())
		for _, party := range []string{history.PartyEtcd, history.PartyAPIServer} {
			s.parties[party][0].last.CPUSeconds = 100
		}
	}
	last := s.taken()[1].Parties
	if u, ok := last[history.PartyAPIServer]; !ok || u.CPUSeconds < 100 || u.RSSBytes == 0 {
		t.Errorf("the apiserver's two processes have used %+v", u)
	}
	if u := last[history.PartyEtcd]; u.CPUSeconds >= 100 {
		t.Errorf("the one etcd is counted twice: %+v", u)
	}
}

// TestSamplerCountsShortLives: a watcher that came and went between two samples has used
// what the kernel says, and one that was sampled is not counted twice.
func TestSamplerCountsShortLives(t *testing.T) {
	a, b, c := sleeping(t), sleeping(t), sleeping(t)
	now := a
	s := newSampler(func() []metered { return []metered{now} }, silent{})
	s.sample(t.Context())
	s.parties[history.PartyWatcher][0].last = history.Use{CPUSeconds: 1.5, Read: 10}
	s.ended(a, 2*time.Second)
	s.sample(t.Context()) // it is gone, and the next one is not there yet
	s.ended(b, 3*time.Second)
	now = c
	s.sample(t.Context())
	u := s.taken()[2].Parties[history.PartyWatcher]
	if u.CPUSeconds < 5 || u.CPUSeconds > 6 || u.Read < 10 || u.RSSBytes == 0 {
		t.Errorf("after lives of 2 s and 3 s of CPU: %+v", u)
	}
}

// TestSamplerReadsReplicas: watchers that work side by side are read each, and their sum is the watcher's; one that ended keeps its CPU time and holds
// no memory.
func TestSamplerReadsReplicas(t *testing.T) {
	a, b := sleeping(t), sleeping(t)
	working := []metered{a, b}
	s := newSampler(func() []metered { return working }, silent{})
	s.sample(t.Context())
	s.parties[history.PartyWatcher][0].last.CPUSeconds = 7
	working = working[1:]
	s.ended(a, 8*time.Second)
	s.sample(t.Context())
	x := s.taken()
	sum, first, second := x[0].Parties[history.PartyWatcher], x[0].Parties[history.Replica+"1"], x[0].Parties[history.Replica+"2"]
	if first.RSSBytes == 0 || second.RSSBytes == 0 || sum.RSSBytes != first.RSSBytes+second.RSSBytes {
		t.Errorf("two replicas: %+v and %+v, together %+v", first, second, sum)
	}
	u := x[1].Parties[history.PartyWatcher]
	if _, there := x[1].Parties[history.Replica+"1"]; there || u.CPUSeconds < 8 || u.RSSBytes == 0 || u.RSSBytes > sum.RSSBytes*3/4 {
		t.Errorf("one of them ended: %+v", x[1].Parties)
	}
}
