package oracle

import "fmt"

// series are the curves, one value for each sample, or for each half second of the logs.
func (r *record) series(a answers, w window) {
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
	gauge("queue.depth", "events", func(s *sample) *float64 { return s.QueueDepth })
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
		if before == nil || before.NetIn == nil || s.NetIn == nil {
			return 0, false
		}
		return (*s.NetIn + *s.NetOut - *before.NetIn - *before.NetOut) / 1024 / seconds(s.Time-before.Time), true
	})
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
