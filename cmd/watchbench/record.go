package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/record"
)

type recordFlags struct {
	out, kubeconfig, context string
	duration                 time.Duration
	resources                []string
	anonymise, quiet         bool
}

var recordDefault = []string{
	"namespaces", "pods", "nodes", "events", "services", "configmaps", "deployments.apps", "replicasets.apps",
	"jobs.batch",
	"endpointslices.discovery.k8s.io", "leases.coordination.k8s.io",
}

func recordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record -o FILE",
		Short: "Record what the list and watch of a cluster return",
		Long: `Record what lists and watches of the chosen resources return, with timestamps, into a
compressed file (docs/record.md). Nothing is written to the cluster.

The data of Secrets and ConfigMaps are never written. Everything else is written as it
is, environment variables and arguments included, unless --anonymise replaces names and
values; relations remain.

Ctrl-C ends it sooner; the file is complete up to then. Without --for that is how it ends,
with exit code 0.`,
		Example: `  watchbench record -o trace.zst --context staging --for 10m --anonymise
  watchbench record -o pods.zst --context kind-dev --resources pods,events`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.record(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "output", "o", "", "file to write, which must not exist")
	fl.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, else ~/.kube/config)")
	fl.StringVar(&f.context, "context", "", "context to use; may be left out if the file has only one")
	fl.DurationVar(&f.duration, "for", 0, "how long to record, after the first lists (default: until interrupted)")
	fl.StringSliceVar(&f.resources, "resources", recordDefault, "resources as kubectl names them")
	// The list is too long for the line of its flag.
	fl.Lookup("resources").DefValue = "[]"
	cmd.Long += "\n\nWithout --resources: " + strings.Join(recordDefault, ", ") + "."
	fl.BoolVar(&f.anonymise, "anonymise", false, "replace names, labels, annotations, variables, images and other texts")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func (f *recordFlags) record(cmd *cobra.Command) error {
	switch {
	case f.out == "":
		return badinput.New("name it with -o, for example -o trace.zst", "no file to be written")
	case f.duration < 0 || f.duration == 0 && cmd.Flags().Changed("for"):
		return badinput.New("use for example --for 10m", "--for %s: the duration must be positive", f.duration)
	case len(f.resources) == 0:
		return badinput.New("name some, for example pods,events", "--resources is empty")
	}
	if _, err := os.Lstat(f.out); err == nil {
		return exists(f.out)
	}
	say := screen(cmd).Line
	if f.quiet {
		say = func(string) {}
	}
	c, err := f.cluster(cmd.Context(), say)
	if err != nil {
		return err
	}
	err = f.from(cmd, c, say)
	return errors.Join(err, takeDown(cmd.Context(), c))
}

func exists(path string) error {
	return badinput.New("name another file or remove it", "-o %s exists already", path)
}

func (f *recordFlags) create(h record.Header) (*record.Writer, error) {
	w, err := record.Create(f.out, h)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, exists(f.out)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err // without the path
		}
		return nil, &badinput.Error{What: "-o " + f.out, Remedy: "name a file in a folder that can be written", Err: err}
	}
	return w, err
}

// cluster reaches that of the kubeconfig. Where a file has a single context there is no
// doubt which is meant: recording only reads.
func (f *recordFlags) cluster(ctx context.Context, say func(string)) (*cluster.Cluster, error) {
	o := cluster.KubeconfigOptions{Path: f.kubeconfig, Context: f.context}
	if o.Context == "" {
		only, err := cluster.OnlyContext(o.Path)
		if err != nil {
			return nil, err
		}
		o.Context = only
	}
	p, err := cluster.New(cluster.Kubeconfig, cluster.Options{Kubeconfig: o})
	if err != nil {
		return nil, err
	}
	return p.Up(ctx, say)
}

func (f *recordFlags) from(cmd *cobra.Command, c *cluster.Cluster, say func(string)) error {
	cfg, err := c.RESTConfig()
	if err != nil {
		return err
	}
	resources, version, err := record.Resolve(cmd.Context(), cfg, f.resources)
	if err != nil {
		return err
	}
	r, err := record.New(record.Settings{REST: cfg, Resources: resources, ClusterVersion: version, Anonymise: f.anonymise,
		Progress: say})
	if err != nil {
		return err
	}
	w, err := f.create(r.Header())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	if f.duration > 0 {
		go f.end(ctx, cancel, r)
	}
	began := time.Now()
	stop := following(cmd, f.quiet || !screen(cmd).Live(), recording(began, f.duration, r.Progress))
	err = r.Run(ctx, w)
	stop()
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) { // what the cluster does not let its user see
		err = &badinput.Error{What: "record",
			Remedy: "leave the resource out of --resources, or use an account that may list and watch it", Err: err}
	}
	if closed := w.Close(); err == nil { // else it is the same
		err = closed
	}
	if badinput.Is(err) { // nothing was recorded that is worth a file
		return errors.Join(err, os.Remove(f.out))
	}
	bytes, frames := w.Written()
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %d frames in %s, %d KiB; %s\n", f.out, frames,
		time.Since(began).Round(time.Second), (bytes+1023)>>10, r.Summary())
	switch {
	case err != nil:
		return err
	case f.duration > 0 && cmd.Context().Err() != nil:
		return context.Cause(cmd.Context())
	}
	return r.Incomplete()
}

// leastPatience is how long the first lists may take at least before the time of --for begins without them.
const leastPatience = 5 * time.Second

// end ends a recording when its time is over, which begins when all first lists are complete.
func (f *recordFlags) end(ctx context.Context, cancel func(), r *record.Recorder) {
	for began := time.Now(); r.Incomplete() != nil && time.Since(began) < max(leastPatience, f.duration); {
		_ = lifecycle.Pause(ctx, 10*time.Millisecond)
		if ctx.Err() != nil {
			return
		}
	}
	if lifecycle.Pause(ctx, f.duration) == nil {
		cancel()
	}
}
