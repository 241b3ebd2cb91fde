package oracle

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"
)

// lease is a line of leases.ndjson.
type lease struct {
	Time                     int64
	Shard, Instance          int
	Holder                   string
	Acquired, Renewed, Lasts int64
	Transitions              int
}

// shardOf is the shard, of n, of an object: the part of the hash's range that its hash is in.
func shardOf(n int, by string, q *request) int {
	h := fnv.New64a()
	switch by {
	case "uid":
		_, _ = h.Write([]byte(q.UID))
	case "namespace":
		_, _ = h.Write([]byte(q.Namespace))
	default:
		_, _ = h.Write([]byte(q.Namespace + "/" + q.Name))
	}
	sum := h.Sum64()
	if by != "uid" && by != "namespace" { // names with running numbers differ in too few bits
		sum = (sum ^ sum>>32) * 0x9e3779b97f4a7c15
	}
	if n < 2 {
		return 0
	}
	return min(int(sum/(math.MaxUint64/uint64(n)+1)), n-1)
}

// tenures is what G10 says of replicas: how many requests are judged by who held the Lease of their shard, and how many
// came from another replica.
func (r *record) tenures() (v verdict) {
	if r.meta.Shards == 0 {
		return v
	}
	kinds := map[string]bool{}
	for _, k := range r.meta.Rules.Kinds {
		kinds[k] = true
	}
	uids := map[key][]string{} // of all objects of a name, as far as they are known
	for i := range r.ops {
		uids[r.ops[i].key()] = append(uids[r.ops[i].key()], r.ops[i].UID)
	}
	for i := range r.states {
		s := &r.states[i]
		uids[key{s.Kind, s.Namespace, s.Name}] = append(uids[key{s.Kind, s.Namespace, s.Name}], s.UID)
	}
	for i := range r.ledger {
		q := r.ledger[i]
		if !kinds[q.Kind] || !q.mine() || r.meta.Until != 0 && q.Received > r.meta.Until {
			continue
		}
		of := []string{q.UID}
		if q.UID == "" && r.meta.ShardBy == "uid" {
			of = uids[q.key()]
		}
		judged, holds := false, false
		for _, uid := range of {
			if uid == "" && r.meta.ShardBy == "uid" {
				continue
			}
			q.UID = uid
			judged, holds = true, holds || r.held(shardOf(r.meta.Shards, r.meta.ShardBy, &q), q.Instance, q.Received)
		}
		if q.UID != "" && q.took() {
			uids[q.key()] = append(uids[q.key()], q.UID)
		}
		if judged {
			v.judged++
		}
		if judged && !holds {
			v.violations++
		}
	}
	return v
}

// held reports whether the replica that writes to an instance held a shard's Lease at a time: it had acquired and not
// given back it, it had not expired, and no other replica had acquired it.
func (r *record) held(shard, instance int, at int64) bool {
	for i, l := range r.leases {
		if l.Shard != shard || l.Instance != instance || l.Holder == "" || l.Acquired > at {
			continue
		}
		end, first := int64(0), l.Lasts
		for j, x := range r.leases {
			switch {
			case x.Shard != shard:
			case x.Holder == l.Holder && x.Acquired == l.Acquired:
				if end = x.Renewed; x.Lasts >= first {
					end += x.Lasts
				}
			case j > i && x.Holder == "" && x.Renewed >= l.Acquired:
				end = min(end, x.Renewed)
			case j > i && x.Instance >= 0 && x.Acquired >= l.Acquired:
				end = min(end, x.Acquired)
			}
		}
		if at <= end+250e6 {
			return true
		}
	}
	return false
}

// TestShardOf: vectors that neither the watcher's nor the judge's code has made.
func TestShardOf(t *testing.T) {
	for by, want := range map[string][]int{"name": {1, 3, 2, 1, 1, 3, 1, 0}, "namespace": {3, 3, 3, 3, 3, 3, 3, 3}, "uid": {2, 1, 2, 1, 3, 3, 1, 3}} {
		for i, shard := range want {
			q := &request{Namespace: fmt.Sprint("team-", i), Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i, "0000000-0000-4000-8000-00200000000", i)}
			if got := shardOf(4, by, q); got != shard {
				t.Errorf("object %d by %s: shard %d, want %d", i, by, got, shard)
			}
		}
	}
}
