package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/commandline"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/loadgen/readlog"
)

type options struct {
	config, record, kubeconfig, control string
	length                              time.Duration
}

func command(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "readers --config FILE --kubeconfig FILE --record FILE",
		Short: "Read from a Kubernetes-style endpoint as many programs would, and receive webhooks",
		Long: `Read from a Kubernetes-style endpoint as many programs would, and receive webhooks.

The configuration is JSON: collection (/api/v1/pods), seed, connections, get and list
(queries per second), limit, labelSelector and fieldSelector (of LISTs), watches,
webhooks (receivers), webhookFaults, secret.

The phases go over standard output and input, a line each: {"phase":"listening",
"listen":[…]}; connect; {"phase":"ready"}; go; stop; {"phase":"stopped"}; done. --for
goes through them without standard input. The record counts once the program has ended
with 0.`,
		Example: `  readers --config readers.json --kubeconfig ~/.kube/config --record readers.ndjson.zst --for 10s`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return execute(cmd.Context(), o, stdin, stdout) },
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(slowCommand(stdout, stderr))
	commandline.Setup(cmd, stdout, stderr)
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "what is read (JSON)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the endpoint; it is read when the phase connect begins")
	f.StringVar(&o.control, "control", "", "kubeconfig of the apiserver, whose watch says what happened; default: that of the endpoint")
	f.StringVar(&o.record, "record", "", "where to write the record (zstd-compressed NDJSON)")
	f.DurationVar(&o.length, "for", 0, "query for so long, without waiting for lines on standard input")
	return cmd
}

func execute(ctx context.Context, o options, stdin io.Reader, stdout io.Writer) (err error) {
	if err := commandline.Require(commandline.Flag{Name: "config", Value: o.config}, commandline.Flag{Name: "kubeconfig", Value: o.kubeconfig},
		commandline.Flag{Name: "record", Value: o.record}); err != nil {
		return err
	}
	cfg, err := readConfig(o.config)
	if err != nil {
		return badinput.Wrap(err)
	}
	if err := userfile.CheckOutputs(readlog.Output("--record", o.record)); err != nil {
		return badinput.Wrap(err)
	}
	log, err := readlog.Create(o.record)
	if err != nil {
		return badinput.Wrap(err)
	}
	r, err := readers.New(cfg, log)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	c := conductor{options: o, out: stdout}
	if o.length == 0 {
		c.lines = make(chan string) // each is awaited, or the program ends
		go c.read(stdin)            // ends with standard input, or with the program
	}
	// The record outlives a signal: what was read belongs to it.
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var both errgroup.Group
	both.Go(func() error { return log.Run(writing) })
	both.Go(func() error {
		defer written()
		return r.Run(ctx, &c)
	})
	err = errors.Join(both.Wait(), log.Close())
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = &commandline.Interrupted{Err: err}
	}
	return err
}

// maxConfig bounds the configuration's file.
const maxConfig = 1 << 20

func readConfig(path string) (c readers.Config, err error) {
	data, err := userfile.ReadFile(path)
	switch {
	case err != nil:
		return c, fmt.Errorf("--config: %w", err)
	case len(data) > maxConfig:
		return c, fmt.Errorf("--config %s: more than %d bytes", path, maxConfig)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err = d.Decode(&c); err == nil {
		err = c.Validate()
	}
	if err != nil {
		return c, fmt.Errorf("--config %s: %w", path, err)
	}
	return c, nil
}

// conductor has the phases from standard input, or from the clock.
type conductor struct {
	options
	out   io.Writer
	lines chan string // nil: by the clock
}

var errNoMore = errors.New("standard input ended before the last phase")

func (c *conductor) read(in io.Reader) {
	defer close(c.lines)
	for s := bufio.NewScanner(in); s.Scan(); {
		c.lines <- strings.TrimSpace(s.Text())
	}
}

func (c *conductor) Say(phase string, listen []string) {
	_ = json.NewEncoder(c.out).Encode(struct {
		Phase  string   `json:"phase"`
		Listen []string `json:"listen,omitempty"`
	}{phase, listen}) // nobody listens: the next phase will not come either
}

func (c *conductor) Await(ctx context.Context, phase string) error {
	if c.lines == nil {
		if phase == readers.Stop {
			return lifecycle.Pause(ctx, c.length)
		}
		return context.Cause(ctx)
	}
	select {
	case line, ok := <-c.lines:
		switch {
		case !ok:
			return errNoMore
		case line != phase:
			return fmt.Errorf("%q on standard input, want %s", line, phase)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *conductor) Access() (a readers.Access, err error) {
	if a.Target, err = kubeapi.ReadConfig(c.kubeconfig, ""); err != nil {
		return a, err
	}
	a.Control = a.Target
	if c.control != "" {
		a.Control, err = kubeapi.ReadConfig(c.control, "")
	}
	return a, err
}
