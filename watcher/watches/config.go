package watches

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/watcher/setting"
)

// Keys of the configuration, as LimitError names them.
const (
	keyMaxWatches = "resourceWatcher.watches.maxWatches"
	keyMaxBytes   = "resourceWatcher.watches.maxBytes"
)

// MaxWait is the longest that a query may wait for a first list.
const MaxWait = 30 * time.Second

// Config is the user's part. The comments of the fields are the text of the reference, in Markdown.
type Config struct {
	// Start a watch, over all namespaces, when a query asks for a kind that is not followed. Off: such queries get 403,
	// and only what is collected for storage or `pinned` can be read.
	Lazy bool `json:"lazy"`
	// How long a query waits for the first list of a kind before it gets 503 with `Retry-After`. A query may ask for up
	// to `30s`.
	Wait setting.Duration `json:"wait"`
	// How long a watch goes on after its last use. Pinned kinds do not end.
	TTL setting.Duration `json:"ttl"`
	// Limit of kinds followed besides those collected for storage. Beyond it: 503.
	MaxWatches int `json:"maxWatches"`
	// Limit of cached bytes of those kinds together. Above it unused watches end, the least recently used first, and
	// new ones get 503. Pinned kinds and those in use may exceed it: alert on `k8swatch_lazy_watch_bytes`.
	MaxBytes int64 `json:"maxBytes"`
	// Kinds followed from the start, as `group/version/resource`, or `version/resource` in the core group:
	// `apps/v1/deployments`, `v1/pods`. `/readyz` fails until those that are served are listed, and while the watch of
	// one is lost.
	Pinned []string `json:"pinned"`
	// Resources that nobody may read, in all versions: `v1/secrets` (`v1` is the core group), `*/secrets`,
	// `example.com/*`. An object served from two groups, such as an Event, needs two entries. `[]` withholds nothing,
	// not even Secrets.
	Deny []string `json:"deny"`
}

// Default returns the values of an empty section.
func Default() Config {
	return Config{
		Lazy: true, Wait: setting.Duration(5 * time.Second), TTL: setting.Duration(10 * time.Minute),
		MaxWatches: 100, MaxBytes: 256 << 20, Deny: []string{"v1/secrets"},
	}
}

// Validate names the wrong keys and what would be right.
func (c Config) Validate() error {
	var errs []error
	if c.Wait < 0 || time.Duration(c.Wait) > MaxWait {
		errs = append(errs, fmt.Errorf("wait: %s: want 0s to %s", time.Duration(c.Wait), MaxWait))
	}
	if time.Duration(c.TTL) < time.Second {
		errs = append(errs, fmt.Errorf("ttl: %s: want 1s or more", time.Duration(c.TTL)))
	}
	if c.MaxWatches < 0 {
		errs = append(errs, fmt.Errorf("maxWatches: %d: want 0 or more", c.MaxWatches))
	}
	if c.MaxBytes <= 0 {
		errs = append(errs, fmt.Errorf("maxBytes: %d: want a number of bytes above 0, such as %d", c.MaxBytes,
			Default().MaxBytes))
	}
	denied, err := parseDeny(c.Deny)
	if err != nil {
		errs = append(errs, err)
	}
	for _, text := range c.Pinned {
		r, err := ParseGVR(text)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("pinned: %w", err))
		case denied.has(r.Group, r.Resource):
			errs = append(errs, fmt.Errorf("pinned: %s: deny withholds it; name it in one of the two", text))
		}
	}
	if len(c.Pinned) > c.MaxWatches {
		errs = append(errs, fmt.Errorf("maxWatches: %d: want at least the %d that are pinned", c.MaxWatches, len(c.Pinned)))
	}
	return errors.Join(errs...)
}

// Withholds reports whether nobody may read a resource. It is for a valid Config.
func (c Config) Withholds(r GVR) bool {
	d, _ := parseDeny(c.Deny)
	return d.has(r.Group, r.Resource)
}

// String is group/version/resource, or version/resource of the core group.
func (r GVR) String() string {
	if r.Group == "" {
		return r.Version + "/" + r.Resource
	}
	return r.Group + "/" + r.Version + "/" + r.Resource
}

// UnmarshalJSON reads what String writes. Its error repeats only what may be meant for that: others may be secrets.
func (r *GVR) UnmarshalJSON(b []byte) (err error) {
	var text string
	if slashes := strings.Count(string(b), "/"); json.Unmarshal(b, &text) != nil || slashes < 1 || slashes > 2 {
		return errors.New(`want "group/version/resource" such as "apps/v1/deployments", or "version/resource" of the ` +
			"core group")
	}
	*r, err = ParseGVR(text)
	return err
}

// MarshalJSON implements json.Marshaler.
func (r GVR) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }

var (
	groupName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	versionName  = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	coreVersion  = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	resourceName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// ParseGVR reads what String writes.
func ParseGVR(text string) (GVR, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 || parts[0] != "" && !groupName.MatchString(parts[0]) || !versionName.MatchString(parts[1]) ||
		!resourceName.MatchString(parts[2]) {
		return GVR{}, fmt.Errorf("%.80q: want group/version/resource or, of the core group, version/resource, with the "+
			"plural name: apps/v1/deployments, v1/pods", text)
	}
	return GVR{parts[0], parts[1], parts[2]}, nil
}

const anything = "*"

type rule struct{ group, resource string }

type denied []rule

func parseDeny(texts []string) (denied, error) {
	var all denied
	var errs []error
	for _, text := range texts {
		group, resource, ok := strings.Cut(text, "/")
		r := rule{group, resource}
		if coreVersion.MatchString(group) {
			r.group = ""
		} else {
			ok = ok && (group == anything || groupName.MatchString(group))
		}
		if !ok || resource != anything && !resourceName.MatchString(resource) {
			errs = append(errs, fmt.Errorf("deny: %.80q: want group/resource with the plural name, v1 for the core group, * "+
				"for any: v1/secrets, */secrets, example.com/*", text))
			continue
		}
		all = append(all, r)
	}
	return all, errors.Join(errs...)
}

func (d denied) has(group, resource string) bool {
	return slices.ContainsFunc(d, func(r rule) bool {
		return (r.group == anything || r.group == group) && (r.resource == anything || r.resource == resource)
	})
}
