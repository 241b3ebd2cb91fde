package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/commandline"
	"github.com/watchbench/watchbench/loadgen/slowclients"
)

// slowCommand is "readers slow-clients".
func slowCommand(stdout, stderr io.Writer) *cobra.Command {
	var cfg slowclients.Config
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "slow-clients --address HOST:PORT --ca FILE --for DURATION",
		Short: "Take the connections of a TLS server and hold them",
		Long: `Take the connections of a TLS server and hold them: every tenth client sends next to
nothing after a TLS handshake, the others within it. At the end it prints what became
of them on standard output, as JSON. With --url all clients ask for that, again and again.`,
		Example: `  readers slow-clients --address 127.0.0.1:10253 --ca ca.crt --count 10000 --for 8s
  readers slow-clients --url 'http://127.0.0.1:10253/api/v1/pods?labelSelector=app' --count 400 --for 8s`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.URL != "" {
				cfg.Address, cfg.CAFile = "", ""
			} else if err := commandline.Require(commandline.Flag{Name: "address", Value: cfg.Address}, commandline.Flag{Name: "ca", Value: cfg.CAFile}); err != nil {
				return err
			}
			if length <= 0 {
				return badinput.New("", "--for is missing, see --help")
			}
			if err := cfg.Validate(); err != nil {
				return badinput.Wrap(err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), length)
			defer cancel()
			seen, err := slowclients.Run(ctx, cfg)
			if err != nil {
				return err
			}
			return json.NewEncoder(stdout).Encode(seen)
		},
	}
	commandline.Setup(cmd, stdout, stderr)
	f := cmd.Flags()
	f.StringVar(&cfg.Address, "address", "", "of the server")
	f.StringVar(&cfg.CAFile, "ca", "", "CA of the server's certificate (PEM)")
	f.StringVar(&cfg.URL, "url", "", "what all clients ask for, instead of holding connections")
	f.IntVar(&cfg.Count, "count", 1000, "clients")
	f.DurationVar(&length, "for", 0, "how long")
	return cmd
}
