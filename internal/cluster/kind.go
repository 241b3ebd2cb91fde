package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster/controlplane"
	"github.com/watchbench/watchbench/internal/lifecycle"
)

// KindOptions configures the kind provider. The zero value is usable.
type KindOptions struct {
	// Name of the kind cluster. Empty: "watchbench".
	Name string
	// Image of the nodes. Empty: kindest/node in the version that the embedded
	// provider pins too, which is the one our clients are made for.
	Image string
	// Images of this machine's Docker are loaded into the nodes.
	Images []string
	// Temp is where the run's kubeconfig is made. Empty: the system's.
	Temp string
	// Cache holds the lock that makes parallel runs take turns; see controlplane.Options.
	Cache string
}

const (
	defaultKindName = "watchbench"
	// kindWait bounds the time until the node is ready.
	kindWait = 3 * time.Minute
	// kindNameMax is how many of a host name's 64 characters kind leaves for the cluster's name.
	kindNameMax = 50
	// kindDeleteTimeout bounds the deletion of a cluster, which takes seconds.
	kindDeleteTimeout = 2 * time.Minute
)

// DefaultKindImage is the node image that is used where none is named.
func DefaultKindImage() string { return "kindest/node:" + controlplane.KubernetesVersion() }

type kind struct{ opts KindOptions }

var _ Provider = (*kind)(nil)

var kindName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

func newKind(opts KindOptions) (*kind, error) {
	opts.Name = cmp.Or(opts.Name, defaultKindName)
	opts.Image = cmp.Or(opts.Image, DefaultKindImage())
	switch {
	case !kindName.MatchString(opts.Name) || len(opts.Name) > kindNameMax:
		return nil, badinput.New(fmt.Sprintf("use at most %d lower-case letters, digits, '-' and '.'", kindNameMax),
			"kind cluster name %q", opts.Name)
	case strings.ContainsAny(opts.Image, " \t\n") || strings.HasPrefix(opts.Image, "-"):
		return nil, badinput.New("use one such as "+DefaultKindImage(), "kind node image %q", opts.Image)
	}
	return &kind{opts: opts}, nil
}

// kindConfig makes the control plane fit for write load: the data is thrown away,
// so etcd need not wait for the disk, and kind's client is not in system:masters,
// so the default limits would throttle the load generator instead of the load. The
// apiVersion of each patch makes it apply to the kubeadm format it is written for:
// kind uses v1beta4 from Kubernetes 1.36 on.
func kindConfig() *v1alpha4.Cluster {
	return &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes:    []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}},
		KubeadmConfigPatches: []string{`
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
apiServer:
  extraArgs:
    max-requests-inflight: "3000"
    max-mutating-requests-inflight: "2000"
etcd:
  local:
    extraArgs:
      unsafe-no-fsync: "true"
      quota-backend-bytes: "8589934592"
`},
		KubeadmConfigPatchesJSON6902: []v1alpha4.PatchJSON6902{{
			Group: "kubeadm.k8s.io", Version: "v1beta4", Kind: "ClusterConfiguration", Patch: `
- {op: add, path: /apiServer/extraArgs/-, value: {name: max-requests-inflight, value: "3000"}}
- {op: add, path: /apiServer/extraArgs/-, value: {name: max-mutating-requests-inflight, value: "2000"}}
- {op: add, path: /etcd, value: {local: {extraArgs: [
    {name: unsafe-no-fsync, value: "true"}, {name: quota-backend-bytes, value: "8589934592"}]}}}
`}},
	}
}

// kindRun is one cluster in use.
type kindRun struct {
	opts     KindOptions
	docker   docker
	provider *kindcluster.Provider
	dir      string
	created  bool // the cluster is ours to delete
	dog      *watchdog
}

// Up implements Provider.
func (k *kind) Up(ctx context.Context, progress func(string)) (c *Cluster, err error) {
	say := reporter(progress)
	r := &kindRun{opts: k.opts, provider: kindcluster.NewProvider(kindcluster.ProviderWithDocker())}
	if err := r.docker.check(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c, err = nil, errors.Join(err, r.down(ctx))
		}
	}()
	started := time.Now()
	if err := r.obtain(ctx, say); err != nil {
		return nil, err
	}
	if c, err = r.describe(ctx); err == nil {
		err = r.loadImages(ctx, say)
	}
	if err != nil {
		return nil, err
	}
	say("kind cluster %s with kube-apiserver %s ready in %s", k.opts.Name, c.Version,
		time.Since(started).Round(time.Second))
	return c, nil
}

