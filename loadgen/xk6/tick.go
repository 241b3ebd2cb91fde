package xk6

import (
	"math"
	"time"

	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/executor"
)

// tick is when the arrival-rate executor wanted the current iteration to begin, as time
// since the start of the scenario; false under executors that have no such time. k6 does
// not expose it; it follows from the executor's definition and the iteration's number,
// unless iterations were dropped before it, which makes a run invalid anyway.
func tick(vu modules.VU) (time.Time, bool) {
	scenario, state := lib.GetScenarioState(vu.Context()), vu.State()
	if scenario == nil || state == nil || state.GetScenarioGlobalVUIter == nil {
		return time.Time{}, false
	}
	var since time.Duration
	ok := false
	i := float64(state.GetScenarioGlobalVUIter())
	switch c := state.Options.Scenarios[scenario.Name].(type) {
	case *executor.ConstantArrivalRateConfig:
		since, ok = constantTick(c, i), true
	case *executor.RampingArrivalRateConfig:
		since, ok = rampingTick(c, i)
	}
	return scenario.StartTime.Add(since), ok
}

// constantTick: iteration i, from 0, is due at i intervals.
func constantTick(c *executor.ConstantArrivalRateConfig, i float64) time.Duration {
	return time.Duration(i * float64(c.TimeUnit.Duration) / float64(c.Rate.Int64))
}

// rampingTick: iteration i, from 0, is due when the area below the rate reaches i+1.
func rampingTick(c *executor.RampingArrivalRateConfig, i float64) (time.Duration, bool) {
	unit := float64(c.TimeUnit.Duration)
	area, from, begun := i+1, float64(c.StartRate.Int64)/unit, 0.0
	for _, stage := range c.Stages {
		to, length := float64(stage.Target.Int64)/unit, float64(stage.Duration.Duration)
		whole := length * (from + to) / 2
		if area <= whole {
			if slope := (to - from) / length; slope != 0 {
				return time.Duration(begun + (math.Sqrt(max(0, from*from+2*slope*area))-from)/slope), true
			}
			return time.Duration(begun + area/from), true
		}
		area, from, begun = area-whole, to, begun+length
	}
	return 0, false
}
