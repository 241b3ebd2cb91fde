package main

import (
	"os"
	"testing"
	"time"
)

const draining = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: draining}
storage: {latency: 300ms}
load: {model: closed, threads: 10, operations: 600}
watcher: {strategy: single, drainTimeout: 5m}
drainTimeout: 60s
`

// TestSecondInterrupt: the second Ctrl-C waits for nothing, and leaves nothing. The watcher
// alone would take three minutes to send what it has.
func TestSecondInterrupt(t *testing.T) {
	p := spawn(t, draining, ": drain")
	p.signal(t, os.Interrupt)
	time.Sleep(300 * time.Millisecond) // the first has begun the clean-up
	p.signal(t, os.Interrupt)
	if took := p.end(t); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}
