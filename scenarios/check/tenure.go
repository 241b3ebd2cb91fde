package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// tenure is a time in which one replica held the Lease of a shard.
type tenure struct {
	instance int // unseen: nobody knows whose
	holder   string
	acquired int64
	lasts    int64 // of its Lease, as it was acquired
	// to is when its last request may leave: when it gave the Lease back, when that expired, or when another had it.
	to int64
	// settles is until when requests that it had given up may arrive: the end of the Lease that it left to expire.
	settles int64
}

// unseen is the instance of whoever may have held a Lease while nobody saw it.
const unseen = -2

// tenures lists the holders of all shards. By name and namespace a row has one writer, by uid an object.
type tenures struct {
	of   []kubeapi.Shard
	held [][]tenure
}

// newTenures is nil without an election. leases are in the order in which the API server had them.
func newTenures(m *Meta, leases []history.Lease) *tenures {
	if m.Shards == 0 || len(leases) == 0 {
		return nil
	}
	t := &tenures{of: kubeapi.Split(m.Shards, cmp.Or(m.ShardBy, kubeapi.ByName)), held: make([][]tenure, m.Shards)}
	last := make([]history.Lease, m.Shards)
	for _, l := range leases {
		if l.Shard < len(last) {
			t.add(last[l.Shard], l)
			last[l.Shard] = l
		}
	}
	return t
}

// add takes the next state of a Lease; former is zero before the first.
func (t *tenures) add(former, l history.Lease) {
	held := t.held[l.Shard]
	var now *tenure // the last one
	if len(held) > 0 {
		now = &held[len(held)-1]
	}
	switch {
	case l.Holder == "": // given back
		if now != nil {
			now.to = min(now.to, l.Renewed)
		}
	case now != nil && now.holder == l.Holder && now.acquired == l.Acquired:
		now.to = l.Renewed
		if l.Lasts >= now.lasts { // else it is given back, once what was sent last is settled
			now.to += l.Lasts
		}
		now.settles = l.Renewed + l.Lasts
	default:
		if now != nil && l.Instance >= 0 { // a stranger keeps nobody from writing up to the end of its Lease
			now.to, now.settles = min(now.to, l.Acquired), min(now.settles, l.Acquired)
		}
		if former.Time != 0 && l.Transitions > former.Transitions+1 {
			held = append(held, tenure{instance: unseen, acquired: former.Time, to: l.Acquired})
		}
		t.held[l.Shard] = append(held, tenure{l.Instance, l.Holder, l.Acquired, l.Lasts, l.Renewed + l.Lasts, 0})
	}
}

// shard finds the shard of an object.
func (t *tenures) shard(k history.Key, uid string) int {
	return slices.IndexFunc(t.of, func(s kubeapi.Shard) bool { return s.Holds(k.Namespace, k.Name, uid) })
}

// shards are those that a request may be of: a DELETE that found nothing names no uid.
func (t *tenures) shards(id history.Key, uid string, k *keyState) (all []int) {
	if uid != "" || t.of[0].By != kubeapi.ByUID {
		return []int{t.shard(id, uid)}
	}
	if k == nil {
		return nil
	}
	for i := range k.lives {
		if k.lives[i].uid != "" {
			all = append(all, t.shard(id, k.lives[i].uid))
		}
	}
	return all
}

// judge fails G10 for a request that left a replica while it did not hold the Lease.
func (t *tenures) judge(g *tally, e *ledger.Entry, k *keyState) {
	if t == nil {
		return
	}
	id := history.Key{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
	all := t.shards(id, e.UID, k)
	// A client that had given up when its request arrived sent it before it left the Lease to settle such requests.
	late := e.Gone != 0 && e.Gone <= e.Received+int64(fenceSlack)
	had := func(instance int) bool {
		return slices.ContainsFunc(all, func(shard int) bool {
			return slices.ContainsFunc(t.held[shard], func(x tenure) bool {
				return x.instance == instance && x.acquired <= e.Received &&
					(e.Received <= x.to+int64(fenceSlack) || late && e.Received <= x.settles)
			})
		})
	}
	if len(all) == 0 || had(unseen) {
		return
	}
	if g.judged++; had(e.Instance) {
		return
	}
	g.fail("%s: %s seq %d left the replica at instance %d (received %s), which did not hold the Lease of shard %d: %s",
		id, e.Method, e.Seq, e.Instance, clock(e.Received), all[0], t.holder(all[0], e.Received))
}

// holder says who held a shard's Lease at a time.
func (t *tenures) holder(shard int, at int64) string {
	for _, x := range slices.Backward(t.held[shard]) {
		if x.acquired <= at && at <= x.to {
			return fmt.Sprintf("%s did, of instance %d, from %s to %s", x.holder, x.instance, clock(x.acquired), clock(x.to))
		}
	}
	return "nobody did"
}
