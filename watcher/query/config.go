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
	// More fields for `fieldSelector`, by resource (`pods`, `deployments.apps`), each with an index of some 200 bytes
	// per object. Fields that the apiserver supports work without an entry, but are not indexed. Lists are not
	// followed.
	FieldIndexes map[string][]string `json:"fieldIndexes"`
	// Requests served at once, without watches and waiting ones. Beyond it: 429. A list counts until it is sent.
	MaxInFlight int `json:"maxInFlight"`
	// Watches open at once. Beyond it: 429. Without TLS each takes a connection of `server.maxConnections`.
	MaxWatches int `json:"maxWatches"`
	// Objects in one page of a list: a larger `limit` is lowered. Without `limit` a list is sent whole.
	MaxPage int `json:"maxPage"`
	// Longest selector in bytes. Beyond it: 400.
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
