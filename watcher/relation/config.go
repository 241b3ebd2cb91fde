package relation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/watcher/setting"
)

// Bounds of a query's depth.
const (
	DefaultDepth = 3
	MaxDepth     = 10
)

// Config is the user's part.
type Config struct {
	// Kinds that queries look into even if they are not followed yet, as `resource.group` (`replicasets.apps`) or
	// `pods` in the core group. A query may start a watch for each. Followed kinds and those named as owners are looked
	// into anyway.
	Kinds []string `json:"kinds"`
	// Objects in an answer at most; beyond, it is truncated and says so.
	MaxNodes int `json:"maxNodes"`
	// How long a query waits for first lists of kinds. What is missing then is named.
	Wait setting.Duration `json:"wait"`
}

// Default is the configuration without any key set.
func Default() Config {
	return Config{
		Kinds: []string{
			"configmaps", "endpoints", "nodes", "persistentvolumeclaims", "persistentvolumes", "pods", "serviceaccounts",
			"services",
			"daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps",
			"horizontalpodautoscalers.autoscaling", "cronjobs.batch", "jobs.batch",
			"endpointslices.discovery.k8s.io", "ingresses.networking.k8s.io",
		},
		MaxNodes: 1000,
		Wait:     setting.Duration(5 * time.Second),
	}
}

// Bounds of the keys.
const (
	mostNodes = 100_000
	mostWait  = 30 * time.Second
)

// Validate names the first key with a value that cannot be.
func (c Config) Validate() error {
	for i, k := range c.Kinds {
		switch resource, _, _ := strings.Cut(k, "."); {
		case resource == "" || strings.ContainsAny(k, "/ ") || k != strings.ToLower(k):
			return fmt.Errorf("kinds[%d]: %q: want resource.group in lower case, such as replicasets.apps, or pods of the core "+
				"group", i, k)
		case k == secretsKind:
			return fmt.Errorf("kinds[%d]: %q: Secrets are never looked into; leave it out", i, k)
		case slices.Contains(c.Kinds[:i], k):
			return fmt.Errorf("kinds[%d]: %q stands twice; leave one out", i, k)
		}
	}
	switch {
	case c.MaxNodes < 1 || c.MaxNodes > mostNodes:
		return fmt.Errorf("maxNodes: %d: want 1 to %d", c.MaxNodes, mostNodes)
	case c.Wait.Std() <= 0 || c.Wait.Std() > mostWait:
		return fmt.Errorf("wait: %s: want more than 0s, and at most %s", c.Wait, mostWait)
	}
	return nil
}
