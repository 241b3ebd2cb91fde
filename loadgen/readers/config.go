package readers

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/loadgen/hookfault"
)

// Config says what is read.
type Config struct {
	Seed uint64 `json:"seed"`
	// Collection is the path of all objects of a kind, such as /api/v1/pods.
	Collection string `json:"collection"`
	// Get and List are queries per second.
	Get  float64 `json:"get,omitempty"`
	List float64 `json:"list,omitempty"`
	// Connections bounds the GETs under way; of LISTs there are at most 8.
	Connections int `json:"connections"`
	// Limit is the page of a LIST, 0 for all objects; the selectors are those of LISTs.
	Limit         int    `json:"limit,omitempty"`
	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`

	Watches int `json:"watches,omitempty"`

	Webhooks      int    `json:"webhooks,omitempty"` // receivers
	WebhookFaults string `json:"webhookFaults,omitempty"`
	// Secret signs the deliveries, in the form of Standard Webhooks (whsec_…); empty: they
	// are not signed.
	Secret string `json:"secret,omitempty"`
}

// Bounds of a Config.
const (
	MaxRate        = 100_000 // queries per second
	MaxConnections = 4096
	MaxWatches     = 10_000
)

// Validate reports the first value that cannot be carried out, by its key.
func (c *Config) Validate() error {
	bad := func(key, format string, args ...any) error {
		return fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...))
	}
	path, _ := c.split()
	switch {
	case !strings.HasPrefix(c.Collection, "/api") || path == "" || strings.ContainsAny(c.Collection, "?#"):
		return bad("collection", "%q is not a path such as /api/v1/pods", c.Collection)
	case !(c.Get >= 0 && c.Get <= MaxRate):
		return bad("get", "%v is not a rate from 0 to %d", c.Get, MaxRate)
	case !(c.List >= 0 && c.List <= MaxRate):
		return bad("list", "%v is not a rate from 0 to %d", c.List, MaxRate)
	case c.Connections < 1 || c.Connections > MaxConnections:
		return bad("connections", "%d is not 1 to %d", c.Connections, MaxConnections)
	case c.Limit < 0:
		return bad("limit", "%d is below 0", c.Limit)
	case c.Watches < 0 || c.Watches > MaxWatches:
		return bad("watches", "%d is not 0 to %d", c.Watches, MaxWatches)
	case c.Webhooks < 0 || c.Webhooks > hookfault.MaxReceivers:
		return bad("webhooks", "%d is not 0 to %d", c.Webhooks, hookfault.MaxReceivers)
	}
	if _, err := hookfault.Parse(c.WebhookFaults); err != nil {
		return bad("webhookFaults", "%v", err)
	}
	if c.Secret != "" {
		if _, err := secretKey(c.Secret); err != nil {
			return bad("secret", "%v", err)
		}
	}
	return nil
}

// split divides the collection's path: /api/v1 and pods.
func (c *Config) split() (group, plural string) {
	i := strings.LastIndexByte(c.Collection, '/')
	if i < 0 {
		return "", ""
	}
	return c.Collection[:i], c.Collection[i+1:]
}

// object is the path of one object.
func (c *Config) object(namespace, name string) string {
	group, plural := c.split()
	if namespace != "" {
		group += "/namespaces/" + url.PathEscape(namespace)
	}
	return group + "/" + plural + "/" + url.PathEscape(name)
}

// list is the path and query of a LIST.
func (c *Config) list() string {
	q := url.Values{}
	if c.Limit > 0 {
		q.Set("limit", strconv.Itoa(c.Limit))
	}
	if c.LabelSelector != "" {
		q.Set("labelSelector", c.LabelSelector)
	}
	if c.FieldSelector != "" {
		q.Set("fieldSelector", c.FieldSelector)
	}
	if len(q) == 0 {
		return c.Collection
	}
	return c.Collection + "?" + q.Encode()
}

var errNothing = errors.New("no object to get: have some exist before the load")
