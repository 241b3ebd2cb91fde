package check

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// life of one Pod that is created, changed twice and deleted.
var onePod = []string{
	"10 create web u1 100", "20 running web u1 105", "30 patch web u1 110",
}

var recreated = append(slices.Clone(onePod), "40 delete web u1", "50 create web u2 120", "60 running web u2 125")

func unservedPods(from, to int64) []history.Mark {
	return []history.Mark{{Time: at(from), What: history.MarkUnserved, Kind: "Pod"}, {Time: at(to), What: history.MarkServed, Kind: "Pod"}}
}

// startedAt are the marks of watcher processes, each of which was ready at once; the one before was killed.
func startedAt(times ...int64) (marks []history.Mark) {
	for i, ms := range times {
		if i > 0 {
			marks = append(marks, history.Mark{Time: at(ms - 1), What: history.MarkKilled})
		}
		marks = append(marks, history.Mark{Time: at(ms), What: history.MarkStarted}, history.Mark{Time: at(ms), What: history.MarkReady})
	}
	return marks
}

type storyCase struct {
	name  string
	story story
	fails string // guarantees, "G2 G3"; all others must not fail
}

var stories = []storyCase{
	// Good histories.
	{name: "every version in order", story: story{ops: onePod,
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}}},
	{name: "a replay of the same version", story: story{ops: onePod,
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "26 PUT web u1 105", "35 PUT web u1 110", "36 PUT web u1 110"}}},
	{name: "merged versions", story: story{ops: onePod, requests: []string{"35 PUT web u1 110"}}},
	{name: "deleted", story: story{ops: recreated[:4],
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110", "45 DELETE web"}}},
	{name: "deleted by somebody else, before the generator knew", story: story{ops: append(slices.Clone(onePod), "30 delete web u1 110 outside"),
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110", "45 DELETE web"}}},
	{name: "deleted before anything was sent", story: story{ops: recreated[:4], requests: []string{"45 DELETE web"}}},
	{name: "created again", story: story{ops: recreated,
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110", "45 DELETE web", "55 PUT web u2 120", "65 PUT web u2 125"}}},
	{name: "created again, the deletion merged away", story: story{ops: recreated,
		requests: []string{"15 PUT web u1 100", "65 PUT web u2 125"}}},
	{name: "a DELETE repeated after an unknown outcome, before the next uid", story: story{ops: slices.Concat(recreated, []string{"70 delete web u2"}),
		requests: []string{"15 PUT web u1 110", "75 DELETE web late", "80 DELETE web", "85 PUT web u2 120", "90 DELETE web"}}},
	{name: "a failed operation leaves no version", story: story{ops: append(slices.Clone(onePod), "40 patch web u1 115 failed"),
		requests: []string{"35 PUT web u1 110"}}},
	{name: "late apply past the fence, repaired", story: story{ops: onePod, meta: Meta{Mode: ModeFaithful, SyncPeriod: 2e9},
		requests: []string{"5100 PUT web u1 110", "25 PUT web u1 105 applied=6000 late", "9900 PUT web u1 110"}}},
	{name: "answered after the client gave up, past the fence, repaired", story: story{ops: onePod, meta: Meta{StorageTimeout: 5e9, SyncPeriod: 2e9},
		requests: []string{"10100 PUT web u1 110", "25 PUT web u1 105 applied=11020 slow", "12500 PUT web u1 110"}}},
	{name: "late apply past the fence, storage saw 0.4 s late that its client had given up, repaired", story: story{ops: onePod, meta: Meta{StorageTimeout: 1e9, SyncPeriod: 2e9},
		requests: []string{"6040 PUT web u1 110", "25 PUT web u1 105 applied=7000 late gone=1425", "8500 PUT web u1 110"}}},
	{name: "late apply past the fence, which began when the connection was reset, repaired", story: story{ops: onePod, meta: Meta{StorageTimeout: 5e9, SyncPeriod: 2e9},
		requests: []string{"5030 PUT web u1 110", "25 PUT web u1 105 applied=6000 late gone=27", "7500 PUT web u1 110"}}},
	{name: "applied twice, the second times after newer state, a DELETE of its predecessor too, repaired", story: story{ops: slices.Concat(recreated, []string{"19000 delete web u2"}), meta: Meta{SyncPeriod: 2e9},
		requests: []string{"15 PUT web u1 110", "45 DELETE web twice", "55 PUT web u2 120 twice", "65 PUT web u2 125", "45 DELETE web applied=2050 late twice", "55 PUT web u2 120 applied=2060 late twice", "3000 PUT web u2 125", "19005 DELETE web"}}},
	{name: "late apply past the fence, the object deleted meanwhile", story: story{ops: slices.Concat(onePod, []string{"6100 delete web u1"}), meta: Meta{SyncPeriod: 2e9},
		requests: []string{"5100 PUT web u1 110", "25 PUT web u1 105 applied=6000 late", "6500 DELETE web"}}},
	{name: "a DELETE applied past the fence removes the new uid, repaired", story: story{ops: recreated, meta: Meta{SyncPeriod: 2e9},
		requests: []string{"15 PUT web u1 110", "5100 PUT web u2 120", "45 DELETE web applied=5800 late", "6500 PUT web u2 125"}}},
	{name: "late apply of a watcher that was killed, repaired", story: story{ops: onePod, meta: Meta{SyncPeriod: 2e9}, marks: startedAt(5, 30),
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 applied=40 late", "50 PUT web u1 110"}}},
	{name: "answered before it was applied, repaired", story: story{ops: onePod, meta: Meta{SyncPeriod: 2e9},
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 applied=40 responded=26", "50 PUT web u1 110"}}},
	{name: "applied twice, the second time over newer state, repaired", story: story{ops: onePod, meta: Meta{SyncPeriod: 2e9},
		requests: []string{"25 PUT web u1 105 twice", "35 PUT web u1 110", "25 PUT web u1 105 applied=60 late twice", "70 PUT web u1 110"}}},
	{name: "late apply past the fence, cut before a repair", story: story{ops: onePod, meta: Meta{Cut: true},
		requests: []string{"5100 PUT web u1 110", "25 PUT web u1 105 applied=6000 late"}}},
	{name: "an Event's deletion is not sent", story: story{ops: []string{"10 create Event:e u1 100", "40 delete Event:e u1"},
		requests: []string{"15 PUT Event:e u1 100"}}},
	{name: "filtered by name", story: story{ops: []string{"10 create kubernetes u1 100", "11 create web u2 101"},
		meta: Meta{Rules: Rules{IgnoreNames: []string{"kubernetes"}}}, requests: []string{"15 PUT web u2 101"}}},
	{name: "a heartbeat is skipped", story: story{ops: []string{"10 create Node:n u1 100", "20 heartbeat Node:n u1 105"},
		requests: []string{"15 PUT Node:n u1 100"}, storage: []string{"Node:n u1 100 same"}, apiserver: []string{"Node:n u1 105 same"}}},
	{name: "a heartbeat after the apiserver was read", story: story{ops: []string{"10 create Lease:n u1 100", "20 heartbeat Lease:n u1 105", "25 heartbeat Lease:n u1 107"},
		requests: []string{"15 PUT Lease:n u1 100", "26 PUT Lease:n u1 107"}, apiserver: []string{"Lease:n u1 105"}}},
	{name: "removed while not served, back with the same uid", story: story{ops: onePod, marks: unservedPods(40, 60),
		requests: []string{"35 PUT web u1 110", "45 DELETE web", "65 PUT web u1 110"}}},
	{name: "removed while not served, back and deleted", story: story{ops: slices.Concat(onePod, []string{"70 delete web u1"}), marks: unservedPods(40, 60),
		requests: []string{"35 PUT web u1 110", "45 DELETE web", "65 PUT web u1 110", "75 DELETE web"}}},

	// Bad histories.
	{name: "a heartbeat and a change after the apiserver was read, which none can be", fails: "G1", story: story{ops: []string{"10 create Lease:n u1 100", "20 patch Lease:n u1 105", "25 heartbeat Lease:n u1 107"},
		requests: []string{"15 PUT Lease:n u1 100", "21 PUT Lease:n u1 105", "26 PUT Lease:n u1 107"}, apiserver: []string{"Lease:n u1 100"}}},
	{name: "other contents of a Node at a heartbeat's version", fails: "G1", story: story{ops: []string{"10 create Node:n u1 100", "20 heartbeat Node:n u1 105"},
		requests: []string{"15 PUT Node:n u1 100", "26 PUT Node:n u1 105"}, apiserver: []string{"Node:n u1 100 same"}, storage: []string{"Node:n u1 105 other"}}},
	{name: "other contents of the apiserver's version after heartbeats", fails: "G1", story: story{ops: []string{"10 create Lease:n u1 100", "20 heartbeat Lease:n u1 105"},
		requests: []string{"15 PUT Lease:n u1 100", "26 PUT Lease:n u1 105"}, apiserver: []string{"Lease:n u1 105"}, storage: []string{"Lease:n u1 105 other"}}},
	{name: "late apply, the next write not fenced from when its client gave up, repaired", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{StorageTimeout: 5e9, SyncPeriod: 2e9},
		requests: []string{"5030 PUT web u1 110", "25 PUT web u1 105 applied=8025 late", "9900 PUT web u1 110"}}},
	{name: "late apply, the next write not fenced from when its client was gone, repaired", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{StorageTimeout: 10e9, SyncPeriod: 2e9},
		requests: []string{"12000 PUT web u1 110", "25 PUT web u1 105 applied=13000 late gone=3025", "13100 PUT web u1 110"}}},
	{name: "applied twice without an answer, the next write not fenced, repaired", fails: "G2 G3 G10 G11", story: story{ops: onePod, meta: Meta{SyncPeriod: 2e9},
		requests: []string{"25 PUT web u1 105 late twice gone=27", "35 PUT web u1 110", "25 PUT web u1 105 applied=60 late twice gone=27", "70 PUT web u1 110"}}},
	{name: "late apply past the fence, without a synchronizer, written again by chance", fails: "G2 G3 G10", story: story{ops: onePod,
		requests: []string{"5100 PUT web u1 110", "25 PUT web u1 105 applied=6000 late", "9900 PUT web u1 110"}}},
	{name: "late apply past the fence, first a stale write, repaired too late", fails: "G2 G3 G10 G11", story: story{ops: onePod, meta: Meta{SyncPeriod: 2e9},
		requests: []string{"5100 PUT web u1 110", "25 PUT web u1 105 applied=6000 late", "6500 PUT web u1 105", "20000 PUT web u1 110"}}},
	{name: "late apply of a deleted uid past the fence, first written again, removed too late", fails: "G4 G10 G11", story: story{ops: recreated[:4], meta: Meta{SyncPeriod: 2e9},
		requests: []string{"15 PUT web u1 100", "5100 DELETE web", "25 PUT web u1 110 applied=6000 late", "6500 PUT web u1 110", "20000 DELETE web"}}},
	{name: "a DELETE applied past the fence, asked for again, repaired too late", fails: "G5 G10", story: story{ops: recreated, meta: Meta{SyncPeriod: 2e9},
		requests: []string{"15 PUT web u1 110", "5100 PUT web u2 120", "45 DELETE web applied=5800 late", "6500 DELETE web", "20000 PUT web u2 125"}}},
	{name: "a DELETE applied past the fence, never repaired, the object deleted long after", fails: "G5 G10", story: story{ops: slices.Concat(recreated, []string{"60000 delete web u2"}), meta: Meta{SyncPeriod: 2e9},
		requests: []string{"15 PUT web u1 110", "5100 PUT web u2 120", "45 DELETE web applied=5800 late", "60005 DELETE web rejected"}}},
	{name: "late apply while another watcher lives, repaired", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{SyncPeriod: 2e9},
		marks:    []history.Mark{{Time: at(5), What: history.MarkStarted}, {Time: at(6), What: history.MarkReady}, {Time: at(30), What: history.MarkStarted}, {Time: at(31), What: history.MarkReady}},
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 applied=40 late", "50 PUT web u1 110"}}},
	{name: "removed while not served, written again before it is", fails: "G4 G11", story: story{ops: onePod, marks: unservedPods(40, 60),
		requests: []string{"35 PUT web u1 110", "45 DELETE web", "55 PUT web u1 110"}}},
	{name: "removed before it was not served", fails: "G3", story: story{ops: onePod, marks: unservedPods(40, 60),
		requests: []string{"35 PUT web u1 110", "38 DELETE web", "65 PUT web u1 110"}}},
	{name: "removed after it was served again", fails: "G1 G3", story: story{ops: onePod, marks: unservedPods(40, 60),
		requests: []string{"35 PUT web u1 110", "65 DELETE web"}}},
	{name: "another kind was not served", fails: "G3", story: story{ops: onePod, marks: []history.Mark{{Time: at(40), What: history.MarkUnserved, Kind: "Node"}},
		requests: []string{"35 PUT web u1 110", "45 DELETE web", "65 PUT web u1 110"}}},
	{name: "written after its deletion, which was after its return", fails: "G1 G4 G11", story: story{
		ops: slices.Concat(onePod, []string{"70 delete web u1"}), marks: unservedPods(40, 60),
		requests: []string{"35 PUT web u1 110", "45 DELETE web", "65 PUT web u1 110", "75 DELETE web", "76 PUT web u1 110"}}},
	{name: "two versions swapped", fails: "G2 G3", story: story{ops: onePod,
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 applied=41", "45 PUT web u1 110"}}},
	{name: "two versions swapped at the end", fails: "G1 G2 G3", story: story{ops: onePod,
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110", "25 PUT web u1 105 applied=41"}}},
	{name: "late apply within the fence, repaired", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{Mode: ModeFaithful},
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 applied=40 late", "50 PUT web u1 110"}}},
	{name: "late apply within the fence of a longer storage timeout, repaired", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{StorageTimeout: 10e9},
		requests: []string{"9000 PUT web u1 110", "25 PUT web u1 105 applied=9500 late", "9900 PUT web u1 110"}}},
	{name: "late apply within the fence, cut", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{Cut: true},
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 applied=40 late"}}},
	{name: "answered after the client gave up, within the fence, repaired", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{StorageTimeout: 5e9},
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 slow", "50 PUT web u1 110"}}},
	{name: "a DELETE applied within the fence removes the new uid, repaired", fails: "G5 G10", story: story{ops: recreated,
		requests: []string{"15 PUT web u1 110", "55 PUT web u2 120", "45 DELETE web applied=58 late", "65 PUT web u2 125"}}},
	{name: "an older version sent later, unanswered, repaired", fails: "G2 G3", story: story{ops: onePod,
		requests: []string{"35 PUT web u1 110", "45 PUT web u1 105 late", "60 PUT web u1 110"}}},
	{name: "late apply past the fence, repaired too late", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{SyncPeriod: 2e9},
		requests: []string{"5100 PUT web u1 110", "25 PUT web u1 105 applied=6000 late", "10100 PUT web u1 110"}}},
	{name: "late apply past the fence, not repaired", fails: "G1 G2 G3 G10", story: story{ops: onePod,
		requests: []string{"5100 PUT web u1 110", "25 PUT web u1 105 applied=6025 late"}}},
	{name: "late apply of a watcher that was killed later", fails: "G2 G3 G10", story: story{ops: onePod, marks: startedAt(5, 45),
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 applied=40 late", "50 PUT web u1 110"}}},
	{name: "late apply under preconditions", fails: "G2 G3 G10", story: story{ops: onePod, meta: Meta{Mode: ModeConditional},
		requests: []string{"35 PUT web u1 110", "25 PUT web u1 105 applied=40 late", "50 PUT web u1 110"}}},
	{name: "an old request replayed over newer state", fails: "G2 G3 G11", story: story{ops: onePod,
		requests: []string{"25 PUT web u1 105", "35 PUT web u1 110", "45 PUT web u1 105", "50 PUT web u1 110"}}},
	{name: "older uid over the newer one", fails: "G1 G3 G5", story: story{ops: recreated,
		requests: []string{"65 PUT web u2 125", "35 PUT web u1 110 applied=71"}}},
	{name: "written after its deletion", fails: "G1 G4", story: story{ops: recreated[:4],
		requests: []string{"15 PUT web u1 100", "45 DELETE web", "35 PUT web u1 110 applied=52"}}},
	{name: "written after its deletion, then the new uid", fails: "G4", story: story{ops: recreated,
		requests: []string{"15 PUT web u1 100", "45 DELETE web", "46 PUT web u1 110", "65 PUT web u2 125"}}},
	{name: "older uid written after the newer one's deletion", fails: "G1 G4 G5", story: story{
		ops:      slices.Concat(recreated, []string{"70 delete web u2"}),
		requests: []string{"65 PUT web u2 125", "75 DELETE web", "35 PUT web u1 110 applied=81"}}},
	{name: "written after a DELETE that found nothing", fails: "G1 G4", story: story{ops: recreated[:4],
		requests: []string{"45 DELETE web", "35 PUT web u1 110 applied=52"}}},
	{name: "the DELETE of the old uid removes the new one", fails: "G1 G5", story: story{ops: recreated,
		requests: []string{"15 PUT web u1 110", "65 PUT web u2 125", "45 DELETE web applied=70"}}},
	{name: "the DELETE of the old uid removes the new one, later written again", fails: "G5", story: story{
		ops:      slices.Concat(recreated, []string{"80 patch web u2 130"}),
		requests: []string{"15 PUT web u1 110", "85 PUT web u2 125", "45 DELETE web applied=86", "84 PUT web u2 130 applied=90"}}},
	{name: "ends with the old uid", fails: "G1 G5 G6", story: story{ops: recreated, requests: []string{"15 PUT web u1 100", "35 PUT web u1 110"}}},
	{name: "a living object deleted", fails: "G1 G3", story: story{ops: onePod,
		requests: []string{"35 PUT web u1 110", "45 DELETE web"}}},
	{name: "resurrected although nobody knows the object", fails: "G4", story: story{noOps: true, noState: true,
		requests: []string{"35 PUT web u1 110", "45 DELETE web", "36 PUT web u1 111 applied=50"}}},
	{name: "the last version lost", fails: "G1 G6", story: story{ops: onePod,
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105"}}},
	{name: "the last version lost, by the op log alone", fails: "G6", story: story{ops: onePod, noState: true,
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105"}}},
	{name: "a deletion lost", fails: "G1 G6", story: story{ops: recreated[:4], requests: []string{"35 PUT web u1 110"}}},
	{name: "never sent", fails: "G1 G6", story: story{ops: onePod, requests: []string{"35 PUT other u9 90"}, apiserver: []string{"web u1 110", "other u9 90"}}},
	{name: "other content under the same version", fails: "G1", story: story{ops: onePod,
		requests: []string{"35 PUT web u1 110"}, storage: []string{"web u1 110 masked-field-still-there"}}},
	{name: "an orphan", fails: "G1", story: story{ops: onePod,
		requests: []string{"35 PUT web u1 110", "36 PUT ghost u7 50"}}},
	{name: "a filtered object in storage", fails: "G1", story: story{ops: onePod, meta: Meta{Rules: Rules{IgnoreNames: []string{"kubernetes"}}},
		requests: []string{"35 PUT web u1 110", "36 PUT kubernetes u7 50"}, apiserver: []string{"web u1 110", "kubernetes u7 50"}}},
}

func TestStories(t *testing.T) {
	var golden strings.Builder
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			v := mustJudge(t, c.story.history(t))
			want := strings.Fields(c.fails)
			if got := failing(v); !slices.Equal(got, want) {
				t.Errorf("failing %v, want %v", got, want)
				for _, g := range got {
					t.Logf("%s: %s", g, v.Checks[g].Counterexample)
				}
			}
			for _, g := range Guarantees {
				writeCheck(&golden, c.name, g, v.Checks[g])
			}
		})
	}
	compareGolden(t, "counterexamples.golden", golden.String())
}

// writeCheck keeps failures and notes that carry figures, not the routine
// reasons for judging nothing.
func writeCheck(b *strings.Builder, name, guarantee string, c result.Check) {
	switch c.Verdict {
	case result.Fail:
		fmt.Fprintf(b, "%s / %s: %d of %d: %s\n", name, guarantee, c.Violations, c.Judged, c.Counterexample)
	case result.Pass:
		if c.Note != "" && !strings.HasPrefix(c.Note, "the watcher gives no counters") {
			fmt.Fprintf(b, "%s / %s: passed: %s\n", name, guarantee, c.Note)
		}
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update to accept):\n%s", path, lineDiff(string(want), got))
	}
}

func lineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var b strings.Builder
	for i := range max(len(w), len(g)) {
		var a, c string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			c = g[i]
		}
		if a != c {
			fmt.Fprintf(&b, "-%s\n+%s\n", a, c)
		}
	}
	return b.String()
}

func mustJudge(t testing.TB, h *History) *Verdict {
	t.Helper()
	v, err := Judge(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(v.Checks)); len(got) != len(Guarantees) {
		t.Fatalf("checks %v", got)
	}
	for g, c := range v.Checks {
		if c.Judged == 0 && c.Verdict != result.NotJudged {
			t.Errorf("%s judged nothing and says %s", g, c.Verdict)
		}
		if c.Verdict == result.Fail && c.Counterexample == "" {
			t.Errorf("%s failed without a counterexample", g)
		}
		if c.Verdict == result.NotJudged && c.Note == "" {
			t.Errorf("%s is not judged and does not say why", g)
		}
	}
	return v
}

func failing(v *Verdict) []string {
	var all []string
	for _, g := range Guarantees {
		if v.Checks[g].Verdict == result.Fail {
			all = append(all, g)
		}
	}
	return all
}

// TestInFlightAtTheCut: what was under way when the watcher of a cut cell was killed shows
// nothing of its fence.
func TestInFlightAtTheCut(t *testing.T) {
	for cut, want := range map[bool]string{true: result.NotJudged, false: result.Pass} {
		s := story{
			ops: onePod, requests: []string{"15 PUT web u1 100", "25 PUT web u1 105 late", "35 PUT web u1 110 late"},
			meta: Meta{Cut: cut, StorageTimeout: 5e9}, marks: []history.Mark{{Time: at(40), What: history.MarkKilled}},
		}
		if got := mustJudge(t, s.history(t)).Checks["G10"]; got.Verdict != want {
			t.Errorf("cut %v: %+v, want %s", cut, got, want)
		}
	}
}
