package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
)

// MostShards bounds the shards of a Group: each is a Lease and, on its holder, a connection to the apiserver.
const MostShards = 64

// Group shares out shards among replicas, see the package's doc.
type Group struct {
	cfg    Config // Name is the plan's, Identity this replica's
	shards int
	by     string // the rule
	log    *slog.Logger
	// Of the shards, the plan and the table. A connection each: no request may wait for another one's dead connection.
	apis []leases

	ran     atomic.Bool
	plan    atomic.Pointer[Elector] // of the current term
	count   atomic.Int32            // of shards held
	refused atomic.Uint64
	contact     // of the table
	terms   int // holdings so far; only Run's goroutine uses it
}

// NewGroup connects to nothing. The Leases are c.Name, for the plan in force, and with suffixes those of shards and
// members. Replicas with another number of shards, or another rule by which they are divided, do not work meanwhile.
func NewGroup(c Config, shards int, by string, kube *rest.Config, log *slog.Logger) (*Group, error) {
	g := &Group{cfg: c, shards: shards, by: by, log: log, contact: contact{asking: rate.Sometimes{Interval: says}}}
	for range shards + 2 {
		api, err := connect(c, kube)
		if err != nil {
			return nil, err
		}
		api.group = c.Name
		g.apis = append(g.apis, api)
	}
	return g, nil
}

// api calls the apiserver about one Lease, over the connection with that index.
func (g *Group) api(connection int, name string) leases {
	api := g.apis[connection]
	api.cfg.Name = name
	return api
}

// seat is the api of a member's Lease.
func (g *Group) seat(place int) leases { return g.api(g.shards+1, MemberLease(g.cfg.Name, place)) }

// ShardLease is the name of the Lease of a shard, MemberLease that of a member.
func ShardLease(name string, shard int) string { return fmt.Sprintf("%s-%d", name, shard) }

// MemberLease is the name of the Lease that says that a replica is there. There are as many as shards, so that the
// rights to them can be granted by name; a replica beyond is a standby.
func MemberLease(name string, place int) string { return fmt.Sprintf("%s-member-%d", name, place) }

// Holding is a shard that this replica holds.
type Holding struct {
	Shard int
	// Permit is nil while a write may leave, as Elector.Permit.
	Permit func() error
	// Settling is as that of Config. It is to be set before anything is sent.
	Settling func() time.Duration
}

// Held is how many shards this replica holds.
func (g *Group) Held() int { return int(g.count.Load()) }

// Refused is how often a Permit has refused.
func (g *Group) Refused() uint64 { return g.refused.Load() }

// Trouble says why this replica could not take shards over, as Elector.Trouble does.
func (g *Group) Trouble() error {
	plan := g.plan.Load()
	switch {
	case plan == nil:
		return errors.New("leader election: not begun")
	case !plan.Leading():
		return plan.Trouble()
	}
	return g.lasting(g.cfg.LeaseDuration)
}

// Run takes part until ctx ends. It calls lead for each shard that this replica gets, with a context that
// ends as Elector.Run's does, or orderly where the shard is to be given back. It returns when all have, and lead's
// error if one has.
func (g *Group) Run(ctx context.Context, lead func(context.Context, *Holding) error) error {
	if g.ran.Swap(true) {
		return errors.New("leader election: Run called twice")
	}
	for {
		api := g.apis[g.shards]
		api.cfg.Identity, api.cfg.Shared = fmt.Sprintf("%d-shards-by-%s", g.shards, g.by), true
		plan := newElector(api, g.log)
		g.plan.Store(plan)
		var failed error
		err := plan.Run(ctx, func(ctx context.Context) error {
			t := table{Group: g, plan: plan, lead: lead, place: -1, giving: -1, seen: map[string]*sight{},
				held: map[int]context.CancelFunc{}, ended: make(chan ending)}
			failed = t.run(ctx)
			return failed
		})
		if ctx.Err() != nil || failed != nil || !errors.Is(err, ErrLost) {
			return err
		}
		g.log.Warn("taking part anew: nothing of the former term is left in this process")
	}
}

