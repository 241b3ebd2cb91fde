package history

import (
	"fmt"
	"time"
)

// Pod is a process of a cell that ran in a cluster: where, and how its container fared during load and drain.
type Pod struct {
	Party   string            `json:"party"`
	Name    string            `json:"name"`
	Node    string            `json:"node"`
	Image   string            `json:"image"`
	ImageID string            `json:"imageID,omitempty"` // with the digest
	Limits  map[string]string `json:"limits,omitempty"`  // by resource
	// Begun is as the load began, Ended after the drain.
	Begun PodState `json:"begun"`
	Ended PodState `json:"ended"`
}

// PodState is a reading of a Pod.
type PodState struct {
	// Of the container's control group: periods in which it was throttled, for how long, and OOM kills.
	Throttled        int64   `json:"throttled"`
	ThrottledSeconds float64 `json:"throttledSeconds"`
	OOMKills         int64   `json:"oomKills"`
	// Bytes of the Pod's network without loopback; -1 unknown.
	Received float64 `json:"received"`
	Sent     float64 `json:"sent"`
	// Ahead is the node's clock less the runner's, in nanoseconds; the truth is at most Within away.
	Ahead  int64 `json:"ahead"`
	Within int64 `json:"within"`
}

// ClockBound is by how much the clocks of two nodes may differ, as far as is known, for times of one to be subtracted
// from times of the other: small against the latency of a storage, and more than NTP leaves in one network.
const ClockBound = int64(10 * time.Millisecond)

// Apart is by how much the clocks of generator and storage may have differed, in nanoseconds; 0 on one node.
func (c *Cell) Apart() (most int64) {
	for i := range c.Pods {
		for j := range c.Pods {
			a, b := &c.Pods[i], &c.Pods[j]
			if a.Party != PartyGenerator || b.Party != PartyStorage || a.Node == b.Node {
				continue
			}
			for _, of := range [][2]*PodState{{&a.Begun, &b.Begun}, {&a.Ended, &b.Ended}} {
				difference := of[0].Ahead - of[1].Ahead
				most = max(most, max(difference, -difference)+of[0].Within+of[1].Within)
			}
		}
	}
	return most
}

// ClocksApart says why times of generator and storage cannot be compared; empty if they can.
func (c *Cell) ClocksApart() string {
	apart := c.Apart()
	if apart <= ClockBound {
		return ""
	}
	return fmt.Sprintf("the clocks of the nodes of generator and storage may differ by %s, %s are tolerated",
		time.Duration(apart).Round(time.Millisecond/10), time.Duration(ClockBound))
}

// Disturbed says what the cluster did to the Pod that makes figures of its process wrong; empty if nothing.
func (p *Pod) Disturbed() string {
	a, b := &p.Begun, &p.Ended
	switch {
	case b.OOMKills > a.OOMKills:
		return fmt.Sprintf("a process of Pod %s (%s) was killed for its memory (limit %s)", p.Name, p.Party,
			p.Limits["memory"])
	case b.Throttled > a.Throttled || b.ThrottledSeconds > a.ThrottledSeconds:
		return fmt.Sprintf("Pod %s (%s) was throttled for %.3g s during load and drain (CPU limit %s)", p.Name, p.Party,
			b.ThrottledSeconds-a.ThrottledSeconds, p.Limits["cpu"])
	}
	return ""
}
