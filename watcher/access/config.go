package access

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Authentication is how clients show who they are.
type Authentication string

// The ways of it.
const (
	None        Authentication = "none"        // everybody may read; on loopback only
	TokenReview Authentication = "tokenReview" // the apiserver is asked
)

// localhost is the one name that is loopback by definition (RFC 6761): no resolver is asked.
const localhost = "localhost"

// Config is the user's part. The comments of the fields are the text of the reference, in Markdown.
type Config struct {
	// An IP address or `localhost`. Beyond loopback it needs `certFile`, `keyFile` and `authentication: tokenReview`.
	Address string `json:"address"`
	// Port to serve at; 0 is any that is free.
	Port uint16 `json:"port"`
	// TLS certificate; a replaced file is read within a second. Needs `keyFile`. Without: plain HTTP.
	CertFile string `json:"certFile"`
	// Key of `certFile`, not encrypted.
	KeyFile string `json:"keyFile"`
	// `none`: everybody on this machine may read. `tokenReview`: the apiserver decides by token and RBAC.
	Authentication Authentication `json:"authentication"`
	// Audiences of which a token must have one; empty is the apiserver's own.
	Audiences []string `json:"audiences"`
	// Connections at a time; more wait.
	MaxConnections int `json:"maxConnections"`
}

// Default returns the values of an empty section.
func Default() Config {
	return Config{Address: "127.0.0.1", Port: 10253, Authentication: None, MaxConnections: 1024}
}

// Validate names the first wrong key and what would be right. It looks up no names.
func (c Config) Validate() error {
	switch {
	case c.Authentication != None && c.Authentication != TokenReview:
		return fmt.Errorf("authentication: %q: want %s or %s", c.Authentication, None, TokenReview)
	case c.CertFile != "" && c.KeyFile == "":
		return errors.New("keyFile: missing, the certificate of certFile needs its key")
	case c.KeyFile != "" && c.CertFile == "":
		return errors.New("certFile: missing, the key of keyFile needs its certificate")
	case len(c.Audiences) > 0 && c.Authentication == None:
		return fmt.Errorf("audiences: with authentication %s nobody is asked for a token: want authentication %s", None,
			TokenReview)
	case slices.ContainsFunc(c.Audiences, func(a string) bool { return strings.TrimSpace(a) == "" }):
		return errors.New("audiences: one is empty: want names, or none for the apiserver's own")
	case c.MaxConnections < 1 || c.MaxConnections > 1<<16:
		return fmt.Errorf("maxConnections: %d: want 1 to 65536", c.MaxConnections)
	}
	return c.exposed()
}

// exposed refuses to serve beyond loopback without TLS or authentication.
func (c Config) exposed() error {
	if c.loopback() {
		return nil
	}
	var missing []string
	if c.CertFile == "" {
		missing = append(missing, "certFile and keyFile (TLS)")
	}
	if c.Authentication == None {
		missing = append(missing, fmt.Sprintf("authentication: %s (who may read what)", TokenReview))
	}
	if len(missing) > 0 {
		return fmt.Errorf("address: %q is not loopback, others could read the cluster's objects there: want %s, or the "+
			"address 127.0.0.1",
			c.Address, strings.Join(missing, " and "))
	}
	if _, err := netip.ParseAddr(c.Address); err != nil && c.Address != "" {
		return fmt.Errorf("address: %q: want an IP address, %s, or nothing for all addresses", c.Address, localhost)
	}
	return nil
}

// loopback reports whether only this machine can reach the address. A name other than
// localhost is not: what it resolves to is somebody else's decision. Nor is an IPv4 address
// in IPv6 clothes, which systems and libraries take in different ways.
func (c Config) loopback() bool { return c.Address == localhost || isLoopback(c.Address) }

func isLoopback(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && !a.Is4In6() && a.Zone() == "" && a.IsLoopback()
}
