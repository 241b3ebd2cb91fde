package oracle

import (
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/scenarios/history"
)

// converge is G1: the two sides, object by object. It also is what lost counts.
func (r *record) converge() (v verdict) {
	type side struct {
		uid, digest string
		version     uint64
	}
	both := map[key]map[history.Side]side{}
	for _, s := range r.states {
		k := key{s.Kind, s.Namespace, s.Name}
		if both[k] == nil {
			both[k] = map[history.Side]side{}
		}
		both[k][s.Side] = side{s.UID, s.Digest, s.ResourceVersion}
	}
	for k, sides := range both {
		v.judged++
		a, inCluster := sides["apiserver"]
		b, inStorage := sides["storage"]
		if inCluster != inStorage || a.uid != b.uid || a.digest != b.digest && (k.Kind != "Lease" || !r.onlyBeats(k, a.uid, a.version, b.version)) {
			v.violations++
		}
	}
	return v
}

// onlyBeats reports whether an object came from one version to a later one by heartbeats.
func (r *record) onlyBeats(k key, uid string, from, to uint64) bool {
	arrived := false
	for i := range r.ops {
		o := &r.ops[i]
		if o.key() != k || o.UID != uid || !o.ok() || o.ResourceVersion <= from || o.ResourceVersion > to {
			continue
		}
		if o.Type != "heartbeat" {
			return false
		}
		arrived = arrived || o.ResourceVersion == to
	}
	return arrived
}

// recreated is the other half of G5: the final uid of each name that the op log created
// more than once.
func (r *record) recreated() (v verdict) {
	final := map[key]string{}
	for _, s := range r.states {
		if s.Side == "storage" {
			final[key{s.Kind, s.Namespace, s.Name}] = s.UID
		}
	}
	for k, uids := range r.objects() {
		created := 0
		var last *object
		for _, x := range uids {
			if x.created == 0 {
				continue
			}
			created++
			if last == nil || x.created > last.created {
				last = x
			}
		}
		if created < 2 || k.Kind != "Pod" {
			continue
		}
		v.judged++
		// Whether a name that was deleted in the end is gone is G1's to say.
		if have := final[k]; have != last.uid && (have != "" || !last.deleted) {
			v.violations++
		}
	}
	return v
}

// since is when the watcher process started whose counters after.prom has.
func (r *record) since() (start int64) {
	for _, m := range r.marks {
		if m.What == "started" {
			start = m.Time
		}
	}
	return start
}

// conserved is G6 by the watcher's counters, kind by kind, and by the ledger.
func (r *record) conserved() bool {
	for _, kind := range r.kinds() {
		label := `kind="` + kind + `"`
		count := map[string]float64{}
		for _, name := range []string{"received_total", "sent_total", "coalesced_total", "filtered_total", "parked", "queued", "dropped_total"} {
			count[name], _ = r.after.sum("k8swatch_events_"+name, label)
		}
		if count["received_total"] != count["sent_total"]+count["coalesced_total"]+count["filtered_total"]+count["parked"]+count["queued"]+count["dropped_total"] {
			return false
		}
		if count["dropped_total"] > 0 && r.cell.Scenario.Watcher.QueueFull != "drop" {
			return false
		}
		if kind == "Pod" && count["coalesced_total"] > float64(r.unnamed(kind)) && r.sendsEvery() && !r.mayMerge(kind, count["received_total"]) {
			return false
		}
	}
	return true
}

// sendsEvery says that the watcher merges nothing by design.
func (r *record) sendsEvery() bool {
	w := r.cell.Scenario.Watcher
	every := []string{"single", "unordered", "partitioned", "keyed"}
	return r.cell.Watcher.Own && w.Profile != "legacy" && slices.Contains(every, w.Strategy)
}

// unnamed counts the states that were not sent and the deletions of a kind, dispatched while the
// watcher's record did not have the kind, or within 250 ms of that.
func (r *record) unnamed(kind string) (n int) {
	named := int64(0)
	for _, q := range r.ledger {
		if q.Kind == notes && q.acked() {
			named = max(named, q.Responded)
		}
	}
	for i := range r.ops {
		o := &r.ops[i]
		if !o.ok() || o.Kind != kind || o.Phase == "load" && o.Started >= named+250e6 || o.delete() && o.Phase != "load" {
			continue
		}
		sent := slices.ContainsFunc(r.ledger, func(q request) bool {
			return q.Method == "PUT" && q.took() && q.key() == o.key() && q.UID == o.UID && q.ResourceVersion == o.ResourceVersion
		})
		if o.delete() || !sent {
			n++
		}
	}
	return n
}

// mayMerge says that a watcher which sends every state had a reason to merge some of a kind: one
// that failed, Pods whose ReplicaSet was awaited, or as many that waited at once, at any of its
// dispatches, as a queue holds.
func (r *record) mayMerge(kind string, received float64) bool {
	label := `kind="` + kind + `"`
	retried, _ := r.after.sum("k8swatch_events_retried_total", label)
	parked, _ := r.after.sum("k8swatch_events_parked", label)
	failed, _ := r.after.sum("bkbcs_k8swatch_storage_request_total_num", `resource_type="`+kind+`"`, `status="failure"`)
	refused := slices.ContainsFunc(r.ledger, func(q request) bool { return q.Kind == kind && q.mine() && !q.acked() })
	relisted, _ := r.after.sum("k8swatch_relists_total", label)
	owned := kind == "Pod" && slices.Contains(r.meta.Rules.Kinds, "ReplicaSet")
	if retried+parked+failed+relisted > 0 || refused || owned {
		return true
	}
	if r.cell.Scenario.Watcher.QueueFull != "coalesce" {
		return false
	}
	all := slices.DeleteFunc(r.changes(math.MaxInt64), func(c change) bool { return c.Kind != kind || c.stored == 0 })
	most := 0
	for _, at := range all {
		n := 0
		for _, c := range all {
			if c.Started <= at.Started && c.stored >= at.Started {
				n++
			}
		}
		most = max(most, n)
	}
	return most+max(0, int(received)-len(all)) >= r.cell.Scenario.Watcher.HandlerQueueLen
}

