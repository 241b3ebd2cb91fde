package party

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/loadgen/slowclients"
)

// SlowClientsSetup is what slow clients are started with.
type SlowClientsSetup struct {
	Bin, Logs string // the readers' program, folder of logs
	Config    slowclients.Config
	Length    time.Duration
}

// slowGrace is how long after their time slow clients may take to close their connections.
const slowGrace = 30 * time.Second

// RunSlowClients returns once the process has ended, whatever it ends of. It runs at the
// lowest priority: who attacks a watcher does not do so with its CPUs, nor with those of
// the apiserver and etcd.
func RunSlowClients(ctx context.Context, s SlowClientsSetup) (seen slowclients.Seen, err error) {
	if err := readersThere(s.Bin); err != nil {
		return seen, err
	}
	var last []byte // written by one goroutine, read after its end
	p, err := start(child{name: "slow-clients", title: "the slow clients", logs: s.Logs, aside: true, argv: []string{
		s.Bin, "slow-clients", "--address", s.Config.Address, "--ca", s.Config.CAFile, "--url", s.Config.URL, "--count", strconv.Itoa(s.Config.Count), "--for", s.Length.String(),
	}, lines: func(line []byte) { last = append(last[:0], line...) }})
	if err != nil {
		return seen, err
	}
	defer func() {
		if !p.Ended() {
			p.Kill()
		}
	}()
	limit := time.NewTimer(s.Length + slowGrace)
	defer limit.Stop()
	select {
	case <-p.Done():
	case <-ctx.Done():
		return seen, context.Cause(ctx)
	case <-limit.C:
		return seen, &TimeoutError{What: "the end of the slow clients", After: s.Length + slowGrace, Log: p.Log}
	}
	if p.ExitCode() != 0 {
		return seen, p.Failure()
	}
	if err := json.Unmarshal(last, &seen); err != nil {
		return seen, fmt.Errorf("what became of the slow clients: %q: %w", last, err)
	}
	return seen, nil
}