// table is one term of a replica in a group. Only run's goroutine uses it.
type table struct {
	*Group
	plan *Elector
	lead func(context.Context, *Holding) error

	listed  map[string]*lease // by the last look
	seen    map[string]*sight // by name
	place   int               // the last that this replica took, -1: none
	members []string          // who lives, by their places
	steady  time.Time         // since when these are the members
	seated  time.Time         // since when this replica is one
	held    map[int]context.CancelFunc
	giving  int         // the shard that is being given back, -1: none
	ended   chan ending // one for each of held
}

// ending reports how a holding ended.
type ending struct {
	shard    int
	err, own error // own is lead's
}

// run shares until ctx ends, and then waits for what is held.
func (t *table) run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var failed error
	next := time.NewTimer(0)
	defer next.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e := <-t.ended:
			if failed = t.end(e); failed != nil {
				end()
			}
		case <-next.C:
			next.Reset(t.round(ctx))
		}
	}
	if t.place >= 0 { // the others expect nothing more of it
		t.seat(t.place).release(t.log)
	}
	for len(t.held) > 0 {
		if err := t.end(<-t.ended); failed == nil {
			failed = err
		}
	}
	return failed
}

// round looks at the Leases, says that this replica is there, and takes or gives back. It returns the pause until
// the next.
func (t *table) round(ctx context.Context) time.Duration {
	err := t.look(ctx)
	if err == nil {
		err = t.sit(ctx)
	}
	if err == nil {
		err = t.take(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		t.complain(t.log, err)
	default:
		t.fine()
		t.give()
	}
	pause := t.cfg.RetryPeriod
	for i := range t.shards {
		if _, mine := t.held[i]; mine {
			continue
		} else if left := t.sight(ShardLease(t.cfg.Name, i)).left(); left > 0 {
			pause = min(pause, left)
		} else {
			pause = min(pause, t.cfg.RetryPeriod/4)
		}
	}
	return pause
}

func (t *table) sight(name string) *sight {
	if t.seen[name] == nil {
		t.seen[name] = &sight{at: time.Now()}
	}
	return t.seen[name]
}

// look reads all Leases of the group. One that was deleted counts as last seen.
func (t *table) look(ctx context.Context) error {
	all, err := t.seat(0).list(ctx)
	if err != nil {
		return err
	}
	t.listed = map[string]*lease{}
	for _, le := range all {
		name, _ := le.Metadata["name"].(string)
		t.listed[name] = le
		t.sight(name).update(le.Spec)
	}
	var members []string
	for place := range t.shards {
		if s := t.sight(MemberLease(t.cfg.Name, place)); s.left() > 0 {
			members = append(members, s.spec.HolderIdentity)
		}
	}
	if !slices.Equal(members, t.members) {
		t.members, t.steady = members, time.Now()
	}
	return nil
}

// free are the shards without a holder.
func (t *table) free() (all []int) {
	for i := range t.shards {
		if _, mine := t.held[i]; !mine && t.sight(ShardLease(t.cfg.Name, i)).left() == 0 {
			all = append(all, i)
		}
	}
	return all
}

// sit writes the Lease of this replica's place among the members, or of a free one, if there is any. Where another one
// was faster, the next round finds another place.
func (t *table) sit(ctx context.Context) error {
	at := -1
	for place := range t.shards {
		s := t.sight(MemberLease(t.cfg.Name, place))
		if mine := s.spec.HolderIdentity == t.cfg.Identity; mine || at < 0 && s.left() == 0 {
			if at = place; mine {
				break
			}
		}
	}
	if at < 0 {
		return nil
	}
	t.place = at
	api := t.seat(at)
	_, err := api.claim(ctx, t.listed[api.cfg.Name])
	return err
}

// counts returns how many shards each member has, without one that this replica is giving back.
func (t *table) counts() (of map[string]int, least int) {
	of = map[string]int{}
	for i := range t.shards {
		if s := t.sight(ShardLease(t.cfg.Name, i)); s.left() > 0 {
			of[member(s.spec.HolderIdentity)]++
		}
	}
	of[t.cfg.Identity] = len(t.held)
	if t.giving >= 0 {
		of[t.cfg.Identity]--
	}
	least = t.shards
	for _, m := range t.members {
		least = min(least, of[m])
	}
	return of, least
}

// slow RetryPeriods without a holder let any member take a shard, even one that has more than others: those may be
// unable to.
const slow = 3

// take tries for shards without a holder, as long as no member has fewer than this replica.
func (t *table) take(ctx context.Context) error {
	if !slices.Contains(t.members, t.cfg.Identity) {
		return nil // the others do not know yet, or there are more replicas than shards
	}
	if t.seated.IsZero() {
		t.seated = time.Now()
	}
	if time.Since(t.seated) < t.cfg.RetryPeriod {
		return nil // those that start together see one another first, so that none lists what others are to have
	}
	free := t.free() // in any order, so that one that cannot be had holds up no other for good
	rand.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	for _, i := range free {
		of, least := t.counts()
		since := time.Since(t.sight(ShardLease(t.cfg.Name, i)).ends())
		if of[t.cfg.Identity] > least && since < slow*t.cfg.RetryPeriod {
			continue
		}
		if err := t.try(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// holder is the identity of a holding, and member whose it is. Each holding has its own: what an earlier one of the
// process has sent may still be on its way.
func holder(member string, term int) string { return fmt.Sprintf("%s%04x", member, term&0xffff) }

func member(holder string) string { return holder[:max(0, len(holder)-4)] }

// try takes one shard if it may.
func (t *table) try(ctx context.Context, i int) error {
	t.terms++
	h := &Holding{Shard: i, Settling: func() time.Duration { return 0 }}
	api := t.api(i, ShardLease(t.cfg.Name, i))
	api.cfg.Identity = holder(t.cfg.Identity, t.terms)
	api.cfg.Settling = func() time.Duration { return h.Settling() }
	e := newElector(api, t.log)
	h.Permit = func() error {
		if t.plan.left() > 0 && e.left() > 0 {
			return nil
		}
		t.refused.Add(1)
		return ErrNotLeading
	}
	e.seen = t.sight(api.cfg.Name) // a Lease that is seen here and deleted before the next look is not free
	began := now()
	if err := e.attempt(ctx); err != nil || e.held == nil {
		return err
	}
	hctx, give := context.WithCancel(ctx)
	t.held[i] = give
	t.count.Add(1)
	go func() {
		var own error
		err := e.hold(hctx, began, func(ctx context.Context) error {
			own = t.lead(ctx, h)
			return own
		})
		give()
		t.ended <- ending{i, err, own}
	}()
	return nil
}

// end handles the end of a holding. Its error ends the term. A lost shard does not: nothing of it can leave any more,
// and its next holding starts from scratch.
func (t *table) end(e ending) error {
	delete(t.held, e.shard)
	t.count.Add(-1)
	if e.shard == t.giving {
		t.giving = -1
	}
	if errors.Is(e.err, ErrLost) && e.own == nil {
		return nil
	}
	return e.err
}

// give gives one shard back where this replica is the first of those that have the most, and a member has two fewer.
// It waits until the members have been the same for longer than a dead one counts as one, so that a replica that
// comes and dies moves nothing.
func (t *table) give() {
	of, least := t.counts()
	mine := of[t.cfg.Identity]
	if t.giving >= 0 || len(t.free()) > 0 || mine < least+2 ||
		time.Since(t.steady) < t.cfg.LeaseDuration+t.cfg.RetryPeriod {
		return
	}
	for _, m := range t.members[:max(0, slices.Index(t.members, t.cfg.Identity))] {
		if of[m] >= mine {
			return
		}
	}
	t.giving = slices.Max(slices.Collect(maps.Keys(t.held)))
	t.log.Info("giving a shard back", "shard", t.giving, "held", mine, "members", len(t.members))
	t.held[t.giving]()
}
