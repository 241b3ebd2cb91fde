package access

import (
	"net/netip"
	"strings"
	"testing"
)

// TestStartRule: which addresses may be served how.
func TestStartRule(t *testing.T) {
	for address, loopback := range map[string]bool{
		"127.0.0.1": true, "127.0.0.2": true, "127.255.255.254": true, "::1": true, "localhost": true, "0:0:0:0:0:0:0:1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "126.255.255.255": false, "128.0.0.1": false, "fe80::1": false,
		"169.254.1.1": false, "::ffff:127.0.0.1": false, "::ffff:7f00:1": false, "::127.0.0.1": false, "::1%lo": false, "::2": false,
		"127.1": false, "2130706433": false, "0x7f.0.0.1": false, "0177.0.0.1": false, "127.0.0.1 ": false, "[::1]": false,
		"LOCALHOST": false, "localhost.": false, "localhost.example.com": false, "example.com": false, "127.0.0.1.example.com": false,
	} {
		for _, tc := range []struct {
			name           string
			tls, reviewing bool
			want           []string // of the error
		}{
			{"neither", false, false, []string{"address:", "certFile and keyFile", "authentication: tokenReview", "127.0.0.1"}},
			{"TLS only", true, false, []string{"address:", "authentication: tokenReview"}},
			{"authentication only", false, true, []string{"address:", "certFile and keyFile"}},
			{"both", true, true, nil},
		} {
			c := Default()
			c.Address = address
			if tc.tls {
				c.CertFile, c.KeyFile = "c", "k"
			}
			if tc.reviewing {
				c.Authentication = TokenReview
			}
			err := c.Validate()
			_, noIP := netip.ParseAddr(address)
			switch {
			case loopback || tc.want == nil && (noIP == nil || address == ""):
				if err != nil {
					t.Errorf("%q, %s: %v", address, tc.name, err)
				}
			case tc.want == nil: // a name
				if err == nil || !strings.Contains(err.Error(), "want an IP address") {
					t.Errorf("%q, %s: %v", address, tc.name, err)
				}
			default:
				for _, want := range tc.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%q, %s: %v, want %q in it", address, tc.name, err, want)
					}
				}
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"authentication: \"webhook\"": func(c *Config) { c.Authentication = "webhook" },
		"authentication: \"\"":        func(c *Config) { c.Authentication = "" },
		"keyFile: missing":            func(c *Config) { c.CertFile = "c" },
		"certFile: missing":           func(c *Config) { c.KeyFile = "k" },
		"audiences: with":             func(c *Config) { c.Audiences = []string{"a"} },
		"audiences: one is empty":     func(c *Config) { c.Audiences, c.Authentication = []string{"a", " "}, TokenReview },
		"maxConnections: 0":           func(c *Config) { c.MaxConnections = 0 },
		"maxConnections: 65537":       func(c *Config) { c.MaxConnections = 1<<16 + 1 },
	} {
		c := Default()
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "want") && !strings.Contains(err.Error(), "needs") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
