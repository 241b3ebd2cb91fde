package query

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
)

// Config is the user's configuration.
type Config struct {
	// More fields that a `fieldSelector` may use, by resource: `pods`, or `deployments.apps` with the group. Each is kept
	// in an index, built at its first use, which costs some 200 bytes per object: a query for one value takes the time of
	// its hits. Fields that the apiserver supports for a kind can be used anyway, without an index unless they are named
	// here. Lists are not followed.
	FieldIndexes map[string][]string `json:"fieldIndexes"`
	// How many requests are served at once, without watches and requests that wait for a first list or a seat. Others get
	// 429. A list to a slow client keeps its place until it is sent.
	MaxInFlight int `json:"maxInFlight"`
	// How many watches clients may hold open at once. Others get 429. Without TLS each takes a connection of
	// `server.maxConnections`.
	MaxWatches int `json:"maxWatches"`
	// The most objects in one page of a list: a larger `limit` is lowered to it. A list without `limit` is sent whole.
	MaxPage int `json:"maxPage"`
	// The longest label or field selector, in bytes. A longer one gets 400.
	MaxSelectorBytes int `json:"maxSelectorBytes"`
}

// Default returns the defaults.
func Default() Config {
	return Config{
		FieldIndexes: map[string][]string{"pods": {"spec.nodeName"}},
		MaxInFlight:  400, MaxWatches: 2000, MaxPage: 10_000, MaxSelectorBytes: 4 << 10,
	}
}

// Validate refuses what could not work.
func (c Config) Validate() error {
	for _, n := range []struct {
		key   string
		value int
	}{{"maxInFlight", c.MaxInFlight}, {"maxWatches", c.MaxWatches}, {"maxPage", c.MaxPage},
		{"maxSelectorBytes", c.MaxSelectorBytes}} {
		if n.value < 1 {
			return badinput.New("want a whole number above 0", "%s: %d", n.key, n.value)
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(c.FieldIndexes)) {
		key := fmt.Sprintf("fieldIndexes[%q]", resource)
		if plural, group, dotted := strings.Cut(resource, "."); plural == "" || strings.ToLower(resource) != resource ||
			dotted && group == "" || strings.Contains(resource, "/") {
			return badinput.New("want a plural name, such as pods, or with its group, such as deployments.apps",
				"%s: no resource", key)
		}
		for _, path := range c.FieldIndexes[resource] {
			if err := checkPath(path); err != nil {
				return badinput.New("want a path such as spec.nodeName", "%s: %v", key, err)
			}
		}
	}
	return nil
}

// checkPath refuses invalid paths and paths that a selector cannot contain.
func checkPath(path string) error {
	switch {
	case slices.Contains(strings.Split(path, "."), ""):
		return fmt.Errorf("%q has an empty segment", path)
	case strings.ContainsAny(path, "=!,\\[]* \t\n"):
		return fmt.Errorf("%q has a character that no path has", path)
	}
	return nil
}
