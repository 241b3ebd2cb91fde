package query

import "github.com/watchbench/watchbench/internal/badinput"

// Config is the user's configuration.
type Config struct {
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
		MaxInFlight: 400, MaxWatches: 2000, MaxPage: 10_000, MaxSelectorBytes: 4 << 10,
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
	return nil
}
