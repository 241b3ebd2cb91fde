package check

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestFormerStates: what was sent and then overwritten or deleted is held against what the apiserver
// served at that version, as part of G1. A version that it did not tell is not compared, nor a row
// that was tampered with, nor anything after a restore.
func TestFormerStates(t *testing.T) {
	rec := func(side history.Side, name string, rv uint64, digest string) history.StateRecord {
		return history.StateRecord{
			Side: side, Kind: "Pod", Namespace: "a", Name: name, UID: "u1", ResourceVersion: rv, Digest: digest,
		}
	}
	served := func(rv uint64, digest string) history.StateRecord {
		return rec(history.SideApiserver, "web", rv, digest)
	}
	sent := func(rv uint64, digest string) history.StateRecord { return rec(history.SideStorage, "web", rv, digest) }
	wrong := sent(105, "other")
	wrong.Differs = `status.phase: stored "Failed", expected "Running"`
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
		{"as served", []history.StateRecord{served(100, "a"), served(105, "b"), sent(100, "a"), sent(105, "b")},
			nil, false, 0, 2, ""},
		{"another field", []history.StateRecord{served(100, "a"), served(105, "b"), sent(100, "a"), wrong}, nil, false, 1, 2,
			`Pod/a/web: uid u1 version 105, which is not the last, was sent with another content: ` + wrong.Differs},
		{"another content, and nobody knows where", []history.StateRecord{served(105, "b"), sent(105, "other")},
			nil, false, 1, 1, "digest other"},
		{"sent twice, once wrong", []history.StateRecord{served(105, "b"), wrong, sent(105, "b")},
			nil, false, 1, 2, "status.phase"},
		{"of an unknown version", []history.StateRecord{served(105, "b"), sent(100, "a")}, nil, false, 0, 0, ""},
		{"of another object", []history.StateRecord{rec(history.SideApiserver, "db", 105, "b"), wrong}, nil, false, 0, 0, ""},
		{"tampered with", []history.StateRecord{served(105, "b"), wrong}, mark(history.MarkTamperEdit), false, 0, 0, ""},
		{"restored", []history.StateRecord{served(105, "b"), wrong}, mark(history.MarkRestoring), false, 0, 0, ""},
		{"cut", []history.StateRecord{served(105, "b"), wrong}, nil, true, 0, -1, ""},
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
			if fields := tc.violations > 0 && strings.Contains(tc.text, "status.phase"); fields {
				want := result.Difference{Path: "status.phase", Stored: `"Failed"`, Expected: `"Running"`}
				if len(c.Evidence) != 1 || len(c.Evidence[0].Fields) != 1 || c.Evidence[0].Fields[0] != want {
					t.Errorf("evidence %+v", c.Evidence)
				}
			}
		})
	}
}
