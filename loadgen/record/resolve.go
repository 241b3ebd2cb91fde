package record

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
)

const askTimeout = 30 * time.Second

// Resolve asks the cluster for its version and for the resources that names mean: plurals (pods), short names (po), or
// either with a group (deployments.apps), in the version that the cluster prefers. A name without a group means the
// core group's resource if there is one. A name that means nothing, several resources or one that cannot be watched is
// an error of the input.
func Resolve(ctx context.Context, cfg *rest.Config, names []string) (all []Resource, version string, err error) {
	own := rest.CopyConfig(cfg)
	own.Timeout = askTimeout
	client, err := discovery.NewDiscoveryClientForConfig(own)
	if err != nil {
		return nil, "", fmt.Errorf("build a client: %w", err)
	}
	body, err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return nil, "", fmt.Errorf("ask the apiserver for its version: %w", err)
	}
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(body, &info); err != nil || info.GitVersion == "" {
		return nil, "", badinput.New("name the kubeconfig of a cluster",
			"%s is not a Kubernetes apiserver: GET /version gives no gitVersion", cfg.Host)
	}
	lists, err := client.ServerPreferredResources()
	if err != nil && (len(lists) == 0 || !discovery.IsGroupDiscoveryFailedError(err)) {
		return nil, "", fmt.Errorf("ask the apiserver for its resources: %w", err)
	}
	var offered []offer
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, "", fmt.Errorf("discovery: %w", err)
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				offered = append(offered, offer{r, gv})
			}
		}
	}
	for _, name := range names {
		r, err := find(offered, strings.TrimSpace(name))
		if err != nil {
			return nil, "", err
		}
		if slices.Contains(all, r) {
			return nil, "", badinput.New("leave one of them out", "--resources: %s is named twice", r)
		}
		all = append(all, r)
	}
	return all, info.GitVersion, nil
}

type offer struct {
	metav1.APIResource
	gv schema.GroupVersion
}

func (o offer) resource() Resource {
	return Resource{Group: o.gv.Group, Version: o.gv.Version, Name: o.Name, Kind: o.Kind, Namespaced: o.Namespaced}
}

func (o offer) full() string { return o.resource().key() }

func find(offered []offer, name string) (Resource, error) {
	short, group, grouped := strings.Cut(name, ".")
	var found []offer
	var known []string
	for _, o := range offered {
		known = append(known, o.full())
		if (short == o.Name || short == o.SingularName || slices.Contains(o.ShortNames, short)) &&
			(!grouped || group == o.gv.Group) {
			found = append(found, o)
		}
	}
	if core := slices.IndexFunc(found, func(o offer) bool { return o.gv.Group == "" }); core >= 0 {
		found = found[core : core+1]
	}
	switch len(found) {
	case 0:
		return Resource{}, badinput.New(badinput.Ask(badinput.Nearest(name, known), "see kubectl api-resources"),
			"--resources: the cluster has no resource %q", name)
	case 1:
	default:
		var names []string
		for _, o := range found {
			names = append(names, o.full())
		}
		return Resource{}, badinput.New("use one of "+strings.Join(names, ", "), "--resources: %q means %d resources",
			name, len(found))
	}
	o := found[0]
	if !slices.Contains(o.Verbs, "list") || !slices.Contains(o.Verbs, "watch") {
		return Resource{}, badinput.New("leave it out", "--resources: %s cannot be listed and watched", o.full())
	}
	return o.resource(), nil
}
