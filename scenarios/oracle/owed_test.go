package oracle

// change is an operation of the load that succeeded, with the time at which storage
// first acknowledged a state at least as new; 0 never.
type change struct {
	*operation
	stored, arrived int64
	// request that stored it
	by *request
}

type object struct {
	uid             string
	created         uint64 // version of the creation; 0 unknown
	deletedStarted  int64
	deletedFinished int64
	deleted         bool
}

// objects lists, for each name, the uids that the op log shows.
func (r *record) objects() map[key]map[string]*object {
	all := map[key]map[string]*object{}
	for i := range r.ops {
		o := &r.ops[i]
		if !o.ok() || o.UID == "" || o.Phase == "teardown" {
			continue
		}
		if all[o.key()] == nil {
			all[o.key()] = map[string]*object{}
		}
		x := all[o.key()][o.UID]
		if x == nil {
			x = &object{uid: o.UID}
			all[o.key()][o.UID] = x
		}
		switch {
		case o.Type == "create":
			x.created = o.ResourceVersion
		case o.delete():
			x.deleted, x.deletedStarted, x.deletedFinished = true, o.Started, o.Finished
		}
	}
	return all
}

// changes finds, by brute force, when each change of the load was stored, by requests that
// storage received no later than until.
func (r *record) changes(until int64) []change {
	objects := r.objects()
	byKey := map[key][]*request{}
	for i := range r.ledger {
		if q := &r.ledger[i]; q.mine() && q.Received <= until {
			byKey[q.key()] = append(byKey[q.key()], q)
		}
	}
	var out []change
	for i := range r.ops {
		o := &r.ops[i]
		if !o.counted() {
			continue
		}
		c := change{operation: o}
		for j, q := range byKey[o.key()] {
			if q.acked() && r.atLeastAsNew(o, q, byKey[o.key()][j+1:], objects[o.key()]) {
				if c.stored == 0 || q.Responded < c.stored {
					c.stored, c.by = q.Responded, q
				}
				if c.arrived == 0 || q.Received < c.arrived {
					c.arrived = q.Received
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// atLeastAsNew is the definition of docs/measures.md; later are the requests for the
// key that storage took after q.
func (r *record) atLeastAsNew(o *operation, q *request, later []*request, uids map[string]*object) bool {
	me := uids[o.UID]
	switch {
	case q.Method == "PUT" && q.UID == o.UID:
		return !o.delete() && q.ResourceVersion >= o.ResourceVersion
	case q.Method == "DELETE" && q.UID == o.UID && q.UID != "":
		return me.deleted && me.deletedStarted < q.Received
	}
	if x := uids[q.UID]; q.UID != "" && x != nil && x.created > me.created {
		// A DELETE of a newer object that was alive was not meant for it, and counts for nobody.
		return me.deleted && (q.Method == "PUT" || x.deleted && x.deletedStarted < q.Received)
	}
	if q.Method != "DELETE" {
		return false
	}
	// It removed a predecessor, or nothing.
	if !me.deleted || me.deletedStarted >= q.Received {
		return false
	}
	if r.cell.Cut && q.UID != "" {
		return false
	}
	for _, l := range later {
		if l.Method == "PUT" && l.took() && l.UID == o.UID {
			return false
		}
	}
	return true
}

// pace fits a line to the writes that storage owes, counted every 100 ms from the middle of
// an open load of a steady rate to its end, when nothing else is done and it is long against
// storage's latency.
func (r *record) pace(a answers, changes []change, w window) {
	s := r.cell.Scenario
	if s.Load.Model != "open" || len(s.Events)+len(s.Storage.Faults)+len(s.Watch.Faults) > 0 || s.Load.Profile != "" || s.Cluster.Controllers {
		return
	}
	_, mean, p99, ok := configured(s.Storage.Latency)
	steady := len(s.Load.Steps) == 0
	if length := seconds(w.last - w.first); !ok || !steady || length < 28*mean || length < 10*p99 {
		return
	}
	from := w.first + (w.last-w.first)/2
	var times, owed []float64
	for t := from; t <= w.last; t += 100e6 {
		n := 0
		for _, c := range changes {
			if !c.Bystander && c.Finished < t && (c.stored == 0 || c.stored >= t) {
				n++
			}
		}
		times, owed = append(times, seconds(t-from)), append(owed, float64(n))
	}
	written, settled := 0, 0.0
	for i := range changes {
		c := &changes[i]
		if !c.Bystander && c.Finished >= from && c.Finished < w.last {
			written++
		}
		if c.Kind != "Pod" || c.Bystander {
			continue
		}
		if c.stored != 0 {
			settled++
		}
		if c.delete() && r.terminating(c) {
			settled++
		}
	}
	if written < 10 || w.last-from < 1e9 {
		return
	}
	acked := 0.0
	for i := range r.ledger {
		if q := &r.ledger[i]; q.mine() && r.during(q, w) && q.acked() && q.Kind == "Pod" {
			acked++
		}
	}
	slope, rate := slopeOf(times, owed), float64(written)/seconds(w.last-from)
	a["pace.keepsUp"] = slope <= 0.05*rate
	a.number("pace.writtenQPS", rate)
	a["pace.growthQPS"] = within{slope, 1e-6} // a slope of nothing is rounding
	a.number("pace.sentPerEvent", acked/settled)
}

// slopeOf is that of the line with the least squares.
func slopeOf(x, y []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := range x {
		n, sx, sy, sxx, sxy = n+1, sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
