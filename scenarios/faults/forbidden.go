package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// forbiddenTargets gives the watcher subscriptions whose receivers are where none may be,
// and listens there, as far as this machine has the addresses.
const forbiddenTargets = "forbidden-targets"

// forbidden is the listeners at such addresses. Nobody may connect to them.
type forbidden struct {
	listeners []net.Listener
	accepting sync.WaitGroup
	came      atomic.Int64
	targets   []string
}

// forbiddenSeen is what is kept of it.
type forbiddenSeen struct {
	Targets     []string `json:"targets"`     // URLs, in the order of the subscriptions
	Connections int64    `json:"connections"` // to those of them that are listened at
	Listening   int      `json:"listening"`
}

func forbiddenAddresses() family {
	f := &forbidden{}
	return family{shared: f, injectors: []Injector{kind{
		name: forbiddenTargets,
		validate: func(t *spec.Timeline, _ spec.Event) error {
			return t.Need(t.Readers.Webhooks > 0, "forbidden receivers beside no other", "set readers.webhooks: 1")
		},
		inject: func(context.Context, Cell, spec.Event) (Done, error) {
			return Done{Keys: int64(len(f.targets)), Seen: f}, nil
		},
	}}}
}

var (
	_ Arranger = (*forbidden)(nil)
	_ Remover  = (*forbidden)(nil)
	_ Ruler    = (*forbidden)(nil)
)

// Arrange listens on loopback, by IPv4 and, where there is any, IPv6, and makes the targets.
func (f *forbidden) Arrange(c Cell) error {
	if !hasEvent(c.Scenario(), forbiddenTargets) {
		return nil
	}
	listen := func(addr string) (int, error) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return 0, err
		}
		f.listeners = append(f.listeners, l)
		f.accepting.Go(func() { f.count(l) })
		return l.Addr().(*net.TCPAddr).Port, nil
	}
	port, err := listen("127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen where no receiver may be: %w", err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "127.1"} {
		f.targets = append(f.targets, fmt.Sprintf("http://%s:%d/", host, port))
	}
	for addr, host := range map[string]string{"[::1]:0": "[::1]", "127.0.0.2:0": "127.0.0.2"} {
		if port, err := listen(addr); err == nil { // else this machine has no such address
			f.targets = append(f.targets, fmt.Sprintf("http://%s:%d/", host, port))
		}
	}
	f.targets = append(f.targets, "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://10.0.0.1/", "http://224.0.0.1/", "http://metadata.google.internal./")
	c.Setup().Forbidden = f.targets
	return nil
}

// count counts the connections to a listener until that is closed.
func (f *forbidden) count(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		f.came.Add(1)
		_ = conn.Close()
	}
}

// MarshalJSON is what was seen by the end of the cell.
func (f *forbidden) MarshalJSON() ([]byte, error) {
	return json.Marshal(forbiddenSeen{f.targets, f.came.Load(), len(f.listeners)})
}

// Remove closes the listeners.
func (f *forbidden) Remove(context.Context, Cell) error {
	var errs []error
	for _, l := range f.listeners {
		errs = append(errs, l.Close())
	}
	f.listeners = nil
	f.accepting.Wait()
	return errors.Join(errs...)
}

// Rules: the watcher tried each of them, delivered to none, and connected to none that
// could be connected to.
func (*forbidden) Rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[forbiddenSeen](c.Deeds, forbiddenTargets)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	seen := all[len(all)-1]
	of := func(name string, i int) float64 {
		if v := c.After.Sum(name, "subscription", party.ForbiddenName(i)); v != nil {
			return *v
		}
		return 0
	}
	return []matrix.Rule{{Facts: func(matrix.Seen) []result.Fact {
		refused, delivered, first := 0, 0, ""
		for i, target := range seen.Targets {
			if of(metric.NotifyDeadLettered, i)+of(metric.NotifyRetried, i) > 0 {
				refused++
			} else {
				first = "nothing was tried for " + target
			}
			if of(metric.NotifyDelivered, i) > 0 {
				delivered++
				first = "something was delivered to " + target
			}
		}
		tried := fact("S", fmt.Sprintf("forbidden addresses of %d that were tried and refused", len(seen.Targets)), "", float64(refused), refused == len(seen.Targets))
		tried.Detail = first
		return []result.Fact{
			matrix.None("S", "connections to addresses where no receiver may be", seen.Connections, ""),
			matrix.None("S", "forbidden subscriptions that delivered", int64(delivered), first), tried,
		}
	}, Vacuous: func(matrix.Seen) []string {
		if seen.Listening == 0 {
			return []string{"nobody listened at the forbidden addresses"}
		}
		return nil
	}}}, nil
}
