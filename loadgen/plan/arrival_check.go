package plan

import (
	"slices"
	"strings"
)

// arrivals are all processes, with the section of the file that each needs.
var arrivalKinds = []struct{ name, section, form string }{
	{ArrivalConstant, "", ""}, {ArrivalPoisson, "", ""},
	{ArrivalRamp, "ramp", "{from: 10}"},
	{ArrivalBurst, "burst", "{period: 5s, length: 1s}"},
	{ArrivalStep, "steps", "[{length: 30s, rate: 10}, {length: 30s, rate: 50}]"},
	{ArrivalMMPP, "mmpp", "{factor: 5, share: 0.05, stay: 3s}"},
	{ArrivalDiurnal, "diurnal", "{period: 24h, amplitude: 0.4}"},
	{ArrivalTrace, "trace", "[0s, 150ms, 2s]"},
}

// sections are those that are written, by name.
func (c *Load) sections() map[string]bool {
	return map[string]bool{
		"ramp": c.Ramp != nil, "burst": c.Burst != nil, "steps": len(c.Steps) > 0, "mmpp": c.MMPP != nil,
		"diurnal": c.Diurnal != nil, "trace": len(c.Trace) > 0,
	}
}

// validateArrival checks that the process in force has what it needs, and that nothing is
// written that it does not look at.
func (c *Load) validateArrival() error {
	arrival, written := c.arrival(), c.sections()
	var names []string
	known := false
	for _, k := range arrivalKinds {
		names = append(names, k.name)
		if k.name != arrival {
			continue
		}
		known = true
		if k.section != "" && !written[k.section] {
			return fieldError(k.section, "is missing; arrival: %s needs %s: %s", k.name, k.section, k.form)
		}
	}
	if !known {
		return fieldError("arrival", "%q is not known; use %s or %s", arrival, strings.Join(names[:len(names)-1], ", "),
			names[len(names)-1])
	}
	for _, k := range arrivalKinds {
		if !written[k.section] || k.name == arrival || k.section == "mmpp" && arrival == ArrivalDiurnal {
			continue
		}
		return fieldError(k.section, "has no effect with arrival: %s; drop it or set arrival: %s", arrival, k.name)
	}
	for _, check := range []func() error{c.validateBurst, c.validateSteps, c.validateTrace} {
		if err := check(); err != nil {
			return err
		}
	}
	if mean := c.MeanRate(); mean*c.Duration.Std().Seconds() > MaxOperations {
		return fieldError("rate", "%v/s for %s are more than %d operations; lower one of them", mean, c.Duration,
			MaxOperations)
	}
	return nil
}

func (c *Load) validateBurst() error {
	switch b := c.Burst; {
	case b == nil:
	case b.Length > b.Period:
		return fieldError("burst.length", "%s is out of range; use more than 0s and at most the period, %s", b.Length,
			b.Period)
	case !(b.Base <= c.Rate):
		return fieldError("burst.base", "%v is out of range; use 0 up to the rate, %v", b.Base, c.Rate)
	}
	return nil
}

func (c *Load) validateSteps() error {
	if len(c.Steps) > 0 && !slices.ContainsFunc(c.Steps, func(s RateStep) bool { return s.Rate != 0 }) {
		return fieldError("steps", "have only rates of 0; give one of them more")
	}
	return nil
}

func (c *Load) validateTrace() error {
	for i, t := range c.Trace {
		if i > 0 && t < c.Trace[i-1] {
			return fieldError(at("trace", i), "%s is before the time in front of it, %s; sort the list", t, c.Trace[i-1])
		}
	}
	return nil
}
