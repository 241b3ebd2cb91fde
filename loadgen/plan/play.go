package plan

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

func (p *Plan) profileSetup(yield func(Op) bool) {
	w := p.newWorld(&p.made)
	for id := int64(idPrepare); ; id++ {
		x, ok := w.next()
		if !ok {
			return
		}
		x.op.ID, x.op.Phase, x.op.At = id, oplog.PhasePrepare, 0
		if !yield(x.op) {
			return
		}
	}
}

func (p *Plan) profileTimed(yield func(Op) bool) {
	w := p.newWorld(&p.made)
	w.begin(p.rng(streamLives), cmp.Or(p.cfg.StageGap.Std(), DefaultOpenGap))
	w.end = p.cfg.Duration.Std()
	w.keepNodes()
	w.flap()
	w.arrive()
	for id := int64(idLoad); id-idLoad < MaxOperations; id++ {
		x, ok := w.next()
		if !ok {
			return
		}
		x.op.ID, x.op.Phase = id, oplog.PhaseLoad
		if !yield(x.op) {
			return
		}
	}
}

// arrive has things happen at the plan's rate until its end, each part of the mix by itself.
func (w *world) arrive() {
	mix, tn := &w.tn.Mix, &w.tn
	services := 0
	w.each(*mix.Services, tn.Services.Step.Mean(), func() {
		// In turn, so that each is scaled as often.
		d := w.services[services%len(w.services)]
		services++
		w.pulse(d, max(1, tn.Services.Step.Whole(w.rng)))
	})
	if n := len(w.rolled); n > 0 {
		pods := 0
		for _, d := range w.rolled {
			pods += d.replicas
		}
		w.each(*mix.Rollouts, float64(pods)/float64(n), func() { w.rolled[w.rng.IntN(n)].rollout() })
	}
	onTheDot := *tn.Jobs.CronShare
	if w.cronPeriod()/2 >= w.end {
		onTheDot = 0 // the load ends before the first batch
	}
	w.each(*mix.Jobs*(1-onTheDot), tn.Jobs.Pods.Mean(), func() { w.startJob(max(1, tn.Jobs.Pods.Whole(w.rng))) })
	w.cronJobs(*mix.Jobs * onTheDot)
	w.each(*mix.Daemons, 1, func() { w.daemons.restart() })
	w.steady(*tn.Cluster.WidgetRate, w.widgets)
	w.steady(*tn.Cluster.ConfigMapRate, w.configs)
}

// each schedules arrivals of something that makes so many pods on average.
func (w *world) each(share, pods float64, do func()) {
	if share == 0 {
		return
	}
	rng := rand.New(rand.NewPCG(w.rng.Uint64(), w.rng.Uint64()))
	next := w.cfg.arrivalTimes(rng, share/pods)
	var arrive func()
	arrange := func() {
		if at, ok := next(); ok {
			w.after(at-w.now, arrive)
		}
	}
	arrive = func() {
		do()
		arrange()
	}
	arrange()
}

const leastPeriod = time.Second

func (w *world) cronPeriod() time.Duration {
	return max(w.life(w.tn.Jobs.CronPeriod.Std()), leastPeriod)
}

// cronJobs starts as many Jobs on the dot as make up a share of the rate, in one batch.
func (w *world) cronJobs(share float64) {
	if share == 0 {
		return
	}
	period := w.cronPeriod()
	owed := 0.0
	var tick func()
	tick = func() {
		owed += share * w.cfg.MeanRate() * period.Seconds()
		for owed >= 1 {
			pods := max(1, w.tn.Jobs.Pods.Whole(w.rng))
			owed -= float64(pods)
			w.startJob(pods)
		}
		w.after(period, tick)
	}
	w.after(period/2, tick)
}

// steady updates objects in turn, at a rate that is not the load's.
func (w *world) steady(rate float64, objects []*object) {
	if rate == 0 || len(objects) == 0 {
		return
	}
	n := 0
	var update func()
	update = func() {
		n++
		w.emit(objects[n%len(objects)], oplog.TypeUpdate, State{Count: n})
		w.after(exponential(w.rng, time.Duration(float64(time.Second)/rate)), update)
	}
	w.after(exponential(w.rng, time.Duration(float64(time.Second)/rate)), update)
}

func exponential(rng *rand.Rand, mean time.Duration) time.Duration {
	return max(time.Microsecond, time.Duration(-math.Log1p(-rng.Float64())*float64(mean)).Round(time.Microsecond))
}
