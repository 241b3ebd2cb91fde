package faults

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Events of a cluster that is restored, as from a backup of etcd.
const (
	backupCluster  = "backup-cluster"
	restoreCluster = "restore-cluster"
)

// minUndone is how many objects a restore must remove, recreate and revert, each.
const minUndone = 10

func restoredCluster() Family {
	event := func(name string, do func(context.Context, Cell) error) Failpoint {
		return Failpoint{Name: name, Anywhere: true, Available: validateRestore,
			Inject: func(ctx context.Context, c Cell, _ spec.Event) (Done, error) { return Done{}, do(ctx, c) }}
	}
	return Family{Rules: restoreRules, Failpoints: []Failpoint{
		event(backupCluster, func(ctx context.Context, c Cell) error {
			c.Mark(history.Mark{What: history.MarkBackedUp})
			return c.Backup(ctx)
		}),
		event(restoreCluster, func(ctx context.Context, c Cell) error {
			c.Mark(history.Mark{What: history.MarkRestoring})
			err := c.Restore(ctx)
			c.Mark(history.Mark{What: history.MarkRestored})
			return err
		}),
	}}
}

func validateRestore(t *spec.Timeline, e spec.Event) error {
	of := func(what string) []spec.Event {
		return slices.DeleteFunc(slices.Clone(t.Events), func(e spec.Event) bool { return e.What != what })
	}
	saved, back := of(backupCluster), of(restoreCluster)
	return cmp.Or(
		t.OnlyAsserts([]string{"C", "L", "T", "X"},
			"is not judged across "+restoreCluster+", with which versions and uids go back"),
		t.Need(t.Simulated() || t.Cluster.Provider == "embedded", e.What+" needs a cluster that watchbench starts",
			"use the provider embedded or replay"),
		t.Need(len(saved) == 1 && len(back) == 1 && saved[0].At.From < back[0].At.From,
			backupCluster+" and "+restoreCluster+" belong together", "write each once, the backup first"),
		needsWatcher(t, e),
	)
}

// restoreRules: storage takes back what the restore undid.
func restoreRules(c *matrix.Case) ([]matrix.Rule, error) {
	u := undoing{
		kinds: c.Cell.Kinds,
		then:  map[history.Key]held{}, rows: map[history.Key]*undone{}, later: map[history.Key][]held{},
		vague: map[history.Key]bool{},
	}
	for _, d := range c.Deeds {
		switch d.What {
		case backupCluster:
			u.saved = d
		case restoreCluster:
			u.back = d
		}
	}
	if u.back.Began == 0 {
		return nil, nil
	}
	return []matrix.Rule{{
		First: true, Operation: u.operation, Request: u.request, Vacuous: u.vacuous,
		Facts: func(matrix.Seen) []result.Fact { return u.facts(c.Recovery()) },
	}}, nil
}

// held is a state of an object; zero is none.
type held struct {
	uid     string
	version uint64
}

// undone is an object that was changed between a backup and its return.
type undone struct {
	then  held  // what the backup has
	at    held  // what storage had at the restore, by the ledger
	now   held  // what it has
	right int64 // since when it has what the cluster has; 0: it has not
}

// displaced reports whether storage held what the restore undid.
func (r *undone) displaced() bool { return r.at != r.then }

// undoing follows storage by op log and ledger as it takes back what a restore undid.
type undoing struct {
	kinds       []string
	saved, back history.Deed
	then        map[history.Key]held
	rows        map[history.Key]*undone
	later       map[history.Key][]held // made after the restore
	vague       map[history.Key]bool   // whether the backup has the last change is unknown
}

// operation sorts the writes into before the backup, undone, and after; one under way at either is vague.
func (u *undoing) operation(op *oplog.Record) {
	if !slices.Contains(u.kinds, op.Kind) || op.Type == oplog.TypeHeartbeat {
		return
	}
	k := history.Key{Kind: op.Kind, Namespace: op.Namespace, Name: op.Name}
	state := held{op.UID, op.ResourceVersion}
	if op.Type == oplog.TypeDelete {
		state = held{}
	}
	unclear := op.Status == 0 || op.Status >= http.StatusInternalServerError || state.uid != "" && state.version == 0
	within := func(d history.Deed) bool { return op.Started <= d.Ended && op.Finished >= d.Began }
	switch {
	case unclear || op.OK() && (within(u.saved) || within(u.back)):
		u.vague[k] = true
	case !op.OK():
	case op.Finished < u.saved.Began:
		u.then[k] = state
	case op.Finished < u.back.Began:
		u.rows[k] = &undone{then: u.then[k]}
	default:
		u.later[k] = append(u.later[k], state)
	}
}

func (u *undoing) request(e *ledger.Entry) {
	k := history.Key{Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
	r := u.rows[k]
	if r == nil || u.vague[k] || !e.Took() {
		return
	}
	r.now = held{e.UID, e.ResourceVersion}
	if e.Method == http.MethodDelete {
		r.now = held{}
	}
	switch right := r.now == r.then || slices.Contains(u.later[k], r.now); {
	case e.Received < u.back.Began:
		r.at = r.now
	case !right:
		r.right = 0
	case r.right == 0:
		r.right = e.Applied
	}
}

// sorts counts the rows that storage had to revert, by what the restore did to them.
func (u *undoing) sorts() (gone, back, old int) {
	for k, r := range u.rows {
		switch {
		case u.vague[k] || !r.displaced():
		case r.then == held{}:
			gone++
		case r.at == held{}:
			back++
		default:
			old++
		}
	}
	return gone, back, old
}

func (u *undoing) vacuous(matrix.Seen) []string {
	if gone, back, old := u.sorts(); min(gone, back, old) < minUndone {
		return []string{fmt.Sprintf("of what the restore undid, storage had %d objects that were created, %d deletions and "+
			"%d changes; "+
			"at least %d of each are needed", gone, back, old, minUndone)}
	}
	return nil
}

func (u *undoing) facts(limit float64) []result.Fact {
	const name = "until storage held what was restored"
	last, never, first := u.back.Ended, int64(0), ""
	for k, r := range u.rows {
		switch {
		case u.vague[k] || !r.displaced():
		case r.right != 0:
			last = max(last, r.right)
		default:
			never++
			first = max(first, fmt.Sprintf("%s, of which the restored cluster had uid %q version %d, and storage uid %q "+
				"version %d",
				k, r.then.uid, r.then.version, r.now.uid, r.now.version))
		}
	}
	gone, back, old := u.sorts()
	facts := []result.Fact{matrix.None("C", "rows that kept what the restore undid", never, first)}
	if never > 0 {
		return append(facts, matrix.Missing("T", name, "s", fmt.Sprintf("%d of %d rows never did", never, gone+back+old)))
	}
	f := matrix.Within("T", name, "s", time.Duration(last-u.back.Ended).Seconds(), limit)
	f.Detail = fmt.Sprintf("%d objects gone, %d back, %d old again", gone, back, old)
	return append(facts, f)
}
