package faults

import (
	"strings"
	"testing"
)

const minimal = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: x}
load: {model: closed, threads: 1, operations: 1}
`

// TestBadEvents: want is how the error begins.
func TestBadEvents(t *testing.T) {
	for _, tc := range []struct {
		name, src string
		sets      []string
		want      string
	}{
		{"unknown event", minimal + "events: [{at: 1s, what: explode}]\n", nil, `s.yaml:5: events[0].what: "explode" is not known; use one of sigterm,`},
		{"deploy without controllers", minimal + "events: [{at: 1s, what: deploy, count: 3}]\n", nil, "s.yaml:5: events[0].what: deploy without controllers; set cluster.controllers: true"},
		{"controllers on kind", minimal + "cluster: {provider: kind, controllers: true}\n", nil, "s.yaml:5: cluster.controllers: only the embedded control plane is given controllers, not that of kind"},
		{"roll before a deployment", minimal + "cluster: {controllers: true}\nevents: [{at: 1s, what: roll}, {at: 1s, what: deploy}]\n", nil, "s.yaml:6: events[0].what: roll without a Deployment; let a deploy come before"},
		{"removal of no lost node", minimal + "cluster: {controllers: true}\nevents: [{at: 1s, what: remove-nodes}]\n", nil, "s.yaml:6: events[0].what: remove-nodes without lost nodes"},
		{"too many nodes", minimal + "cluster: {controllers: true}\nevents: [{at: 1s, what: add-nodes, count: 501}]\n", nil, "s.yaml:6: events[0].count: 501 nodes; add at most 500"},
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
		{"faults of a leader without replicas", minimal + "watch: {faults: [silent], leader: true}\n", nil, "s.yaml:5: watch.leader: there are no faults, or no leader of several replicas; give watch.faults and watcher.replicas: 2"},
		{"lengths at a restart", minimal + "events: [{at: 1s, what: kill-restart, handlerQueueLen: 3}]\n", nil, "s.yaml:5: events[0].handlerQueueLen: kill-restart takes no handlerQueueLen; it belongs to "},
		{"replicas without election", minimal + "watcher: {replicas: 2}\n", nil, "s.yaml:5: watcher.leaderElection: several replicas without it; set it to true"},
		{"replicas with one instance", minimal + "watcher: {replicas: 2, leaderElection: true}\n", nil, "s.yaml: storage.instances: 1 for 2 replicas; use 2"},
		{"bad watch fault", minimal + "watch: {faults: [explode]}\n", nil, "s.yaml:5: watch.faults[0]: "},
		{"unknown row", minimal + "fault: {row: F31, title: x, assert: [C]}\n", nil, `s.yaml:5: fault.row: the fault matrix has no row "F31"; use F0 to F30`},
		{"unknown column", minimal + "fault: {row: F1, title: x, assert: [Z]}\n", nil, `s.yaml:5: fault.assert[0]: "Z" is not known; use one of C, O, L, B, I, A, T, S, X`},
		{"a column twice", minimal + "fault: {row: F1, title: x, assert: [C], measure: [C]}\n", nil, "s.yaml:5: fault.measure[0]: the column C is there twice; keep one"},
		{"time without a bound", minimal + "fault: {row: F1, title: x, assert: [T]}\n", nil, "s.yaml:5: fault.recovery: column T is asserted without a bound; write for example recovery: 10s"},
		{"amplification without a bound", minimal + "fault: {row: F1, title: x, assert: [A]}\n", nil, "s.yaml:5: fault.amplification: column A is asserted without a bound"},
		{"isolation from the answer without isolation", minimal + "fault: {row: F1, title: x, assert: [C], fromAnswer: true}\n", nil, "s.yaml:5: fault.fromAnswer: column I is not asked for; assert or measure I"},
		{"patience with nothing", minimal + "storage: {faults: ['422:1%', 'stall(5s):1%', 'late(1s,answer=404):1%', 'html(status=404):1%']}\nfault: {row: F4, title: x, assert: [C], patience: true}\n", nil, "s.yaml:6: fault.patience: no fault of storage makes a write fail with 5xx or go unanswered within watcher.storageTimeout; add one, for example 503:1%"},
		{"repairs of nothing", minimal + "fault: {row: F1, title: x, assert: [C], repairs: true}\n", nil, "s.yaml:5: fault.repairs: nothing in this scenario leaves work for the synchronizer; leave it out"},
		{"repairs of what is only slow", minimal + "storage: {faults: ['stall(1s)']}\nfault: {row: F1, title: x, assert: [C], repairs: true}\n", nil, "s.yaml:6: fault.repairs: nothing in this scenario leaves work"},
		{"repairs that nobody would count", minimal + "events: [{at: 1s, what: kill-restart}]\nfault: {row: F15, title: x, assert: [C], repairs: false}\n", nil, "s.yaml:6: fault.repairs: an event leaves work for the synchronizer, so its repairs cannot count as failures; write repairs: true"},
		{"repairs by nobody", minimal + "watcher: {synchronizer: {disabled: true}}\nstorage: {faults: ['422:1%']}\nfault: {row: F1, title: x, assert: [C], repairs: true}\n", nil, "s.yaml:7: fault.repairs: there is no synchronizer"},
		{"secrecy without a secret", minimal + "fault: {row: F1, title: x, assert: [S]}\n", nil, "s.yaml:5: fault.assert: column S is asserted with nothing to look for; set extra.canaries: true"},
		{"storage forgets nothing", minimal + "watcher: {synchronizer: {period: 3s}}\nevents: [{at: 1s, what: kill-storage}]\n", nil, "s.yaml:6: events[0].for: 0s is too short; write for example for: 2s"},
		{"nobody finds what is gone", minimal + "watcher: {synchronizer: {disabled: true}}\nevents: [{at: 1s, what: kill-storage, for: 2s}]\n", nil, "s.yaml:6: events[0].what: kill-storage without a synchronizer whose round is known: nobody else finds what storage forgot; set watcher.synchronizer.period: 3s"},
		{"a synchronizer of no known period", minimal + "events: [{at: 1s, what: kill-storage, for: 2s}]\n", nil, "s.yaml:5: events[0].what: kill-storage without a synchronizer"},
		{"storage with faults", minimal + "storage: {faults: ['503:1%']}\nwatcher: {synchronizer: {period: 3s}}\nevents: [{at: 1s, what: kill-storage, for: 2s}]\n", nil, "s.yaml:7: events[0].what: kill-storage with storage.faults, which would not outlive it; leave storage.faults out"},
		{"several storages", minimal + "storage: {instances: 2}\nwatcher: {synchronizer: {period: 3s}}\nevents: [{at: 1s, what: kill-storage, for: 2s}]\n", nil, "s.yaml:7: events[0].what: kill-storage with several instances; set storage.instances: 1"},
		{"order of what was forgotten", minimal + "watcher: {synchronizer: {period: 3s}}\nevents: [{at: 1s, what: kill-storage, for: 2s}]\nfault: {row: F2, title: x, assert: [C, O]}\n", nil, "s.yaml:7: fault.assert[1]: the column O is judged by a ledger of a storage that forgets nothing, and kill-storage makes it forget; assert C, T and X"},
		{"nothing to refuse", minimal + "storage: {tls: valid}\nfault: {row: F27, title: x, assert: [S], refused: true}\n", nil, "s.yaml:6: fault.refused: there is nothing to refuse; set storage.tls to what is wrong with storage"},
		{"unknown TLS", minimal + "storage: {tls: ssl3}\n", nil, `s.yaml:5: storage.tls: "ssl3" is not known; use one of valid, wrong-ca, expired, wrong-host, tls-1.1`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Format.Parse("s.yaml", []byte(tc.src), tc.sets...)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("\n got %s\nwant %s", err, tc.want)
			}
		})
	}
}
