package model

import "time"

// Rate is the most that inflight requests at a time, each of which takes latency, come to per
// second: N ÷ L, by Little's law. One request at a time gives the serial limit 1 ÷ L. It is
// +Inf for a latency of 0.
func Rate(inflight int, latency time.Duration) float64 {
	return float64(inflight) / latency.Seconds()
}

// Queue is one queue before servers that each answer one request at a time.
type Queue struct {
	Rate      float64       // arrivals per second
	Latency   time.Duration // mean of one request
	Deviation time.Duration // standard deviation of one request
	Servers   int           // requests in flight at most
	// Burstiness is the squared coefficient of variation of the time between arrivals: 0 is
	// clockwork, 1 is Poisson's.
	Burstiness float64
}

// Waiting is what Queue.Wait predicts.
type Waiting struct {
	Utilisation float64
	Length      float64 // mean number that wait, besides those in flight
}

// Wait is the mean queue in a steady state, approximately: Erlang's M/M/c, scaled by the
// variability of arrivals and latencies (Allen and Cunneen). It is exact for Poisson arrivals
// and exponential latency, and within some percent for moderate variability and loads; it is
// refused at a utilisation of 1 and above, where there is no steady state.
func (q Queue) Wait() (Waiting, error) {
	if q.Servers < 1 || q.Rate <= 0 || q.Latency <= 0 || q.Deviation < 0 || q.Burstiness < 0 {
		return Waiting{}, refuse(OutOfDomain, "%d servers, %g arrivals/s of %v ± %v", q.Servers, q.Rate, q.Latency, q.Deviation)
	}
	rho := q.Rate * q.Latency.Seconds() / float64(q.Servers)
	if rho >= 1 {
		return Waiting{}, refuse(Overloaded, "%.0f%% of %d servers are needed: the queue grows without end", 100*rho, q.Servers)
	}
	busy := erlangC(rho*float64(q.Servers), q.Servers)
	cv := q.Deviation.Seconds() / q.Latency.Seconds()
	length := busy * rho / (1 - rho) * (q.Burstiness + cv*cv) / 2
	return Waiting{Utilisation: rho, Length: length}, nil
}

// erlangC is the probability of waiting in M/M/c under an offered load in Erlang, by the
// recurrence of Erlang's B formula, which neither overflows nor cancels.
func erlangC(load float64, servers int) float64 {
	b := 1.0
	for n := 1; n <= servers; n++ {
		b = load * b / (float64(n) + load*b)
	}
	rho := load / float64(servers)
	return b / (1 - rho*(1-b))
}
