// Command watchfloor is the least a watcher can do: it reads watches of an apiserver and puts the bytes into
// bcs-storage, over as many kept connections as a watcher has, without store, order, retries or judgement. Its cost is
// that of moving the bytes, so a watcher's CPU per request is given as a multiple of it.
//
// It reads a watcher's configuration and filter file, of which it knows what it needs, and runs in a scenario as
//
//	watcher: {command: '{bin}/watchfloor -f {config}'}
//
// It is a program of its own because it is measured as a process, and a main because nothing else needs what it does.
// It ends at the first thing that goes wrong.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/terminal"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it returns the exit code. A signal is the normal end.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	path := ""
	cmd := &cobra.Command{
		Use: "watchfloor", Short: "Relay watches to bcs-storage and do nothing else, as the floor of a watcher's cost",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := readConfig(path)
			if err != nil {
				return badinput.Wrap(err)
			}
			if err := relay(cmd.Context(), c); err != nil && cmd.Context().Err() == nil {
				return err
			}
			return nil
		},
	}
	terminal.Setup(cmd, stdout, stderr)
	cmd.Flags().StringVarP(&path, "config", "f", "", "a watcher's configuration, as watchbench renders it")
	return terminal.Run(ctx, cmd, args)
}

// relay watches all kinds until ctx ends or something fails.
func relay(ctx context.Context, c config) error {
	api, err := connect(c.K8s.Kubeconfig)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.MetricPort))
	if err != nil {
		return fmt.Errorf("listen where metrics are asked for: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	// The answer is empty: that there is one says that the relay is up.
	g.Go(func() error {
		return lifecycle.Serve(ctx, &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}, l,
			0)
	})
	s := newSender(c.BCS.Endpoints, c.BCS.Connections)
	for range c.BCS.Connections {
		g.Go(func() error { return s.run(ctx) })
	}
	for _, k := range c.kinds {
		g.Go(func() error {
			return api.watch(ctx, k, func(f *frame) error { return s.send(ctx, c.Default.ClusterID, f) })
		})
	}
	return g.Wait()
}
