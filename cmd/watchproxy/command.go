package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/kubefile"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/loadgen/watchproxy"
)

// usageError is bad input: a flag or the kubeconfig.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// oneLine puts errors that were joined onto one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

type options struct {
	watchproxy.Config
	kubeconfig, context string
	write               string
	logLevel            string
}

// announcement is the line on standard output.
type announcement struct {
	Listen     []string `json:"listen"`
	Admin      string   `json:"admin,omitempty"`
	Kubeconfig string   `json:"kubeconfig,omitempty"`
}

func command(stdout, stderr io.Writer) *cobra.Command {
	o := options{Config: watchproxy.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "watchproxy --kubeconfig FILE --write-kubeconfig FILE",
		Short: "A proxy before an apiserver whose lists and watches go wrong on demand",
		Long: `watchproxy passes requests on to the apiserver of a kubeconfig and lets lists and
watches go wrong. The watcher uses the kubeconfig that it writes. When it is ready it
prints one line of JSON on standard output,
{"listen":["127.0.0.1:40001"],"admin":"127.0.0.1:40002","kubeconfig":"proxy.yaml"}; logs
go to standard error. SIGTERM ends it.

Faults are effect(arguments):probability, separated by commas. Effects: a status from 400
to 599 (retry-after=2s), 410(start|page|mid), html, no-stream, older(versions), stall(d),
blackhole, close(d) or close(min,max), reset, silent(d), pace(64KiB), no-bookmark, error,
truncate, unknown, junk, gone(d). Filters: kind=Pod|Node, verb=list|page|watch|stream|other.
Times: from, for, every; max=5 firings.

The admin API: GET, POST (text) and DELETE (?id=N) /faults, and POST /start, from which
the times of all faults count anew.`,
		Example: `  watchproxy --kubeconfig ~/.kube/config --write-kubeconfig proxy.yaml --faults 'close(1s,5s), 410(mid):1%'
  watchproxy --kubeconfig ~/.kube/config --write-kubeconfig proxy.yaml --admin 127.0.0.1:0 --faults 'gone(60s,from=10s)' --hold`,
		Version:       version.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("unexpected argument %q: everything is given by flags, see --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return execute(cmd, o, stdout, stderr) },
	}
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{fmt.Errorf("%w, see --help", err)} })
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the apiserver; the proxy lends its rights")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig; default: its current one")
	f.StringVar(&o.Listen, "listen", o.Listen, "address for the watcher, host:port; port 0 is any free one")
	f.StringVar(&o.write, "write-kubeconfig", "", "write a kubeconfig that leads to the proxy to this file; its server has a path without which nobody is served")
	f.StringVar(&o.Faults, "faults", "", "faults in force from the start; see above")
	f.BoolVar(&o.Hold, "hold", false, "no fault fires before POST /start on the admin API")
	f.StringVar(&o.Admin, "admin", "", "address of the admin API, a loopback host:port; empty is none")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of what faults hit")
	f.BoolVar(&o.TLS, "tls", false, "serve with TLS, by a CA of this run that the written kubeconfig names; else plain HTTP")
	f.BoolVar(&o.PassAuthorization, "pass-authorization", false, "lend no rights: send the Authorization header of requests on, over a connection without a client certificate; needs --tls, and a user in the written kubeconfig")
	f.BoolVar(&o.AllowRemote, "allow-remote", false, "allow --listen on other addresses than loopback; needs --tls")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return cmd
}

func execute(cmd *cobra.Command, o options, stdout, stderr io.Writer) (err error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return &usageError{fmt.Errorf("--log-level %q: want debug, info, warn or error", o.logLevel)}
	}
	for _, flag := range []struct{ name, value string }{{"kubeconfig", o.kubeconfig}, {"write-kubeconfig", o.write}} {
		if flag.value == "" {
			return &usageError{fmt.Errorf("--%s is missing, see --help", flag.name)}
		}
	}
	if sameFile(o.kubeconfig, o.write) {
		return &usageError{fmt.Errorf("--write-kubeconfig %s: that is the apiserver's own kubeconfig; name another file", o.write)}
	}
	if err := o.Validate(); err != nil {
		return &usageError{err}
	}
	cfg, err := kubefile.Read(o.kubeconfig, o.context)
	if err != nil {
		return &usageError{err}
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	p, err := watchproxy.New(o.Config, watchproxy.Settings{REST: cfg, Logger: log})
	if err != nil {
		return err
	}
	if err := p.WriteKubeconfig(o.write); err != nil {
		return errors.Join(err, p.Close())
	}
	line := announcement{Listen: []string{p.Addr()}, Admin: p.AdminAddr(), Kubeconfig: o.write}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		log.Warn("announcing the addresses", "error", err)
	}
	err = p.Run(cmd.Context())
	for _, f := range p.Faults().List() {
		log.Info("fault", "spec", f.Spec, "fired", f.Fired, "keys", f.Keys)
	}
	return err
}

func sameFile(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}
