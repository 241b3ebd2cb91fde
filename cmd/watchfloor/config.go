package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/internal/userfile"
)

// config has the keys of a watcher's configuration that the relay reads.
type config struct {
	Default struct {
		ClusterID string `json:"clusterID"`
	} `json:"default"`
	BCS struct {
		Endpoints   string `json:"custom-storage-endpoints"`
		Connections int    `json:"podQueueNum"`
	} `json:"bcs"`
	K8s struct {
		Kubeconfig string `json:"kubeconfig"`
	} `json:"k8s"`
	Filter     string `json:"filterConfigPath"`
	MetricPort int    `json:"metric_port"`

	kinds []kind
}

// filter has the keys of the filter file that it reads.
type filter struct {
	Resources []struct {
		GroupVersion string   `json:"groupVersion"`
		Kinds        []string `json:"resourceKinds"`
	} `json:"apiResourceSpecification"`
}

// kind is the kind that one watch reads.
type kind struct{ name, path string }

func readConfig(path string) (config, error) {
	var c config
	if err := readJSON(path, &c); err != nil {
		return c, err
	}
	var f filter
	if err := readJSON(c.Filter, &f); err != nil {
		return c, err
	}
	if c.BCS.Connections < 1 || !strings.HasPrefix(c.BCS.Endpoints, "http://") || strings.Contains(c.BCS.Endpoints, ",") {
		return c, fmt.Errorf("%s: want podQueueNum of at least 1, and one endpoint of storage without TLS", path)
	}
	c.BCS.Endpoints = strings.TrimPrefix(c.BCS.Endpoints, "http://")
	c.kinds = []kind{{"Namespace", "/api/v1/namespaces"}} // every watcher follows them
	for _, r := range f.Resources {
		root := "/apis/"
		if !strings.Contains(r.GroupVersion, "/") {
			root = "/api/"
		}
		for _, name := range r.Kinds {
			if name != "Namespace" {
				c.kinds = append(c.kinds, kind{name, root + r.GroupVersion + "/" + plural(name)})
			}
		}
	}
	return c, nil
}

// plural is the resource of one of the kinds that a scenario may name.
func plural(kind string) string { return strings.TrimSuffix(strings.ToLower(kind), "s") + "s" }

func readJSON(path string, into any) error {
	data, err := userfile.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
