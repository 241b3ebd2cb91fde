package render

import "github.com/watchbench/watchbench/reports/result"

// unseen says what a run on a simulated API server does not show; "replay" is the provider's name in former versions.
func unseen(res *result.Results) []string {
	if p := res.Environment.Provider; p != "simulated" && p != "replay" {
		return nil
	}
	return []string{"Simulated API server: figures and verdicts are those of watcher and storage. Not shown: what etcd " +
		"and kube-apiserver cost, their latency, limits and bottlenecks, and fsync; the embedded cluster shows these."}
}
