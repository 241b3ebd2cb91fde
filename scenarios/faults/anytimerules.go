package faults

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// deepQueue is from how many events on a queue counts as deep.
const deepQueue = 50

// leastShare: of n kills n/leastShare must have hit each phase, and as many catch-ups must
// have been compared in full, or they prove nothing.
const leastShare = 10

var _ Ruler = (*randomKills)(nil)

// Rules tell from the record what each watcher was doing when it was killed, and when
// storage had everything that had happened until then.
func (*randomKills) Rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[killed](c.Deeds, killAnytime)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	k := &kills{all: all, limit: recovery(c), acked: make([]int64, len(all))}
	late := 0
	for _, x := range all {
		if x.At > c.Cell.LoadFinished {
			late++
		}
	}
	return []matrix.Rule{{First: true, Request: k.request, Facts: k.facts, Vacuous: func(seen matrix.Seen) (why []string) {
		for _, f := range k.facts(seen) {
			if f.Least != nil && f.Value < *f.Least {
				why = append(why, fmt.Sprintf("%s: %.0f; at least %.0f are needed", f.Name, f.Value, *f.Least))
			}
		}
		if late > 0 {
			why = append(why, fmt.Sprintf("%d kills came after the load had ended", late))
		}
		return why
	}}}, nil
}

// kills are all of a cell, in order.
type kills struct {
	all   []killed
	limit float64 // of the time until storage had everything, seconds; 0 is none
	acked []int64 // by kill, what storage acknowledged of Pods after the last reading
}

// request counts what left a watcher's queue between the last reading and its end.
func (k *kills) request(e *ledger.Entry) {
	if e.Kind != podKind || !e.Acked() {
		return
	}
	i, _ := slices.BinarySearchFunc(k.all, e.Responded, func(x killed, at int64) int { return cmp.Compare(x.At, at) })
	if i < len(k.all) && k.all[i].Read != 0 && e.Responded > k.all[i].Read {
		k.acked[i]++
	}
}

// phases counts the kills by what they hit. A deep queue may be in any phase.
type phases struct{ first, behind, steady, deep int }

// count tells the phases from the record: the first lists were complete or not; storage
// then had everything that had happened until they were, or not.
func (k *kills) count(had map[int64]int64) (n phases) {
	for i, x := range k.all {
		switch {
		case x.Ready == 0:
			n.first++
		case had[x.Ready] > x.At:
			n.behind++
		default:
			n.steady++
		}
		if x.Queued-float64(k.acked[i]) >= deepQueue {
			n.deep++
		}
	}
	return n
}

// compared counts the catch-ups that were compared in full, and how many kills share one
// at most: those after which no watcher lived long enough, up to the first for which one
// did. The first watcher's stands for no kill. behind is why the last kill has none.
func (k *kills) compared() (n, share int, behind string) {
	since := 0
	caught := func() {
		if since > 0 {
			n, share, since = n+1, max(share, since), 0
		}
	}
	for _, x := range k.all {
		if x.Wanted != 0 && x.Behind == "" {
			caught()
		}
		since++
		switch {
		case x.Last == nil:
		case x.Last.Behind != "":
			behind = x.Last.Behind
		default:
			caught()
		}
	}
	if since > 0 && behind == "" {
		behind = fmt.Sprintf("none after the last %d kills", since)
	}
	return n, share, behind
}

func (k *kills) facts(seen matrix.Seen) []result.Fact {
	var moments []int64
	for _, x := range k.all {
		moments = append(moments, x.At, x.Ready)
	}
	had := hadAll(seen.Changes, moments)
	n := k.count(had)
	compared, share, behind := k.compared()

	took := matrix.Within("T", "longest from a kill until storage had all that had happened before", "s", 0, k.limit)
	never := int64(0)
	for _, x := range k.all {
		if had[x.At] == math.MaxInt64 {
			never++
			continue
		}
		took.Value = max(took.Value, float64(had[x.At]-x.At)/1e9)
	}
	took.OK = took.Limit == nil || took.Value <= *took.Limit
	lost := matrix.None("C", "kills after which storage never had all that had happened before", never, "")
	if never > 0 {
		took.OK, took.Detail = false, fmt.Sprintf("after %d kills it never had", never)
	}
	full := least("catch-ups compared in full", compared, len(k.all)/leastShare)
	full.OK, full.Detail = behind == "", cmp.Or(behind, fmt.Sprintf("at most %d kills share one", share))
	phase := len(k.all) / leastShare
	return []result.Fact{
		least("kills during the first lists", n.first, phase),
		least("kills while storage was catching up", n.behind, phase),
		least("kills in steady state", n.steady, phase),
		least(fmt.Sprintf("kills with %d events queued or more", deepQueue), n.deep, phase),
		full, lost, took,
	}
}

// least states a count of column C that proves something from so many on, at least one.
func least(name string, n, atLeast int) result.Fact {
	f := fact("C", name, "", float64(n), true)
	limit := float64(max(1, atLeast))
	f.Least = &limit
	return f
}

// hadAll finds, for each moment, when storage first had everything that had happened by
// then: the moment itself if nothing was missing, math.MaxInt64 if it never had.
func hadAll(changes iter.Seq[history.Change], moments []int64) map[int64]int64 {
	order := slices.Compact(slices.Sorted(slices.Values(moments)))
	latest := make([]int64, len(order))
	for c := range changes {
		if c.Stored == 0 && (c.Gone || c.Unconfirmed) {
			continue // it came and went unseen, or storage had it and could not say when
		}
		stored := c.Stored
		if stored == 0 {
			stored = math.MaxInt64
		}
		if i, _ := slices.BinarySearch(order, c.Finished); i < len(order) {
			latest[i] = max(latest[i], stored)
		}
	}
	had := make(map[int64]int64, len(order))
	last := int64(0)
	for i, at := range order {
		last = max(last, latest[i])
		had[at] = max(at, last)
	}
	return had
}
