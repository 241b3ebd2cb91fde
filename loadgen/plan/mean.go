package plan

// MeanRate is the writes, or a profile's pods, per second that an open loop's arrivals
// amount to: over its whole duration, for what recurs over whole periods.
func (c *Load) MeanRate() float64 {
	switch c.arrival() {
	case ArrivalBurst:
		length, period := c.Burst.Length.Std().Seconds(), c.Burst.Period.Std().Seconds()
		return (c.Rate*length + c.Burst.Base*(period-length)) / period
	case ArrivalCron:
		return c.Rate + c.Cron.Size/c.Cron.Period.Std().Seconds()
	case ArrivalRamp, ArrivalStep, ArrivalTrace:
		length := c.Duration.Std().Seconds()
		return c.arrivedBy(length) / length
	}
	return c.Rate
}
