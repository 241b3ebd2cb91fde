package check

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
)

// TestFormerStates: what was sent and then overwritten or deleted is held against what the apiserver served at that
// version, as part of G1. A version that it did not tell is not compared, nor a row that was tampered with, nor
// anything after a restore.
func TestFormerStates(t *testing.T) {
	sent := func(rv uint64, digest, served string) history.StateRecord {
		return history.StateRecord{
			Side: history.SideStorage, Kind: "Pod", Namespace: "a", Name: "web", UID: "u1", ResourceVersion: rv,
			Digest: digest, Served: served,
		}
	}
	good, wrong, untold := sent(100, "a", "a"), sent(105, "other", "b"), sent(105, "other", "")
	explained := wrong
	explained.Differs = `status.phase: stored "Failed", expected "Running"`
	type states = []history.StateRecord
	requests := []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}
	mark := func(what string) []history.Mark {
		return []history.Mark{{Time: at(1000), What: what, Kind: "Pod", Namespace: "a", Name: "web"}}
	}
	for _, tc := range []struct {
		name             string
		former           []history.StateRecord
		marks            []history.Mark
		cut              bool
		violations, more int64 // judged beside the final states
		text             string
	}{
		{"as served", states{good, sent(105, "b", "b")}, nil, false, 0, 2, ""},
		{"another field", states{good, explained}, nil, false, 1, 2,
			`Pod/a/web: uid u1 version 105, which is not the last, was sent with another content: ` + explained.Differs},
		{"another content, and nobody knows where", states{wrong}, nil, false, 1, 1, "digest other, of the apiserver's b"},
		{"sent twice, once wrong", states{explained, sent(105, "b", "b")}, nil, false, 1, 2, "status.phase"},
		{"of an unknown version", states{untold}, nil, false, 0, 0, ""},
		{"tampered with", states{wrong}, mark(history.MarkTamperEdit), false, 0, 0, ""},
		{"restored", states{wrong}, mark(history.MarkRestoring), false, 0, 0, ""},
		{"cut", states{wrong}, nil, true, 0, -1, ""},
		{"not recorded", nil, nil, false, 0, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := story{ops: onePod, requests: requests, marks: tc.marks, meta: Meta{Cut: tc.cut}}
			h := s.history(t)
			h.Former = items(tc.former)
			c := mustJudge(t, h).Checks["G1"]
			if c.Violations != tc.violations || c.Judged != 1+tc.more || !strings.Contains(c.Counterexample, tc.text) {
				t.Errorf("%+v", c)
			}
		})
	}
}
