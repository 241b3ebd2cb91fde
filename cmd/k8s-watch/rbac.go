package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/config"
)

// rbacTimeout bounds the questions to the apiserver.
const rbacTimeout = 30 * time.Second

const rbacUsage = `k8s-watch rbac -f config.json [--kubeconfig FILE] | kubectl apply -f -

Prints the RBAC objects that a watcher with this configuration and filter file
needs, for the kinds that the cluster serves now.

`

func rbac(args []string) int {
	var f config.Flags
	fs := f.Set("k8s-watch rbac")
	kubeconfig := fs.String("kubeconfig", "", "overrides k8s.kubeconfig")
	name := fs.String("name", "k8s-watch", "name of the ServiceAccount, the roles and the bindings")
	namespace := fs.String("namespace", "k8s-watch", "namespace of the ServiceAccount")
	fs.Usage = func() { fmt.Print(rbacUsage, fs.FlagUsages()) }
	if err := fs.Parse(args); err != nil {
		return misused(fs, err)
	}
	cfg, filter, _, err := f.Load(fs)
	if err != nil {
		return fail(exitBadInput, err)
	}
	if *kubeconfig != "" {
		cfg.K8s = config.K8s{Kubeconfig: *kubeconfig}
	}
	ctx, cancel := context.WithTimeout(context.Background(), rbacTimeout)
	defer cancel()
	rights, err := watcher.RightsFor(ctx, cfg, filter, slog.New(slog.DiscardHandler))
	if input, ok := errors.AsType[*watcher.InputError](err); ok {
		return fail(exitBadInput, input.In(f.File))
	}
	if err == nil {
		err = printRoles(*name, *namespace, rights)
	}
	if err != nil {
		return fail(exitError, err)
	}
	return exitOK
}

// manifest is a role or a binding, by the fields that it has.
type manifest struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Rules      []watcher.Rule    `json:"rules,omitempty"`
	RoleRef    map[string]string `json:"roleRef,omitempty"`
	Subjects   []subject         `json:"subjects,omitempty"`
}

type subject struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

func printRoles(name, namespace string, r watcher.Rights) error {
	if len(r.Cluster) > 0 {
		if err := printRole("ClusterRole", name, "", namespace, r.Cluster); err != nil {
			return err
		}
	}
	for _, in := range slices.Sorted(maps.Keys(r.Roles)) {
		if err := printRole("Role", name, in, namespace, r.Roles[in]); err != nil {
			return err
		}
	}
	return nil
}

// printRole prints a role and its binding; in is the role's namespace, none for a
// ClusterRole.
func printRole(kind, name, in, account string, rules []watcher.Rule) error {
	const group = "rbac.authorization.k8s.io"
	metadata := map[string]string{"name": name}
	if in != "" {
		metadata["namespace"] = in
	}
	for _, m := range []manifest{
		{Kind: kind, Rules: rules},
		{
			Kind:     kind + "Binding",
			RoleRef:  map[string]string{"apiGroup": group, "kind": kind, "name": name},
			Subjects: []subject{{Kind: "ServiceAccount", Name: name, Namespace: account}},
		},
	} {
		m.APIVersion, m.Metadata = group+"/v1", metadata
		text, err := yaml.Marshal(m)
		if err != nil {
			return err
		}
		fmt.Printf("---\n%s", text)
	}
	return nil
}
