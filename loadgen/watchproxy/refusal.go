package watchproxy

import (
	"context"
	"time"
)

// reopenRetry is the time between attempts to listen again on the same port.
const reopenRetry = 100 * time.Millisecond

// refuseOnTime shuts and opens the port according to the faults until ctx ends.
func (p *Proxy) refuseOnTime(ctx context.Context) error {
	refusing := false
	for {
		refuse, edge, changed := p.faults.Refusal()
		timer := time.NewTimer(time.Until(edge))
		if edge.IsZero() {
			timer.Stop()
		}
		if refuse != refusing {
			if err := p.gate.Refuse(refuse); err != nil {
				p.logger.Warn("accepting connections again", "error", err)
				timer.Reset(reopenRetry)
			} else {
				refusing = refuse
				p.logger.Info("connections", "refused", refuse)
			}
		}
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}
