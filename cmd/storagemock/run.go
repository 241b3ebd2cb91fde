package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/storagemock/latency"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/storagemock/peer"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// usageError is a mistake of the caller's.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

type options struct {
	storagemock.Config
	peers        peer.Config
	admin        string
	pprof        bool
	logLevel     string
	loadSnapshot string
	saveSnapshot string
	saveLedger   string
}

// run is the program: it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	cmd := command(stdout, stderr)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "storagemock: %s\n", oneLine(err))
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitError
}

// oneLine puts errors that were joined onto one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func command(stdout, stderr io.Writer) *cobra.Command {
	o := options{Config: storagemock.DefaultConfig(), peers: peer.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "storagemock",
		Short: "A bcs-storage with configurable latency, capacity and faults, and a ledger of every write",
		Long: `storagemock speaks the v1 HTTP API of bcs-storage. When it is ready it prints one
line of JSON on standard output, {"listen":["127.0.0.1:40001"],"admin":"127.0.0.1:40002"};
logs go to standard error. SIGTERM lets requests under way finish and ends it.`,
		Example: `  storagemock --listen 127.0.0.1:50024 --latency 'lognormal(mean=87ms,p99=110ms)' --capacity inflight=300
  storagemock --latency 'method=GET: 5ms; bimodal(fast=5ms,slow=uniform(200ms,900ms),p=2%)' --admin 127.0.0.1:0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unexpected argument %q; everything is set by flags", args[0])}
			}
			return nil
		},
		Version:      version.Version,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), o, stdout, stderr) },
	}
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.Listen, "listen", o.Listen, "address of the first instance, host:port; port 0 is any free one")
	f.IntVar(&o.Instances, "instances", o.Instances, "instances behind one ledger, on following ports; each has a capacity of its own")
	f.StringVar(&o.admin, "admin", "", "address of the admin API, host:port; empty is none")
	f.BoolVar(&o.pprof, "pprof", false, "serve profiles on the admin address")
	f.BoolVar(&o.AllowRemote, "allow-remote", false, "allow addresses that are not loopback; nothing here has authentication")
	f.StringVar(&o.TLSCert, "tls-cert", "", "PEM certificate; with --tls-key the API is served over TLS")
	f.StringVar(&o.TLSKey, "tls-key", "", "PEM key of --tls-cert")
	f.StringVar(&o.TLSMaxVersion, "tls-max-version", "", "highest TLS version that is spoken, 1.0 to 1.3; below 1.2 a client should refuse, which is what this is for")
	f.StringVar(&o.Latency, "latency", o.Latency, "latency: 87ms, uniform(a,b), normal(mean,stddev), lognormal(mean,p99), exponential(mean), bimodal(fast,slow,p), empirical(file), slow(base,x,every,for); rules 'method=GET: 5ms; 87ms'")
	f.StringVar(&o.Capacity, "capacity", o.Capacity, "capacity: inflight=300, rate=50/s, burst=1, queue=1000, comma-separated; for some requests only, in a queue of their own: 'kind=Pod,method=PUT: rate=50/s; inflight=300'")
	f.StringVar(&o.Mode, "mode", o.Mode, "faithful (a PUT always wins) or conditional (stale writes are refused with status 409)")
	f.StringVar(&o.Faults, "faults", o.Faults, "faults: effects with arguments and probability, like '503:1%,reset:0.5%,stall(5s,kind=Pod):0.1%,refuse(from=20s,for=10s)'")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of latencies, faults and identifiers")
	f.Int64Var(&o.MaxBody, "max-body", o.MaxBody, "largest request body, bytes")
	f.IntVar(&o.MaxConns, "max-conns", o.MaxConns, "most connections of each instance; more wait to be accepted")
	f.StringVar(&o.peers.Netservice, "netservice", "", "also mock a netservice at this address, host:port")
	f.StringVar(&o.peers.Receiver, "receiver", "", "also take alarms (bcs-health) and alerts (Alertmanager) at this address, host:port")
	f.StringVar(&o.peers.Latency, "peer-latency", o.peers.Latency, "latency of --netservice and --receiver; kinds are Pool, Alarm and Alert")
	f.StringVar(&o.peers.Faults, "peer-faults", "", "faults of --netservice and --receiver")
	f.StringVar(&o.loadSnapshot, "load-snapshot", "", "start with the documents of this file")
	f.StringVar(&o.saveSnapshot, "save-snapshot", "", "write the documents to this file at the end")
	f.StringVar(&o.saveLedger, "save-ledger", "", "write the ledger to this file at the end (NDJSON, zstd)")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// announcement is the line on standard output.
type announcement struct {
	Listen []string `json:"listen"`
	Admin  string   `json:"admin,omitempty"`
	// Of the peers, where they are served.
	Netservice string `json:"netservice,omitempty"`
	Receiver   string `json:"receiver,omitempty"`
}

func serve(ctx context.Context, o options, stdout, stderr io.Writer) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return usageError{fmt.Errorf("log-level %q: want debug, info, warn or error", o.logLevel)}
	}
	if err := o.validate(); err != nil {
		return usageError{err}
	}
	// Most of a long run's memory is the ledger, which lives to the end; a tighter
	// pace of collection keeps the garbage beside it small.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	parts, err := bind(o, log, registry)
	if err != nil {
		return err
	}
	srv := parts.srv
	if err := load(srv, o.loadSnapshot); err != nil {
		return errors.Join(err, parts.release(ctx))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return srv.Run(ctx) })
	group.Go(func() error { return parts.peers.Run(ctx) })
	line := announcement{Listen: srv.Addrs()}
	line.Netservice, line.Receiver = parts.peers.Addrs()
	if parts.admin != nil {
		line.Admin = parts.admin.Addr().String()
		mux := http.NewServeMux()
		mux.Handle("/", srv.AdminHandler(registry, o.pprof))
		mux.Handle("/peers/", parts.peers.AdminHandler())
		group.Go(func() error { return serveAdmin(ctx, parts.admin, mux, log) })
	}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		log.Warn("announcing the addresses", "error", err)
	}
	err = group.Wait()
	in, out := srv.Totals()
	log.Info("stopped", "ledger", srv.Ledger().Len(), "objects", srv.Store().Live(), "bytesIn", in, "bytesOut", out)
	return errors.Join(err, save(o.saveLedger, func(w io.Writer) error {
		_, err := ledger.WriteZstd(w, srv.Ledger().From(1))
		return err
	}), save(o.saveSnapshot, srv.Store().Save))
}

func (o options) validate() error {
	errs := []error{o.Validate(), o.peers.Validate()}
	for _, a := range []struct{ flag, addr string }{{"admin", o.admin}, {"netservice", o.peers.Netservice}, {"receiver", o.peers.Receiver}} {
		if a.addr == "" {
			continue
		}
		if _, _, err := storagemock.SplitAddress(a.addr, o.AllowRemote); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.flag, err))
		}
	}
	if o.admin == "" && o.pprof {
		errs = append(errs, errors.New("pprof: it is served on the admin address; give --admin as well"))
	}
	return errors.Join(errs...)
}

// bound is what the program serves, bound to its addresses.
type bound struct {
	srv   *storagemock.Server
	peers *peer.Group
	admin net.Listener // nil is none
}

func bind(o options, log *slog.Logger, registry *prometheus.Registry) (b bound, err error) {
	if o.admin != "" {
		if b.admin, err = net.Listen("tcp", o.admin); err != nil {
			return b, inUse(fmt.Errorf("admin API: %w", err), "--admin")
		}
	}
	o.peers.Seed = o.Seed
	if b.peers, err = peer.NewGroup(o.peers, latency.SystemClock{}, log); err != nil {
		err = inUse(err, "--netservice or --receiver")
	} else {
		b.srv, err = storagemock.New(o.Config, storagemock.Settings{Logger: log, Registry: registry})
		err = inUse(err, "--listen")
	}
	if err != nil {
		return b, errors.Join(err, b.release(context.Background()))
	}
	return b, nil
}

// inUse adds the remedy where another process has the address.
func inUse(err error, flag string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("%w: choose another address with %s, port 0 is any free one", err, flag)
}

// release runs what was bound to an immediate end.
func (b bound) release(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	var errs []error
	if b.admin != nil {
		errs = append(errs, b.admin.Close())
	}
	if b.peers != nil {
		errs = append(errs, b.peers.Run(ctx))
	}
	if b.srv != nil {
		errs = append(errs, b.srv.Run(ctx))
	}
	return errors.Join(errs...)
}

func serveAdmin(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			_ = srv.Close()
		}
	})
	err := srv.Serve(l)
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("admin API: %w", err)
}

func load(srv *storagemock.Server, path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("load-snapshot: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := srv.Store().Load(f); err != nil {
		return fmt.Errorf("load-snapshot: %s: %w", path, err)
	}
	return nil
}

// save writes a file; an empty path is none.
func save(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("saving: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("saving %s: %w", path, err)
	}
	return nil
}
