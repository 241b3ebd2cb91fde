package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/faultlist"
	"github.com/watchbench/watchbench/storagemock/fault"
	"github.com/watchbench/watchbench/storagemock/latency"
)

// Config says which peers to serve. The addresses are host:port; empty is not
// served.
type Config struct {
	Netservice string
	Receiver   string
	Latency    string // grammar of package latency
	Faults     string // grammar of package fault, without those for the storage only
	Seed       uint64
}

// DefaultConfig serves nobody, without delay.
func DefaultConfig() Config { return Config{Latency: "0s", Seed: 1} }

// Validate reports every mistake but those of the addresses, whose rules are the
// command's.
func (c Config) Validate() error {
	_, err := latency.ParseModel(c.Latency, c.Seed)
	if err != nil {
		err = fmt.Errorf("peers: %w", err)
	}
	_, ferr := ParseFaults(c.Faults)
	if ferr != nil {
		ferr = fmt.Errorf("peers: %w", ferr)
	}
	return errors.Join(err, ferr)
}

// Group is the peers of one Config.
type Group struct {
	netservice *Netservice // nil when it is not served
	receiver   *Receiver   // nil when it is not served
	listeners  [2]net.Listener
	behaviour  Behaviour
}

// NewGroup binds the addresses. Run must be called to release them.
func NewGroup(c Config, clock latency.Clock, log *slog.Logger) (*Group, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	model, err := latency.ParseModel(c.Latency, c.Seed)
	if err != nil {
		return nil, err
	}
	g := &Group{behaviour: Behaviour{Model: model, Faults: fault.NewSet(c.Seed), Clock: clock, Log: log}}
	if c.Faults != "" {
		if err := g.AddFaults(c.Faults); err != nil {
			return nil, err
		}
	}
	for i, addr := range []string{c.Netservice, c.Receiver} {
		if addr == "" {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listening on %s: %w", addr, err), g.close())
		}
		g.listeners[i] = l
	}
	if g.listeners[0] != nil {
		g.netservice = NewNetservice(g.behaviour)
	}
	if g.listeners[1] != nil {
		g.receiver = NewReceiver(g.behaviour)
	}
	return g, nil
}

func (g *Group) close() error {
	var errs []error
	for _, l := range g.listeners {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// AddFaults puts faults in force; their times count from now.
func (g *Group) AddFaults(text string) error {
	specs, err := ParseFaults(text)
	if err != nil {
		return err
	}
	if len(specs) == 0 {
		return fault.ErrNone
	}
	return g.behaviour.Faults.Add(specs, g.behaviour.Clock.Now())
}

// Addrs are the bound addresses, empty for who is not served.
func (g *Group) Addrs() (netservice, receiver string) {
	text := func(l net.Listener) string {
		if l == nil {
			return ""
		}
		return l.Addr().String()
	}
	return text(g.listeners[0]), text(g.listeners[1])
}

// Run serves until ctx ends.
func (g *Group) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if g.netservice != nil {
		group.Go(func() error { return g.netservice.Run(ctx, g.listeners[0]) })
	}
	if g.receiver != nil {
		group.Go(func() error { return g.receiver.Run(ctx, g.listeners[1]) })
	}
	return group.Wait()
}

// AdminHandler is the peers' part of the admin API:
//
//	GET, POST, DELETE /peers/faults      as /faults of the storage
//	GET    /peers/received               NDJSON of Received: alarms and alerts, oldest first
//	DELETE /peers/received               forget them
//	GET    /peers/pools, PUT /peers/pools  the IP pools, a JSON list of Pool
func (g *Group) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/peers/faults", faultlist.Handler(faultlist.Ops{List: g.behaviour.Faults.List, Add: g.AddFaults, Remove: g.behaviour.Faults.Remove}))
	if g.receiver != nil {
		mux.HandleFunc("GET /peers/received", g.adminReceived)
		mux.HandleFunc("DELETE /peers/received", func(w http.ResponseWriter, _ *http.Request) {
			g.receiver.Reset()
			w.WriteHeader(http.StatusNoContent)
		})
	}
	if g.netservice != nil {
		mux.HandleFunc("GET /peers/pools", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(g.netservice.Pools())
		})
		mux.HandleFunc("PUT /peers/pools", g.adminPools)
	}
	return mux
}

func (g *Group) adminReceived(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	latest, _ := g.receiver.Received()
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, r := range latest {
		if enc.Encode(r) != nil {
			return
		}
	}
}

func (g *Group) adminPools(w http.ResponseWriter, req *http.Request) {
	b, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err == nil {
		err = g.netservice.SetPools(b)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
