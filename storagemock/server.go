package storagemock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/storagemock/behavior"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/storagemock/store"
)

// Server is the mock: one or more instances over one store and one ledger.
type Server struct {
	log    *slog.Logger
	store  *store.Store
	ledger *ledger.Ledger
	faults *behavior.FaultSet
	began  time.Time

	instances []*instance
	metrics   *metrics
	running   atomic.Bool
	late      sync.WaitGroup  // applications that outlive their request
	lateCtx   context.Context // ends when they must not wait any longer
	lateEnd   context.CancelFunc
}

// New prepares a server and binds its addresses, so that requests queue up until Run. Run or Close must be called to
// release the addresses. An invalid cfg is an error that names every mistake.
func New(cfg Config, set Settings) (*Server, error) {
	p, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	s := &Server{
		log: set.Logger, store: store.New(p.mode, cfg.Seed), ledger: ledger.New(),
		faults: behavior.NewFaultSet(cfg.Seed), began: time.Now(),
	}
	s.lateCtx, s.lateEnd = context.WithCancel(context.Background())
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var certs *tls.Config
	if cfg.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		certs = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		if cfg.OldTLS {
			certs.MinVersion, certs.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		}
	}
	if set.Listen == nil {
		set.Listen = faultlist.TCP
	}
	if err := s.listen(cfg, p, certs, set.Listen); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.metrics = newMetrics(s, set.Registry)
	s.metrics.announce(p.faults)
	if err := s.faults.Add(p.faults, time.Now()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) listen(cfg Config, p parsed, certs *tls.Config, listen func(string) (net.Listener, error)) error {
	for i := range cfg.Instances {
		port := p.port
		if port != 0 {
			port += i
		}
		addr := net.JoinHostPort(p.host, strconv.Itoa(port))
		g, err := faultlist.NewGate(addr, faultlist.GateSettings{Listen: listen})
		if err != nil {
			return fmt.Errorf("listening on %s: %w", addr, err)
		}
		in := &instance{srv: s, number: i, gate: g, listener: g, stations: behavior.NewStations(p.model, p.capacity)}
		if certs != nil {
			in.listener = tls.NewListener(g, certs)
		}
		s.instances = append(s.instances, in)
	}
	return nil
}

// Close releases the addresses of a server that is not to be run.
func (s *Server) Close() error {
	var errs []error
	for _, in := range s.instances {
		errs = append(errs, in.listener.Close())
	}
	return errors.Join(errs...)
}

// Addrs returns the bound addresses of the instances, host:port.
func (s *Server) Addrs() []string {
	var addrs []string
	for _, in := range s.instances {
		addrs = append(addrs, in.listener.Addr().String())
	}
	return addrs
}

// Ledger returns the record of every write.
func (s *Server) Ledger() *ledger.Ledger { return s.ledger }

// Store returns the stored state.
func (s *Server) Store() *store.Store { return s.store }

// cleanEvery is the real server's cleaning period.
const cleanEvery = time.Hour

// Run serves until ctx ends. Requests in progress are finished, within a grace of 10 s. After it returned nothing is
// applied any more.
func (s *Server) Run(ctx context.Context) error {
	if s.running.Swap(true) {
		return errors.New("storagemock: Run was called before")
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, in := range s.instances {
		group.Go(func() error { return in.run(groupCtx) })
	}
	group.Go(func() error {
		for lifecycle.Pause(groupCtx, cleanEvery) == nil {
			s.store.Clean(time.Now())
		}
		return nil
	})
	group.Go(func() error {
		var gates []*faultlist.Gate
		for _, in := range s.instances {
			gates = append(gates, in.gate)
		}
		return s.faults.RefuseOnTime(groupCtx, s.log, s.metrics.fired, gates...)
	})
	err := group.Wait()
	s.lateEnd() // late applications happen now
	s.late.Wait()
	return err
}

// AddFaults activates faults, in the grammar of package behavior; their times count from now. Text without any fault is
// an error.
func (s *Server) AddFaults(text string) error {
	specs, err := behavior.ParseFaults(text)
	if err != nil {
		return err
	}
	if len(specs) == 0 {
		return errors.New("no fault given; want for example 503:1%,stall(5s):0.1%")
	}
	s.metrics.announce(specs)
	return s.faults.Add(specs, time.Now())
}
