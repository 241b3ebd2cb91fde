package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/commandline"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/witness"
)

type witnessOptions struct {
	kubeconfig, oplog string
	kinds, ignore     []string
}

func witnessCommand(s streams) *cobra.Command {
	var o witnessOptions
	cmd := &cobra.Command{
		Use:   "witness --kubeconfig FILE --oplog FILE --kind KIND=GROUP/VERSION/RESOURCE",
		Short: "Record every event of chosen kinds, straight from an apiserver",
		Long: `Record every event of chosen kinds, straight from an apiserver, in the form of an op log.

When it watches it prints {"phase":"ready"} on standard output. SIGTERM ends it, after
a last list of every kind.`,
		Example: `  witness --kubeconfig ~/.kube/config --oplog witness.ndjson.zst --kind Pod=v1/pods`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return witnessExecute(cmd.Context(), o, s.out, s.err) },
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	f.StringVar(&o.oplog, "oplog", "", "where to write the record (zstd-compressed NDJSON)")
	f.StringArrayVar(&o.kinds, "kind", nil,
		"a kind and its resource, such as ReplicaSet=apps/v1/replicasets; may be repeated")
	f.StringArrayVar(&o.ignore, "ignore-namespace", nil, "leave out what is in this namespace; may be repeated")
	return cmd
}

func witnessExecute(ctx context.Context, o witnessOptions, stdout, stderr io.Writer) (err error) {
	if err := commandline.Require(commandline.Flag{Name: "kubeconfig", Value: o.kubeconfig},
		commandline.Flag{Name: "oplog", Value: o.oplog}); err != nil {
		return err
	}
	if len(o.kinds) == 0 {
		return badinput.New("", "--kind is missing, see --help")
	}
	cfg := witness.Config{IgnoreNamespaces: o.ignore, Log: slog.New(slog.NewTextHandler(stderr, nil))}
	for _, text := range o.kinds {
		k, err := parseKind(text)
		if err != nil {
			return err
		}
		cfg.Kinds = append(cfg.Kinds, k)
	}
	access, err := kubeapi.ReadConfig(o.kubeconfig, "")
	if err != nil {
		return badinput.Wrap(err)
	}
	if err := userfile.CheckOutputs(oplog.Output("--oplog", o.oplog)); err != nil {
		return badinput.Wrap(err)
	}
	log, err := oplog.Create(o.oplog)
	if err != nil {
		return badinput.Wrap(err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	w, err := witness.New(cfg, access, log)
	if err != nil {
		return err
	}
	// The log outlives the signal: what the last lists show belongs to it.
	writing, written := context.WithCancel(context.WithoutCancel(ctx))
	var both errgroup.Group
	both.Go(func() error { return log.Run(writing) })
	both.Go(func() error {
		defer written()
		return w.Run(ctx, func() { _, _ = fmt.Fprintln(stdout, `{"phase":"ready"}`) })
	})
	return both.Wait()
}

// parseKind reads KIND=VERSION/RESOURCE or KIND=GROUP/VERSION/RESOURCE.
func parseKind(text string) (k witness.Kind, err error) {
	name, rest, _ := strings.Cut(text, "=")
	parts := strings.Split(rest, "/")
	if name == "" || len(parts) < 2 || len(parts) > 3 || strings.Contains("/"+rest+"/", "//") {
		return k, badinput.New("",
			"--kind %s: write a kind and its resource, such as Pod=v1/pods or ReplicaSet=apps/v1/replicasets", text)
	}
	k = witness.Kind{Name: name, Resource: schema.GroupVersionResource{Version: parts[len(parts)-2],
		Resource: parts[len(parts)-1]}}
	if len(parts) == 3 {
		k.Resource.Group = parts[0]
	}
	return k, nil
}
