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

const roomy = "extra: {namespaces: 1, pods: 1}\n"

// TestDefinitions: a timeline that can be carried out is taken.
func TestDefinitions(t *testing.T) {
	f, err := Format.Parse("s.yaml", []byte(minimal+roomy+`events:
  - {at: 1s, what: crd-add, count: 3}
  - {at: 2s, what: crd-switch, count: 2}
  - {at: 2s, what: crd-add}
  - {at: 3s, what: crd-switch, count: 2}
  - {at: 4s, what: crd-unserve, count: 4, for: 1s}
  - {at: 5s, what: change-customs, count: 10000}
  - {at: 6s, what: crd-remove, count: 4}
`))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Base()
	c := &stage{s: &s}
	if err := New().Arrange(c); err != nil || len(c.setup.CustomKinds) != 4 || len(c.setup.Customs) == 0 {
		t.Errorf("%+v, %v", c.setup, err)
	}
	s.Events, c.setup = nil, Setup{}
	if err := New().Arrange(c); err != nil || len(c.setup.CustomKinds)+len(c.setup.Customs) != 0 {
		t.Errorf("customs without events: %+v, %v", c.setup, err)
	}
}

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
		{"a leader without replicas", minimal + "events: [{at: 1s, what: kill-leader}]\n", nil, "s.yaml:5: events[0].what: kill-leader without replicas; set watcher.replicas: 2"},
		{"a leader to stop without replicas", minimal + "events: [{at: 1s, what: stop-leader}]\n", nil, "s.yaml:5: events[0].what: stop-leader without replicas; set watcher.replicas: 2"},
		{"a leader that nothing cuts off", minimal + "events: [{at: 1s, what: lose-leader}]\n", nil, "s.yaml:5: events[0].what: lose-leader while nothing cuts the leader off; set watcher.replicas: 2, watch.leader: true and watch.faults"},
		{"faults of a leader without replicas", minimal + "watch: {faults: [silent], leader: true}\n", nil, "s.yaml:5: watch.leader: there are no faults, or no leader of several replicas; give watch.faults and watcher.replicas: 2"},
		{"a lease without replicas", minimal + "events: [{at: 1s, what: take-lease}]\n", nil, "s.yaml:5: events[0].what: take-lease without replicas; set watcher.replicas: 2"},
		{"custom resources without a place", minimal + "events: [{at: 1s, what: crd-add}]\n", nil, "s.yaml:5: events[0].what: crd-add without a namespace for custom objects; set extra: {namespaces: 1, pods: 1}"},
		{"custom resources and no watcher", minimal + roomy + "events: [{at: 1s, what: sigkill}, {at: 2s, what: crd-add}]\n", nil, "s.yaml:6: events[1].what: crd-add when no watcher runs; start one first"},
		{"removing what is not there", minimal + roomy + "events: [{at: 1s, what: crd-remove}]\n", nil, "s.yaml:6: events[0].count: crd-remove of 1, but there are 0 definitions; add more with crd-add first, or use a smaller count"},
		{"removing twice", minimal + roomy + "events: [{at: 1s, what: crd-add, count: 3}, {at: 2s, what: crd-remove, count: 2}, {at: 3s, what: crd-remove, count: 2}]\n", nil, "s.yaml:6: events[2].count: crd-remove of 2, but there are 1 definitions"},
		{"switching twice", minimal + roomy + "events: [{at: 1s, what: crd-add, count: 3}, {at: 2s, what: crd-switch, count: 2}, {at: 3s, what: crd-switch, count: 2}]\n", nil, "s.yaml:6: events[2].count: crd-switch of 2, but there are 1 definitions on v1"},
		{"unserving more than there are", minimal + roomy + "events: [{at: 1s, what: crd-add}, {at: 2s, what: crd-unserve, count: 2, for: 1s}]\n", nil, "s.yaml:6: events[1].count: crd-unserve of 2, but there are 1 definitions"},
		{"unserved for ever", minimal + roomy + "events: [{at: 1s, what: crd-add}, {at: 2s, what: crd-unserve}]\n", nil, "s.yaml:6: events[1].for: missing: it says how long nothing is served; write for example for: 3s"},
		{"a time that is not asked for", minimal + roomy + "events: [{at: 1s, what: crd-add, for: 1s}]\n", nil, "s.yaml:6: events[0].for: crd-add takes no for; it belongs to sigstop, kill-storage, crd-unserve"},
		{"changing what is not there", minimal + roomy + "events: [{at: 1s, what: crd-add}, {at: 2s, what: crd-remove}, {at: 3s, what: change-customs}]\n", nil, "s.yaml:6: events[2].what: change-customs without a definition; add one with crd-add first"},
		{"too many definitions", minimal + roomy + "events: [{at: 1s, what: crd-add, count: 300}, {at: 2s, what: crd-remove, count: 300}, {at: 3s, what: crd-add, count: 201}]\n", nil, "s.yaml:6: events[2].count: 501 definitions; add at most 500 in one scenario"},
		{"resize to nothing", minimal + "events: [{at: 1s, what: resize}]\n", nil, "s.yaml:5: events[0]: resize to nothing; write for example podQueueNum: 16"},
		{"resize when none runs", minimal + "events: [{at: 1s, what: sigkill}, {at: 2s, what: resize, podQueueNum: 2}]\n", nil, "s.yaml:5: events[1].what: resize when no watcher runs; start one first"},
		{"resize of the legacy profile", minimal + "watcher: {profile: legacy}\nevents: [{at: 1s, what: resize, podQueueNum: 2}]\n", nil, "s.yaml:6: events[0].what: resize under the profile legacy"},
		{"resize of another watcher", minimal + "watcher: {command: 'w {config}'}\nevents: [{at: 1s, what: resize, podQueueNum: 2}]\n", nil, "s.yaml:6: events[0].what: resize of another watcher: only k8s-watch"},
		{"resize of one queue", minimal + "watcher: {strategy: single}\nevents: [{at: 1s, what: resize, podQueueNum: 2}]\n", nil, "s.yaml:6: events[0].podQueueNum: single has no number of queues; use another strategy, or change the lengths"},
		{"resize beyond all bounds", minimal + "events: [{at: 1s, what: resize, handlerQueueLen: 99999999}]\n", nil, "s.yaml:5: events[0].handlerQueueLen: 99999999 is out of range; use 1 to 16777216"},
		{"kills at no moment", minimal + "events: [{at: 1s, what: kill-anytime, times: 3}]\n", nil, "s.yaml:5: events[0].for: missing: it is the longest that a watcher lives; write for example for: 2s"},
		{"kills of another watcher", minimal + "watcher: {command: 'w {config}'}\nevents: [{at: 1s, what: kill-anytime, for: 1s}]\n", nil, "s.yaml:6: events[0].what: kill-anytime of another watcher: only k8s-watch reports how far it is"},
		{"kills without a synchronizer", minimal + "watcher: {synchronizer: {disabled: true}}\nevents: [{at: 1s, what: kill-anytime, for: 1s}]\n", nil, "s.yaml:6: events[0].what: kill-anytime without a synchronizer: nobody else finds"},
		{"kills of replicas", minimal + "storage: {instances: 2}\nwatcher: {replicas: 2, leaderElection: true}\nevents: [{at: 1s, what: kill-anytime, for: 1s}]\n", nil, "s.yaml:7: events[0].what: kill-anytime of 2 replicas; use kill-leader"},
		{"lengths at a restart", minimal + "events: [{at: 1s, what: kill-restart, handlerQueueLen: 3}]\n", nil, "s.yaml:5: events[0].handlerQueueLen: kill-restart takes no handlerQueueLen; it belongs to resize"},
		{"replicas without election", minimal + "watcher: {replicas: 2}\n", nil, "s.yaml:5: watcher.leaderElection: several replicas without it; set it to true"},
		{"replicas with one instance", minimal + "watcher: {replicas: 2, leaderElection: true}\n", nil, "s.yaml: storage.instances: 1 for 2 replicas; use 2"},
		{"bad watch fault", minimal + "watch: {faults: [explode]}\n", nil, "s.yaml:5: watch.faults[0]: "},
		{"unknown row", minimal + "fault: {row: F31, title: x, assert: [C]}\n", nil, `s.yaml:5: fault.row: "F31" is no row of the fault matrix; use F0 to F30`},
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
		{"a token without a namespace", minimal + "watch: {faults: ['close(1s,3s)']}\nevents: [{at: 1s, what: rotate-token}]\n", nil, "s.yaml:6: events[0].what: rotate-token without a namespace for the watcher's account; set extra.namespaces: 1 and extra.pods"},
		{"a token with open watches", minimal + "extra: {pods: 1, namespaces: 1}\nevents: [{at: 1s, what: rotate-token}]\n", nil, "s.yaml:6: events[0].what: rotate-token while watches stay open: an open watch is not authenticated again; set watch.faults: ['close(1s,3s)']"},
		{"a token with watches of others open", minimal + "extra: {pods: 1, namespaces: 1}\nwatch: {faults: ['close(1s,3s,kind=Pod)']}\nevents: [{at: 1s, what: rotate-token}]\n", nil, "s.yaml:7: events[0].what: rotate-token while watches stay open"},
		{"a token with watches open again", minimal + "extra: {pods: 1, namespaces: 1}\nwatch: {faults: ['close(1s,3s,for=2s)']}\nevents: [{at: 1s, what: rotate-token}]\n", nil, "s.yaml:7: events[0].what: rotate-token while watches stay open"},
		{"a token and no watcher", minimal + "extra: {pods: 1, namespaces: 1}\nwatch: {faults: ['close(1s,3s)']}\nevents: [{at: 1s, what: sigkill}, {at: 2s, what: rotate-token}]\n", nil, "s.yaml:7: events[1].what: rotate-token when no watcher runs; start one first"},
		{"a field of no token", minimal + "events: [{at: 1s, what: rotate-token, count: 3}]\n", nil, "s.yaml:5: events[0].count: rotate-token takes no count; it belongs to"},
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
