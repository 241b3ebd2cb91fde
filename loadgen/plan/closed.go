package plan

// lifeLoop plays a thread of a closed loop: one thing after the other that a profile's
// mix has, each to its end. What several controllers write is one sequence here, in the
// order in which it would happen; how long it takes is up to the answers, think time and
// stage gap.
type lifeLoop struct {
	w     *world
	mix   []part
	total float64
}

// part is something of the mix, with its share.
type part struct {
	share float64
	begin func()
}

func (p *Plan) newLifeLoop(stream uint64, thread, threads int) *lifeLoop {
	w := p.newWorld(&p.made)
	w.begin(p.rng(stream), 0)
	w.closed = true
	w.index += int64(thread)
	w.stride = int64(threads)
	l := &lifeLoop{w: w}
	mix, tn := &w.tn.Mix, &w.tn
	add := func(share float64, begin func()) {
		if share > 0 {
			l.mix = append(l.mix, part{share, begin})
			l.total += share
		}
	}
	services, rolled, singles := own(w.services, thread, threads), own(w.rolled, thread, threads), own(w.singles, thread,
		threads)
	if len(services) > 0 {
		add(*mix.Services/tn.Services.Step.Mean(), func() {
			w.pulse(services[w.rng.IntN(len(services))], max(1, tn.Services.Step.Whole(w.rng)))
		})
	}
	if len(rolled) > 0 {
		add(*mix.Rollouts/tn.Rollouts.Size.Mean(), func() { rolled[w.rng.IntN(len(rolled))].rollout() })
	}
	add(*mix.Jobs/tn.Jobs.Pods.Mean(), func() { w.startJob(max(1, tn.Jobs.Pods.Whole(w.rng))) })
	if restarts := 0; len(singles) > 0 {
		add(*mix.Recreate, func() {
			w.terminate(singles[restarts%len(singles)].pod)
			restarts++
		})
	}
	return l
}

// own is a thread's part of what exists before the load.
func own[T any](all []T, thread, threads int) (mine []T) {
	for i := thread; i < len(all); i += threads {
		mine = append(mine, all[i])
	}
	return mine
}

// next is the thread's next write.
func (l *lifeLoop) next() decided {
	for {
		if x, ok := l.w.next(); ok {
			return x
		}
		at := l.w.rng.Float64() * l.total
		for i, p := range l.mix {
			if at -= p.share; at < 0 || i == len(l.mix)-1 {
				p.begin()
				break
			}
		}
	}
}
