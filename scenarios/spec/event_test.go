package spec

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestBadEvents: want is how the error begins.
func TestBadEvents(t *testing.T) {
	for _, tc := range []struct {
		name, src string
		sets      []string
		want      string
	}{
		{"unknown event", minimal + "events: [{at: 1s, what: explode}]\n", nil, `s.yaml:5: events[0].what: "explode" is not known; use one of sigterm,`},
		{"event without a time unit", minimal + "events: [{at: 1, what: sigkill}]\n", nil, `s.yaml:5: events[0].at: "1" is not a duration; write a number with`},
		{"range the wrong way", minimal + "events: [{at: 3s..1s, what: sigkill}]\n", nil, `s.yaml:5: events[0].at: "3s..1s" ends before it begins; write the earlier time first, for example 2s..5s`},
		{"events out of order", minimal + "events: [{at: 3s, what: sigkill}, {at: 1s, what: start}]\n", nil, "s.yaml:5: events[1].at: 1s is before the event above it; write events in the order of their times"},
		{"start twice", minimal + "events: [{at: 1s, what: start}]\n", nil, "s.yaml:5: events[0].what: start when a watcher runs; end it first, or use join for a second one"},
		{"killed twice", minimal + "events: [{at: 1s, what: sigkill}, {at: 2s, what: sigterm}]\n", nil, "s.yaml:5: events[1].what: sigterm when no watcher runs; start one first"},
		{"left dead", minimal + "events: [{at: 1s, what: sigkill}]\n", nil, "s.yaml:5: events: no watcher runs after the last event; end with start: what is judged is where storage ends"},
		{"stopped for ever", minimal + "events: [{at: 1s, what: sigstop}]\n", nil, "s.yaml:5: events[0].for: missing: a watcher that is stopped for ever proves nothing; write for example for: 3s"},
		{"a field of another event", minimal + "events: [{at: 1s, what: kill-restart, count: 3}]\n", nil, "s.yaml:5: events[0].count: kill-restart takes no count; it belongs to"},
		{"tampering with nothing", minimal + "events: [{at: 1s, what: tamper-edit}]\n", nil, "s.yaml:5: events[0].what: tamper-edit without objects of its own; set extra.pods"},
		{"the only namespace", minimal + "extra: {pods: 1, namespaces: 1}\nevents: [{at: 1s, what: delete-namespace}]\n", nil, "s.yaml:6: events[0].what: delete-namespace without a namespace to spare; set extra.namespaces: 2"},
		{"a leader without replicas", minimal + "events: [{at: 1s, what: kill-leader}]\n", nil, "s.yaml:5: events[0].what: kill-leader without replicas; set watcher.replicas: 2"},
		{"replicas without election", minimal + "watcher: {replicas: 2}\n", nil, "s.yaml:5: watcher.leaderElection: several replicas without it; set it to true"},
		{"replicas with one instance", minimal + "watcher: {replicas: 2, leaderElection: true}\n", nil, "s.yaml: storage.instances: 1 for 2 replicas; use 2"},
		{"bad watch fault", minimal + "watch: {faults: [explode]}\n", nil, "s.yaml:5: watch.faults[0]: "},
		{"unknown row", minimal + "fault: {row: F29, title: x, assert: [C]}\n", nil, `s.yaml:5: fault.row: "F29" is no row of the fault matrix; use F0 to F28`},
		{"unknown column", minimal + "fault: {row: F1, title: x, assert: [X]}\n", nil, `s.yaml:5: fault.assert[0]: "X" is not known; use one of C, O, L, B, I, A, T, S`},
		{"a column twice", minimal + "fault: {row: F1, title: x, assert: [C], measure: [C]}\n", nil, "s.yaml:5: fault.measure[0]: the column C is there twice; keep one"},
		{"time without a bound", minimal + "fault: {row: F1, title: x, assert: [T]}\n", nil, "s.yaml:5: fault.recovery: column T is asserted without a bound; write for example recovery: 10s"},
		{"amplification without a bound", minimal + "fault: {row: F1, title: x, assert: [A]}\n", nil, "s.yaml:5: fault.amplification: column A is asserted without a bound"},
		{"secrecy without a secret", minimal + "fault: {row: F1, title: x, assert: [S]}\n", nil, "s.yaml:5: fault.assert: column S is asserted with nothing to look for; set extra.canaries: true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(tc.src), tc.sets...)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("\n got %s\nwant %s", err, tc.want)
			}
		})
	}
}

func TestMoment(t *testing.T) {
	for in, want := range map[string]Moment{"2s": {2e9, 2e9}, "50ms..1m": {50e6, 60e9}, "0s": {}} {
		var m Moment
		if err := m.UnmarshalText([]byte(in)); err != nil || m != want {
			t.Errorf("%s: %v, %v", in, m, err)
		}
		var again Moment
		if out, err := m.MarshalText(); err != nil || again.UnmarshalText(out) != nil || again != m {
			t.Errorf("%s is written as %s", in, out)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	m := Moment{1e9, 2e9}
	seen := map[bool]bool{}
	for range 100 {
		d := m.Draw(rng)
		if d < m.From || d > m.To {
			t.Fatalf("%s is outside of %v", d, m)
		}
		seen[d < 1500*time.Millisecond] = true
	}
	if len(seen) != 2 {
		t.Error("all moments are in one half of the range")
	}
}
