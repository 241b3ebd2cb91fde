package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
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
	refused   []string // of the targets, by the watcher's log
}

// forbiddenSeen is what is kept of it.
type forbiddenSeen struct {
	Targets     []string `json:"targets"`     // URLs, in the order of the subscriptions
	Connections int64    `json:"connections"` // to those of them that are listened at
	Listening   int      `json:"listening"`
	// Refused are those of Targets of which the watcher says that it refused the address: a
	// failure alone may be that of an attempt.
	Refused []string `json:"refused"`
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
	_ Finisher = (*forbidden)(nil)
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
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]"} {
		f.targets = append(f.targets, fmt.Sprintf("http://%s:%d/", host, port))
	}
	for addr, host := range map[string]string{"[::1]:0": "[::1]", "127.0.0.2:0": "127.0.0.2"} {
		if port, err := listen(addr); err == nil { // else this machine has no such address
			f.targets = append(f.targets, fmt.Sprintf("http://%s:%d/", host, port))
		}
	}
	f.targets = append(f.targets, "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://10.0.0.1/", "http://224.0.0.1/")
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
	return json.Marshal(forbiddenSeen{f.targets, f.came.Load(), len(f.listeners), f.refused})
}

// Finish looks for the refusals in the watcher's log.
func (f *forbidden) Finish(_ context.Context, c Cell) error {
	if len(f.targets) == 0 {
		return nil
	}
	log, err := os.ReadFile(c.Watcher().Log)
	if err != nil {
		return fmt.Errorf("look for refusals in the watcher's log: %w", err)
	}
	f.refused = f.refusals(string(log))
	return nil
}

func (f *forbidden) refusals(log string) (some []string) {
	for i, target := range f.targets {
		of := " subscription=" + party.ForbiddenName(i) + " "
		for line := range strings.Lines(log) {
			if strings.Contains(line, of) && strings.Contains(line, "address refused") {
				some = append(some, target)
				break
			}
		}
	}
	return some
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
	return []matrix.Rule{{Facts: func(matrix.Seen) []result.Fact {
		delivered, first := int64(0), ""
		for i, target := range seen.Targets {
			if v := c.After.Sum(metric.NotifyDelivered, "subscription", party.ForbiddenName(i)); v != nil && *v > 0 {
				delivered++
				first = target
			}
		}
		refused := fact("S", fmt.Sprintf("forbidden addresses of %d that were refused as such", len(seen.Targets)), "", float64(len(seen.Refused)), len(seen.Refused) == len(seen.Targets))
		for _, target := range seen.Targets {
			if !slices.Contains(seen.Refused, target) {
				refused.Detail = "not " + target
			}
		}
		return []result.Fact{
			matrix.None("S", "connections to addresses where no receiver may be", seen.Connections, ""),
			matrix.None("S", "forbidden subscriptions that delivered", delivered, first), refused,
		}
	}, Vacuous: func(matrix.Seen) []string {
		if seen.Listening == 0 {
			return []string{"nobody listened at the forbidden addresses"}
		}
		return nil
	}}}, nil
}
