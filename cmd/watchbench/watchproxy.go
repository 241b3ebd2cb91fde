package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/commandline"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/loadgen/watchproxy"
)

type watchproxyOptions struct {
	watchproxy.Config
	kubeconfig, write string
}

// watchproxyAnnouncement is the line on standard output.
type watchproxyAnnouncement struct {
	Listen     []string `json:"listen"`
	Admin      string   `json:"admin,omitempty"`
	Kubeconfig string   `json:"kubeconfig,omitempty"`
}

func watchproxyCommand(s streams) *cobra.Command {
	o := watchproxyOptions{Config: watchproxy.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "watchproxy --kubeconfig FILE --write-kubeconfig FILE",
		Short: "A proxy in front of an apiserver that makes lists and watches fail on demand",
		Long: `watchproxy forwards requests to the apiserver of a kubeconfig and injects faults into
lists and watches. Point the watcher at the kubeconfig that it writes. When it is ready
it prints one line of JSON on standard output,
{"listen":["127.0.0.1:40001"],"admin":"127.0.0.1:40002","kubeconfig":"proxy.yaml"}; logs
go to standard error. SIGTERM stops it.

Faults are effect(arguments):probability, separated by commas. Effects: a status from 400
to 599 (retry-after=2s), 410(start|mid), no-stream, older(versions), stall(d),
blackhole, close(d) or close(min,max), reset, silent(d), no-bookmark, error,
truncate, unknown, junk, lost(deleted), gone(d). Filters: kind=Pod|Node, verb=list|page|watch|stream|other.
Times: from, for, every; max=5 firings.

The admin API: GET, POST (text) and DELETE (?id=N) /faults, and POST /start, which
restarts the times of all faults.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return watchproxyExecute(cmd, o, s.out, s.err) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the apiserver; clients get its credentials")
	f.StringVar(&o.write, "write-kubeconfig", "", "write a kubeconfig for the proxy to this file, which must not be "+
		"there, be empty, or be of an earlier watchproxy; its server URL holds a secret path that requests need")
	f.StringVar(&o.Faults, "faults", "", "initial faults; see above")
	f.BoolVar(&o.Hold, "hold", false, "hold all faults until POST /start on the admin API")
	f.StringVar(&o.Admin, "admin", "", "loopback host:port of the admin API; empty disables it")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed for what faults hit")
	f.BoolVar(&o.TLS, "tls", false,
		"serve TLS with a CA made for this run, which the written kubeconfig names; otherwise plain HTTP")
	f.BoolVar(&o.PassAuthorization, "pass-authorization", false,
		"forward the Authorization header of requests instead of the proxy's credentials, over a connection without a "+
			"client certificate; needs --tls, and a user in the written kubeconfig")
	return cmd
}

func watchproxyExecute(cmd *cobra.Command, o watchproxyOptions, stdout, stderr io.Writer) (err error) {
	if err := commandline.Require(commandline.Flag{Name: "kubeconfig", Value: o.kubeconfig},
		commandline.Flag{Name: "write-kubeconfig", Value: o.write}); err != nil {
		return err
	}
	if sameFile(o.kubeconfig, o.write) {
		return badinput.New("", "--write-kubeconfig %s: that is the apiserver's own kubeconfig; name another file", o.write)
	}
	own := userfile.Output{Flag: "--write-kubeconfig", Path: o.write, What: "kubeconfig of a watchproxy",
		Ours: watchproxy.Written}
	if err := errors.Join(o.Validate(), userfile.CheckOutputs(own)); err != nil {
		return badinput.Wrap(err)
	}
	cfg, err := kubeapi.ReadConfig(o.kubeconfig, "")
	if err != nil {
		return badinput.Wrap(err)
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	p, err := watchproxy.New(o.Config, watchproxy.Settings{REST: cfg, Logger: log})
	if err != nil {
		return err
	}
	if err := p.WriteKubeconfig(o.write); err != nil {
		return errors.Join(badinput.Wrap(fmt.Errorf("--write-kubeconfig: %w", err)), p.Close())
	}
	line := watchproxyAnnouncement{Listen: []string{p.Addr()}, Admin: p.AdminAddr(), Kubeconfig: o.write}
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
