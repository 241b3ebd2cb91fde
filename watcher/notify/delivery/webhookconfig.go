package delivery

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/watchbench/watchbench/watcher/setting"
)

// Webhook describes a receiver.
type Webhook struct {
	// Where events are posted, `http://` or `https://`. No redirects, no proxies.
	URL string `json:"url"`
	// File with the signing secret, `whsec_` and base64; a second line may hold another one during a rotation. A
	// replaced file is read again. Without: no signature.
	SecretFile string `json:"secretFile"`
	// CA of the receiver's certificate in PEM, read again when replaced; empty is the system's.
	CAFile string `json:"caFile"`
	// Non-public networks that may be connected to, such as `10.96.0.0/12`. Other non-public addresses are refused.
	Allow []string `json:"allow"`
	// Longest time of one try, 10 s by default.
	Timeout setting.Duration `json:"timeout"`
}

func (c Webhook) egress() Egress {
	return Egress{Allow: c.Allow, CAFile: c.CAFile}
}

// Validate refuses what could not work; errors name the key.
func (c Webhook) Validate() error {
	if c.Timeout < 0 {
		return KeyError("timeout", "is negative, want a time such as %q", "10s")
	}
	if c.SecretFile != "" {
		if _, err := readSecrets(c.SecretFile); err != nil {
			return KeyError("secretFile", "%w", err)
		}
	}
	if err := c.egress().Validate(); err != nil {
		return err
	}
	if err := checkURL(c.URL); err != nil {
		return KeyError("url", "%w", err)
	}
	return nil
}

// checkURL refuses a receiver's address. What it holds is not repeated in errors: it may be a
// secret.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("invalid URL, want one such as https://host/path")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("has another scheme, want http:// or https://")
	case u.Opaque != "" || u.Hostname() == "":
		return errors.New("has no host, want one such as https://host/path")
	case u.User != nil:
		return errors.New("holds a user, want it without: receivers know the watcher by its signature")
	case u.Fragment != "" || u.RawFragment != "":
		return errors.New("has a fragment (#), which is never sent, want it without")
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Host != u.Hostname() && u.Host != "["+u.Hostname()+"]":
		return errors.New("has an empty port, want a number or no colon")
	case u.Scheme == "http":
		port = "80"
	default:
		port = "443"
	}
	if err := checkPort(port); err != nil {
		return fmt.Errorf("has a port that cannot be: %w", err)
	}
	return nil
}
