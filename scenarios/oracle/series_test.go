package oracle

import "fmt"

// series are the curves, one value for each sample, or for each half second of the logs.
func (r *record) series(a answers, changes []change, w window) {
	curve := func(name, unit string, at func(before, s *sample) (float64, bool)) {
		n := 0
		for i := range r.samples {
			var before *sample
			if i > 0 {
				before = &r.samples[i-1]
			}
			v, ok := at(before, &r.samples[i])
			if !ok {
				continue
			}
			a["series."+name+".unit"] = unit
			a.number(fmt.Sprintf("series.%s.t.%d", name, n), seconds(r.samples[i].Time-w.first))
			a.number(fmt.Sprintf("series.%s.v.%d", name, n), v)
			n++
		}
	}
	gauge := func(name, unit string, field func(*sample) *float64) {
		curve(name, unit, func(_, s *sample) (float64, bool) {
			if v := field(s); v != nil {
				return *v, true
			}
			return 0, false
		})
	}
	gauge("writer.depth", "events", func(s *sample) *float64 { return s.WriterDepth })
	gauge("handler.depth", "events", func(s *sample) *float64 { return s.HandlerDepth })
	gauge("storage.inflight", "requests", func(s *sample) *float64 { return s.StorageInFlight })
	parties := map[string]bool{}
	for _, s := range r.samples {
		for name := range s.Parties {
			parties[name] = true
		}
	}
	for name := range parties {
		curve(name+".rssMiB", "MiB", func(_, s *sample) (float64, bool) {
			u, ok := s.Parties[name]
			return u.RSSBytes / mib, ok
		})
		curve(name+".cpuCores", "cores", func(before, s *sample) (float64, bool) {
			u, ok := s.Parties[name]
			if before == nil || !ok {
				return 0, false
			}
			return (u.CPUSeconds - before.Parties[name].CPUSeconds) / seconds(s.Time-before.Time), true
		})
	}
	curve("watcher.netKiBps", "KiB/s", func(before, s *sample) (float64, bool) {
		u := s.Parties["watcher"]
		if before == nil || u.Read < before.Parties["watcher"].Read {
			return 0, false
		}
		was := before.Parties["watcher"]
		return (u.Read + u.Written - was.Read - was.Written) / 1024 / seconds(s.Time-before.Time), true
	})
	r.depth(a, changes, w)
	var answers, acks []int64
	for i := range r.ops {
		if o := &r.ops[i]; o.counted() && !o.Bystander {
			answers = append(answers, o.Finished)
		}
	}
	for i := range r.ledger {
		if q := &r.ledger[i]; q.mine() && q.acked() && r.during(q, w) {
			acks = append(acks, q.Responded)
		}
	}
	r.rate(a, "load.qps", answers, w)
	r.rate(a, "storage.qps", acks, w)
}

// depth is the most changes of Pods that were owed at the beginning of a millisecond, of each
// half second.
func (r *record) depth(a answers, changes []change, w window) {
	const ms = int64(1e6)
	till := func(x int64) int64 { return (max(0, x-w.first) + ms - 1) / ms }
	level := map[int64]int{}
	last := int64(-1)
	for _, c := range changes {
		stored := max(r.cell.DrainEnd, w.last)
		if c.stored != 0 {
			stored = min(c.stored, stored)
		}
		if from, to := till(c.Finished), till(stored); c.Kind == "Pod" && from < to {
			for i := from; i < to; i++ {
				level[i]++
			}
			last = max(last, to)
		}
	}
	all := 0
	for _, n := range level {
		all = max(all, n)
	}
	if all > 0 {
		a.number("handler.maxDepth", float64(all))
	}
	for n := int64(0); n <= last/500 && last >= 0; n++ {
		most := 0
		for i := n * 500; i < (n+1)*500; i++ {
			most = max(most, level[i])
		}
		a["series.queue.depth.unit"] = "events"
		a.number(fmt.Sprintf("series.queue.depth.t.%d", n), float64(n)/2+0.25)
		a.number(fmt.Sprintf("series.queue.depth.v.%d", n), float64(most))
	}
}

func (r *record) rate(a answers, name string, times []int64, w window) {
	const half = int64(5e8)
	bins := map[int64]int{}
	last := int64(-1)
	for _, x := range times {
		n := (x - w.first) / half
		bins[n]++
		last = max(last, n)
	}
	if last < 0 {
		return
	}
	a["series."+name+".unit"] = "requests/s"
	for n := int64(0); n <= last; n++ {
		a.number(fmt.Sprintf("series.%s.t.%d", name, n), float64(n)/2+0.25)
		a.number(fmt.Sprintf("series.%s.v.%d", name, n), float64(bins[n])*2)
	}
}
