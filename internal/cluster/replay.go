package cluster

import "context"

// SimulatedVersion is what a simulated apiserver says it is.
const SimulatedVersion = "v1.36.3-apisim"

// simulated is the provider of clusters that the load generator simulates, one for each
// load: there is nothing to bring up before, and no kubeconfig yet.
type simulated struct{}

// Up returns at once.
func (simulated) Up(_ context.Context, progress func(string)) (*Cluster, error) {
	reporter(progress)("each cell gets a simulated apiserver of its own")
	return &Cluster{Provider: Replay, Version: SimulatedVersion, ends: true}, nil
}
