package plan

import "strings"

// arrivals are all processes, with the section of the file that each needs.
var arrivalKinds = []struct{ name, section, form string }{
	{ArrivalConstant, "", ""}, {ArrivalPoisson, "", ""},
	{ArrivalRamp, "ramp", "{from: 10}"},
	{ArrivalBurst, "burst", "{period: 5s, length: 1s}"},
	{ArrivalStep, "steps", "[{length: 30s, rate: 10}, {length: 30s, rate: 50}]"},
	{ArrivalMMPP, "mmpp", "{factor: 5, share: 0.05, stay: 3s}"},
	{ArrivalDiurnal, "diurnal", "{period: 24h, amplitude: 0.4}"},
	{ArrivalCron, "cron", "{period: 1m, size: 100}"},
	{ArrivalTrace, "trace", "[0s, 150ms, 2s]"},
}

// sections are those that are written, by name.
func (c *Load) sections() map[string]bool {
	return map[string]bool{
		"ramp": c.Ramp != nil, "burst": c.Burst != nil, "steps": len(c.Steps) > 0, "mmpp": c.MMPP != nil,
		"diurnal": c.Diurnal != nil, "cron": c.Cron != nil, "trace": len(c.Trace) > 0,
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
		return fieldError("arrival", "%q is not known; use %s or %s", arrival, strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
	}
	for _, k := range arrivalKinds {
		if !written[k.section] || k.name == arrival || k.section == "mmpp" && arrival == ArrivalDiurnal {
			continue
		}
		return fieldError(k.section, "has no effect with arrival: %s; drop it or set arrival: %s", arrival, k.name)
	}
	for _, check := range []func() error{c.validateRamp, c.validateBurst, c.validateSteps, c.validateModulation, c.validateCron, c.validateTrace} {
		if err := check(); err != nil {
			return err
		}
	}
	if mean := c.MeanRate(); mean*c.Duration.Std().Seconds() > MaxOperations {
		return fieldError("rate", "%v/s for %s are more than %d operations; lower one of them", mean, c.Duration, MaxOperations)
	}
	return nil
}

func (c *Load) validateRamp() error {
	if c.Ramp != nil && !(c.Ramp.From >= 0 && c.Ramp.From <= MaxRate) {
		return fieldError("ramp.from", "%v is out of range; use 0 to %d", c.Ramp.From, MaxRate)
	}
	return nil
}

func (c *Load) validateBurst() error {
	b := c.Burst
	switch {
	case b == nil:
		return nil
	case b.Period <= 0 || b.Period > MaxDuration:
		return fieldError("burst.period", "%s is out of range; use more than 0s and at most %s", b.Period, MaxDuration)
	case b.Length <= 0 || b.Length > b.Period:
		return fieldError("burst.length", "%s is out of range; use more than 0s and at most the period, %s", b.Length, b.Period)
	case !(b.Base >= 0 && b.Base <= c.Rate):
		return fieldError("burst.base", "%v is out of range; use 0 up to the rate, %v", b.Base, c.Rate)
	}
	return nil
}

func (c *Load) validateSteps() error {
	sum := 0.0
	for i, s := range c.Steps {
		switch {
		case s.Length <= 0 || s.Length > MaxDuration:
			return fieldError(at("steps", i)+".length", "%s is out of range; use more than 0s and at most %s", s.Length, MaxDuration)
		case !(s.Rate >= 0 && s.Rate <= MaxRate):
			return fieldError(at("steps", i)+".rate", "%v is out of range; use 0 to %d", s.Rate, MaxRate)
		}
		sum += s.Rate
	}
	if len(c.Steps) > 0 && sum == 0 {
		return fieldError("steps", "have only rates of 0; give one of them more")
	}
	return nil
}

func (c *Load) validateModulation() error {
	if m := c.MMPP; m != nil {
		switch {
		case !(m.Factor >= 1 && m.Factor <= 1000):
			return fieldError("mmpp.factor", "%v is out of range; use 1 to 1000", m.Factor)
		case !(m.Share > 0 && m.Share <= 0.9):
			return fieldError("mmpp.share", "%v is out of range; use more than 0 and at most 0.9", m.Share)
		case m.Stay < LeastStay || m.Stay > MaxDuration:
			return fieldError("mmpp.stay", "%s is out of range; use %s to %s", m.Stay, LeastStay, MaxDuration)
		}
	}
	if d := c.Diurnal; d != nil {
		switch {
		case d.Period <= 0 || d.Period > MaxDuration:
			return fieldError("diurnal.period", "%s is out of range; use more than 0s and at most %s", d.Period, MaxDuration)
		case !share(d.Amplitude):
			return fieldError("diurnal.amplitude", "%v is not a share; use 0 to 1", d.Amplitude)
		}
	}
	return nil
}

func (c *Load) validateCron() error {
	b := c.Cron
	switch {
	case b == nil:
		return nil
	case b.Period < LeastStay || b.Period > MaxDuration:
		return fieldError("cron.period", "%s is out of range; use %s to %s", b.Period, LeastStay, MaxDuration)
	case !(b.Size > 0 && b.Size <= MaxPrefill):
		return fieldError("cron.size", "%v is out of range; use more than 0 and at most %d", b.Size, MaxPrefill)
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
