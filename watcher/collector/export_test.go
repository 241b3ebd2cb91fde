package collector

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// FastRetry makes the reflectors of c retry within milliseconds.
func FastRetry(c *Collector) {
	c.backoff = wait.Backoff{Duration: time.Millisecond, Cap: 20 * time.Millisecond, Steps: 10, Factor: 2}
	for _, k := range c.kinds {
		k.verifier.quick = true
		k.backoff = c.backoff
	}
}