// honest is G14: what the watcher counted as acknowledged is what the ledger acknowledged.
// A request that was answered while the counters were read may be on either side.
func (r *record) honest() bool {
	for _, kind := range r.kinds() {
		least, most := 0.0, 0.0
		for i := range r.ledger {
			q := &r.ledger[i]
			if q.Kind != kind || !q.acked() || !q.mine() || q.Received < r.since() {
				continue
			}
			if q.Responded < r.cell.ScrapeStarted {
				least++
			}
			if q.Responded <= r.cell.ScrapeFinished {
				most++
			}
		}
		sent, _ := r.after.sum("k8swatch_events_sent_total", `kind="`+kind+`"`)
		fresh, _ := r.after.sum("k8swatch_freshness_seconds_count", `kind="`+kind+`"`)
		ok, _ := r.after.sum("bkbcs_k8swatch_storage_request_latency_time_count", `resource_type="`+kind+`"`, `status="success"`)
		for _, n := range []float64{sent, fresh, ok} {
			if n < least-1 || n > most {
				return false
			}
		}
	}
	return true
}

func (r *record) kinds() (kinds []string) {
	for series := range r.after {
		if rest, ok := strings.CutPrefix(series, `k8swatch_events_received_total{kind="`); ok {
			kind, _, _ := strings.Cut(rest, `"`) // the label shard may follow
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// checkFigures puts the verdicts together.
func (r *record) checkFigures(a answers) {
	g1 := r.converge()
	g2, g3, g4, g5, reordered := r.order()
	names := r.recreated()
	power := r.power(r.changes(math.MaxInt64))
	a["events.reordered"] = float64(reordered)
	if r.cell.Cut {
		g1 = verdict{}
	} else {
		a["events.lost"] = float64(g1.violations)
		g5.judged += names.judged
		g5.violations += names.violations
	}
	for g, v := range map[string]verdict{"G1": g1, "G2": g2, "G3": g3, "G4": g4, "G5": g5} {
		p, has := power[g]
		word := "pass"
		switch {
		case v.violations > 0:
			word = "fail"
			if e := r.expected(g); e != "pass" {
				word = "fail-allowed"
			}
		case v.judged == 0:
			word = "not-judged"
		case r.expected(g) == "fail-expected":
			word = "fail"
		case has && p < r.cell.Scenario.Limits.MinPower:
			word = "no-power"
		}
		a["checks."+g+".verdict"] = word
		a["checks."+g+".judged"] = float64(v.judged)
		if v.violations > 0 {
			a["checks."+g+".violations"] = float64(v.violations)
		}
		if has {
			a["checks."+g+".power"] = float64(p)
			if least := r.cell.Scenario.Limits.MinPower; least > 0 {
				a["checks."+g+".minPower"] = float64(least)
			}
		}
	}
	r.replays(a)
	if r.after == nil {
		return
	}
	for g, ok := range map[string]bool{"G6": r.conserved(), "G14": r.honest()} {
		a["checks."+g+".verdict"] = "fail"
		if ok {
			a["checks."+g+".verdict"] = "pass"
		}
	}
}

// expected is what the scenario expects of a check under the cell's strategy.
func (r *record) expected(g string) string {
	e := r.cell.Scenario.Expect[g]
	for _, k := range []string{r.cell.Scenario.Watcher.Strategy, "default"} {
		if v, ok := e[k]; ok {
			return v
		}
	}
	return "pass"
}

// replays is G10 and G11 where storage has no faults: no request has an unknown outcome, so that only who wrote is
// judged, and what is applied again was sent again.
func (r *record) replays(a answers) {
	a["checks.G10.verdict"], a["checks.G10.judged"] = "not-judged", 0.0
	if v := r.tenures(); v.judged > 0 {
		a["checks.G10.verdict"], a["checks.G10.judged"] = "pass", float64(v.judged)
		if v.violations > 0 {
			a["checks.G10.verdict"], a["checks.G10.violations"] = "fail", float64(v.violations)
		}
	}
	a["checks.G11.verdict"], a["checks.G11.judged"] = "not-judged", 0.0
	seen, again := map[request]bool{}, 0.0
	for i := range r.ledger {
		q := &r.ledger[i]
		if !q.took() || !q.mine() || q.Method != "PUT" || q.Kind == notes {
			continue
		}
		state := request{Kind: q.Kind, Namespace: q.Namespace, Name: q.Name, UID: q.UID, ResourceVersion: q.ResourceVersion}
		if seen[state] {
			again++
		}
		seen[state] = true
	}
	if again > 0 {
		a["checks.G11.verdict"], a["checks.G11.judged"] = "pass", again
	}
}