// obtain creates the cluster. The processes of this machine take turns: when kind cannot create a cluster because
// somebody else is creating one of that name, it deletes what that one has made so far.
func (r *kindRun) obtain(ctx context.Context, say func(string, ...any)) error {
	cache, err := controlplane.Options{Cache: r.opts.Cache}.Root()
	if err != nil {
		return err
	}
	release, err := lifecycle.LockFile(ctx, filepath.Join(cache, "kind.lock"),
		func() { say("waiting for another process that is creating a kind cluster") })
	if err != nil {
		return err
	}
	defer release()
	names, err := r.provider.List()
	if err != nil {
		return fmt.Errorf("list the kind clusters: %w", kindError(err))
	}
	if slices.Contains(names, r.opts.Name) {
		return badinput.New("use it with --context kind-"+r.opts.Name+", choose another name with --kind-name, or run "+
			"kind delete cluster --name "+r.opts.Name,
			"a kind cluster named %q exists already", r.opts.Name)
	}
	if err := r.docker.haveImages(ctx, r.opts.Images); err != nil {
		return err
	}
	if err := r.docker.ensureImage(ctx, r.opts.Image, say); err != nil {
		return err
	}
	if r.dir, err = tempDir(r.opts.Temp); err != nil {
		return err
	}
	say("creating kind cluster %s", r.opts.Name)
	return r.create(ctx)
}

func (r *kindRun) create(ctx context.Context) (err error) {
	if r.dog, err = startWatchdog(kindWatchdogScript, r.opts.Name, r.dir); err != nil {
		return err
	}
	r.created = true
	done := make(chan error, 1) // one result, so that the goroutine never waits for us
	go func() {
		done <- r.provider.Create(r.opts.Name,
			kindcluster.CreateWithV1Alpha4Config(kindConfig()),
			kindcluster.CreateWithNodeImage(r.opts.Image),
			kindcluster.CreateWithWaitForReady(kindWait),
			kindcluster.CreateWithKubeconfigPath(r.kubeconfig()),
			kindcluster.CreateWithDisplayUsage(false),
			kindcluster.CreateWithDisplaySalutation(false))
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("create kind cluster %s: %w", r.opts.Name, kindError(err))
		}
		return nil
	case <-ctx.Done():
	}
	// kind knows no context. It gives up when the node it works on goes away.
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		err := r.docker.removeNodes(context.WithoutCancel(ctx), r.opts.Name)
		select {
		case <-done:
			return fmt.Errorf("create kind cluster %s: %w", r.opts.Name, errors.Join(context.Cause(ctx), err))
		case <-tick.C:
		}
	}
}

// describe waits for readiness (kind itself takes a time-out for success) and fills in what is known of the control
// plane.
func (r *kindRun) describe(ctx context.Context) (*Cluster, error) {
	c := &Cluster{
		Provider: Kind, Kubeconfig: r.kubeconfig(), Controllers: true, Dir: r.dir, ends: r.created, down: r.down,
	}
	restCfg, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	// Without it no pod can be created.
	if err := waitFor(ctx, restCfg, "/api/v1/namespaces/default/serviceaccounts/default", kindWait); err != nil {
		return nil, fmt.Errorf("kind cluster %s is not ready: %w", r.opts.Name, err)
	}
	if c.Version, err = serverVersion(ctx, restCfg); err != nil {
		return nil, fmt.Errorf("ask the apiserver of kind cluster %s for its version: %w", r.opts.Name, err)
	}
	c.PIDs = r.docker.parties(ctx, r.opts.Name)
	return c, nil
}

// loadImages copies the images into all nodes.
func (r *kindRun) loadImages(ctx context.Context, say func(string, ...any)) error {
	if len(r.opts.Images) == 0 {
		return nil
	}
	say("loading %s", strings.Join(r.opts.Images, ", "))
	nodes, err := r.provider.ListInternalNodes(r.opts.Name)
	if err != nil {
		return fmt.Errorf("list the nodes of kind cluster %s: %w", r.opts.Name, kindError(err))
	}
	archive := filepath.Join(r.dir, "images.tar")
	if _, err := r.docker.lines(ctx, append([]string{"save", "-o", archive}, r.opts.Images...)...); err != nil {
		return fmt.Errorf("load the images: %w", err)
	}
	defer func() { _ = os.Remove(archive) }() // else with its folder
	for _, node := range nodes {
		f, err := os.Open(archive)
		if err == nil {
			err = errors.Join(kindError(nodeutils.LoadImageArchive(node, f)), f.Close())
		}
		if err != nil {
			return fmt.Errorf("load the images into node %s: %w", node, err)
		}
	}
	return nil
}

// kubeconfig is where kind writes it.
func (r *kindRun) kubeconfig() string { return filepath.Join(r.dir, "kubeconfig") }

// down deletes what Up created, whatever state that is in.
func (r *kindRun) down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), kindDeleteTimeout)
	defer cancel()
	var errs []error
	if r.created {
		errs = append(errs, r.docker.removeNodes(ctx, r.opts.Name))
	}
	if r.dir != "" {
		if err := os.RemoveAll(r.dir); err != nil {
			errs = append(errs, fmt.Errorf("remove the directory of the kubeconfig: %w", err))
		}
	}
	return errors.Join(append(errs, r.dog.dismiss())...)
}
