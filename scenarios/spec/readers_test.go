package spec

import (
	"strings"
	"testing"
)

func TestReaders(t *testing.T) {
	with := strings.Replace(minimal, "operations: 10", "operations: 10, prefill: 10", 1)
	for _, tc := range []struct{ text, want string }{
		{with + "readers: {get: 10, list: 1, limit: 5, watches: 3, webhooks: 2, webhookQueue: 9}\n", ""},
		{with + "readers: {from: apiserver, get: 10, watches: 3}\n", ""},
		{with + "readers: {from: watcher}\n", ""},
		{minimal + "readers: {from: apiserver, watches: 3}\nwatcher: {profile: legacy}\n", ""},
		{with + "matrix: {readers: {none: {get: 0}, some: {get: 10}, api: {from: apiserver, get: 10}}}\n", ""},

		{minimal + "readers: {get: 10}\n", "readers.get: no Pod exists before the load that could be asked for; set load.prefill"},
		{with + "readers: {gets: 10}\n", "readers.gets: unknown field"},
		{with + "readers: {from: etcd}\n", `readers.from: "etcd" is not known`},
		{with + "readers: {get: -1}\n", "readers.get: -1 is out of range"},
		{with + "readers: {get: 1, limit: 5}\n", "readers.list: a limit of LISTs, and no LIST"},
		{with + "readers: {webhookFaults: [hang], webhooks: 1}\n", "make robustness has the row"},
		{with + "readers: {webhookQueue: 5, get: 1}\n", "readers.webhooks: a queue of receivers, and no receiver"},
		{with + "readers: {from: apiserver, webhooks: 1}\n", "readers.webhooks: an apiserver notifies nobody"},
		{with + "readers: {watches: 1}\nwatcher: {profile: legacy}\n", "readers.from: only k8s-watch with the profile default serves"},
		{with + "readers: {watches: 1}\nwatcher: {replicas: 2, leaderElection: true}\nstorage: {instances: 2}\n", "readers.from: with several watchers"},
		{strings.Replace(with, "closed, threads: 2, operations: 10", "open, rate: 100, duration: 5s", 1) + "readers: {watches: 1}\ncluster: {provider: simulated}\n", "readers: readers need a real apiserver"},
	} {
		_, err := Format{}.Parse("s.yaml", []byte(tc.text))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s\n got %v\nwant %s", tc.text, err, tc.want)
		}
	}
}
