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

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/ndjson"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/storagemock"
	"github.com/watchbench/watchbench/storagemock/behavior"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

type options struct {
	storagemock.Config
	admin        string
	pprof        bool
	logLevel     string
	loadSnapshot string
	saveSnapshot string
	saveLedger   string
}

// run executes the program and returns its exit code. A signal is the normal end.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return terminal.Run(ctx, command(stdout, stderr), args)
}

func command(stdout, stderr io.Writer) *cobra.Command {
	o := options{Config: storagemock.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "storagemock",
		Short: "A bcs-storage with configurable latency, capacity and faults, and a ledger of every write",
		Long: `storagemock implements the v1 HTTP API of bcs-storage as far as bcs-k8s-watch and
k8s-watch use it. Once it listens, it prints one line of JSON to standard output,
{"listen":["127.0.0.1:40001"],"admin":"127.0.0.1:40002"}, and logs to standard error.
On SIGTERM it finishes the requests in progress and exits.`,
		Example: `  storagemock --listen 127.0.0.1:50024 --latency 'lognormal(p50=60ms,p99=400ms)' --capacity inflight=300
  storagemock --latency 'method=GET: 5ms; mix(0.98=5ms,0.02=uniform(200ms,900ms))' --admin 127.0.0.1:0`,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), o, stdout, stderr) },
	}
	terminal.Setup(cmd, stdout, stderr)
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.Listen, "listen", o.Listen, "address of the first instance, host:port; port 0 picks a free one")
	f.IntVar(&o.Instances, "instances", o.Instances,
		"number of instances, on consecutive ports; they share documents and ledger, but not capacity")
	f.StringVar(&o.admin, "admin", "", "address of the admin API, host:port; none if empty")
	f.BoolVar(&o.pprof, "pprof", false, "serve profiles on the admin address")
	f.BoolVar(&o.AllowRemote, "allow-remote", false, "allow non-loopback addresses, without authentication")
	f.StringVar(&o.TLSCert, "tls-cert", "", "PEM certificate; with --tls-key, serve the API over TLS")
	f.StringVar(&o.TLSKey, "tls-key", "", "PEM key of --tls-cert")
	f.BoolVar(&o.OldTLS, "tls-old", false, "accept no later version than TLS 1.1, to test that a client refuses it")
	f.StringVar(&o.Latency, "latency", o.Latency, "latency: 87ms, uniform(min,max), "+
		"lognormal(p50=…,p99=…) or lognormal(mean=…,p99=…), exponential(mean), mix(0.98=5ms,0.02=2s), "+
		"slow(base,x,every,for); rules by method and kind: 'method=GET: 5ms; 87ms'")
	f.StringVar(&o.Capacity, "capacity", o.Capacity, "capacity per instance: inflight=300, rate=50/s, "+
		"queue=1000, comma-separated; rules with a queue each: 'kind=Pod,method=PUT: rate=50/s; inflight=300'")
	f.StringVar(&o.Mode, "mode", o.Mode, "faithful (every PUT wins) or conditional (stale PUTs get status 409)")
	f.StringVar(&o.Faults, "faults", o.Faults, "faults with optional arguments and probability: "+
		"'503:1%,reset:0.5%,stall(5s,kind=Pod):0.1%,refuse(from=20s,for=10s)'; effects: a status from 400 to 599, "+
		strings.Join(behavior.Effects, ", "))
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed for latencies, faults and document identifiers")
	f.StringVar(&o.loadSnapshot, "load-snapshot", "", "load the documents from this snapshot at startup")
	f.StringVar(&o.saveSnapshot, "save-snapshot", "",
		"save the documents to this file on exit; an existing file must be a snapshot, such as that of --load-snapshot")
	f.StringVar(&o.saveLedger, "save-ledger", "",
		"save the ledger to this file on exit (NDJSON, zstd); an existing file must be a ledger")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

// adminGrace is how long answers of the admin API may take once the program ends.
const adminGrace = 5 * time.Second

// announcement is the line of JSON on standard output.
type announcement struct {
	Listen []string `json:"listen"`
	Admin  string   `json:"admin,omitempty"`
}

func serve(ctx context.Context, o options, stdout, stderr io.Writer) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return badinput.New("", "log-level %q: want debug, info, warn or error", o.logLevel)
	}
	if err := o.validate(); err != nil {
		return badinput.Wrap(err)
	}
	// After a long run most of the memory is the ledger, all of it live; collecting more often keeps the garbage on top
	// of it small.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	var admin net.Listener
	var err error
	if o.admin != "" {
		if admin, err = net.Listen("tcp", o.admin); err != nil {
			return inUse(fmt.Errorf("admin API: %w", err), "--admin")
		}
		defer func() { _ = admin.Close() }()
	}
	srv, err := storagemock.New(o.Config, storagemock.Settings{Logger: log, Registry: registry})
	if err != nil {
		return inUse(err, "--listen")
	}
	if err := load(srv, o.loadSnapshot); err != nil {
		return errors.Join(err, srv.Close())
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return srv.Run(ctx) })
	line := announcement{Listen: srv.Addrs()}
	if admin != nil {
		line.Admin = admin.Addr().String()
		api := &http.Server{
			Handler: srv.AdminHandler(registry, o.pprof), ReadHeaderTimeout: 10 * time.Second,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		}
		group.Go(func() error {
			if err := lifecycle.Serve(ctx, api, lifecycle.Bound(admin, lifecycle.AdminBounds), adminGrace); err != nil {
				return fmt.Errorf("admin API: %w", err)
			}
			return nil
		})
	}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		log.Warn("announcing the addresses", "error", err)
	}
	err = group.Wait()
	log.Info("stopped", "ledger", srv.Ledger().Len(), "objects", srv.Store().Live())
	return errors.Join(err, save(o.saveLedger, func(w io.Writer) error {
		return ledger.WriteZstd(w, srv.Ledger().From(1))
	}), save(o.saveSnapshot, srv.Store().Save))
}

func (o options) validate() error {
	errs := []error{o.Validate()}
	if o.admin != "" {
		if _, _, err := storagemock.SplitAddress(o.admin, o.AllowRemote); err != nil {
			errs = append(errs, fmt.Errorf("admin: %w", err))
		}
	}
	if o.admin == "" && o.pprof {
		errs = append(errs, errors.New("pprof: profiles are served on the admin address; give --admin as well"))
	}
	errs = append(errs, userfile.CheckOutputs(
		userfile.Output{Flag: "save-ledger", Path: o.saveLedger, What: "ledger", Ours: ndjson.Begins(`{"seq":`)},
		userfile.Output{Flag: "save-snapshot", Path: o.saveSnapshot, What: "snapshot",
			Ours: ndjson.Begins(`{"schema":"watchbench/storagemock-snapshot/`)},
	))
	return errors.Join(errs...)
}

// inUse adds the remedy if another process holds the address.
func inUse(err error, flag string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return fmt.Errorf("%w: choose another address with %s, port 0 is any free one", err, flag)
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
