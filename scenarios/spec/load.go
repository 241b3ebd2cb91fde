package spec

import "github.com/watchbench/watchbench/loadgen/plan"

// Plan is the load as the generator's plan, for the run of that id.
func (l Load) Plan(runID string, seed uint64) plan.Config {
	c := plan.Config{
		Seed: seed, RunID: runID, Model: l.Model,
		Threads: l.Threads, Operations: l.Operations, Duration: plan.Duration(l.Duration), ThinkTime: plan.Duration(l.ThinkTime),
		Rate: l.Rate, Arrival: l.Arrival, MaxInFlight: l.MaxInFlight,
		Lifecycle: l.Lifecycle, StageGap: plan.Duration(l.StageGap),
		Survivors: l.Survivors, Recreate: l.Recreate, ObjectBytes: plan.Size(l.ObjectBytes),
		Namespaces: l.Namespaces, Nodes: l.Nodes, Prefill: l.Prefill,
		Warmup: plan.Warmup{Operations: l.Warmup.Operations},
	}
	for _, s := range l.Stages {
		c.Stages = append(c.Stages, plan.Stage{Stage: s.Stage, Times: s.Times, Gap: plan.Duration(s.Gap)})
	}
	if r := l.Ramp; r != nil {
		c.Ramp = &plan.Ramp{From: r.From}
	}
	if b := l.Burst; b != nil {
		c.Burst = &plan.Burst{Period: plan.Duration(b.Period), Length: plan.Duration(b.Length), Base: b.Base}
	}
	if b := l.Bystander; b != nil {
		c.Bystander = &plan.Bystander{Kind: b.Kind, Rate: b.Rate, Objects: b.Objects, ObjectBytes: plan.Size(b.ObjectBytes)}
	}
	return c
}
