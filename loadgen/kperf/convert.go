package kperf

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/loadgen/pseudonym"
	"github.com/watchbench/watchbench/loadgen/trace"
)

// Counts says what became of the requests of a profile.
type Counts struct {
	Events  int // frames ADDED, MODIFIED and DELETED
	Reads   int // GET, LIST and WATCH
	Refused int // the apiserver would refuse them: a conflict, or nothing there
	Skipped int // for subresources that are not followed
}

func (c Counts) String() string {
	return fmt.Sprintf("%d events; left out are %d reads, %d requests that an empty apiserver refuses, %d for other subresources", c.Events, c.Reads, c.Refused, c.Skipped)
}

// started is the time from which those of the objects count: a profile has none.
var started = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Trace writes the trace of the profile by means of create, such as trace.Create with a
// path, and anonymises it if asked.
func (p *Profile) Trace(anonymise bool, create func(trace.Header) (*trace.Writer, error)) (counts Counts, err error) {
	names := pseudonym.New(pseudonym.NewSalt(), anonymise)
	h := trace.Header{Started: started, ClusterVersion: "kperf profile", Anonymised: anonymise}
	for _, r := range p.resources {
		r.Group, r.Version, r.Name, r.Kind = names.Text(r.Group), names.APIVersion(r.Version), names.Text(r.Name), names.Text(r.Kind)
		h.Resources = append(h.Resources, r)
	}
	w, err := create(h)
	if err != nil {
		return counts, err
	}
	c := &converter{profile: p, names: names, out: w, objects: map[string]map[string]any{}, version: 1}
	err = c.run()
	return c.counts, errors.Join(p.decoded.Locate(err), w.Close())
}

// converter is an apiserver as far as it takes one.
type converter struct {
	profile *Profile
	names   *pseudonym.Pseudonyms
	out     *trace.Writer
	objects map[string]map[string]any // by resource, namespace and name
	version uint64
	at      time.Duration
	counts  Counts
}

func (c *converter) run() error {
	for i := range c.profile.resources {
		if err := c.out.Append(trace.Frame{Resource: i, Type: trace.Synced, ResourceVersion: "1"}); err != nil {
			return err
		}
	}
	for i, r := range c.profile.Requests {
		c.at = time.Duration(r.Timestamp) * time.Millisecond
		err := c.request(i, r, c.profile.targets[i])
		if errors.Is(err, jsonscan.ErrTooDeep) {
			err = strictyaml.Bad(fmt.Sprintf("requests[%d].body", i), "nest less", "%v", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) request(i int, r Request, t target) error {
	switch {
	case !r.writes():
		c.counts.Reads++
		return nil
	case t.subresource != "" && (t.subresource != "status" && t.subresource != "scale" || r.Verb == verbDelete || r.Verb == verbDeleteCollection):
		c.counts.Skipped++
		return nil
	}
	resource := slices.IndexFunc(c.profile.resources, func(x trace.Resource) bool { return same(x, t.resource) })
	if resource < 0 { // nothing makes one, a subresource of it is changed
		c.counts.Refused++
		return nil
	}
	t.resource = c.profile.resources[resource]
	switch r.Verb {
	case verbDelete:
		key := t.key()
		if c.objects[key] == nil {
			c.counts.Refused++
			return nil
		}
		return c.remove(resource, key)
	case verbDeleteCollection:
		return c.removeAll(resource, r, t)
	}
	body := c.profile.bodies[i]
	if t.name == "" {
		t.name = t.generate + suffix(c.version)
	}
	key := t.key()
	was := c.objects[key]
	switch {
	case (r.Verb == verbCreate || r.Verb == verbApply) && was == nil && t.subresource == "":
		return c.put(resource, key, t, body, nil)
	case r.Verb == verbCreate, was == nil:
		c.counts.Refused++
		return nil
	}
	if r.Verb == verbPatch {
		var err error
		if body, err = patched(t, was, body); err != nil {
			return strictyaml.Bad(fmt.Sprintf("requests[%d].body", i), "write a merge patch", "the patch of %s cannot be applied: %v", t.name, err)
		}
	} else {
		body = merged(was, body)
	}
	return c.put(resource, key, t, body, was)
}

func (t target) key() string {
	return strings.Join([]string{t.resource.Group, t.resource.Name, t.namespace, t.name}, "/")
}

// suffix is what an apiserver would draw at random.
func suffix(n uint64) string {
	text := strconv.FormatUint(n*2654435761%60466176, 36)
	return strings.Repeat("x", max(0, 5-len(text))) + text
}

// put stores a state and writes it.
func (c *converter) put(resource int, key string, t target, o, was map[string]any) error {
	c.version++
	o = maps.Clone(o)
	meta, _ := o["metadata"].(map[string]any)
	if meta = maps.Clone(meta); meta == nil {
		meta = map[string]any{}
	}
	o["metadata"] = meta
	o["apiVersion"], o["kind"] = t.resource.APIVersion(), t.resource.Kind
	meta["name"] = t.name
	if t.namespace != "" {
		meta["namespace"] = t.namespace
	}
	kind := trace.Added
	if was != nil {
		kind = trace.Modified
		before := was["metadata"].(map[string]any) // as put here
		meta["uid"], meta["creationTimestamp"] = before["uid"], before["creationTimestamp"]
	} else {
		meta["uid"] = fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(resource), c.version)
		meta["creationTimestamp"] = started.Add(c.at).Format(time.RFC3339)
	}
	meta["resourceVersion"] = strconv.FormatUint(c.version, 10)
	c.objects[key] = o
	return c.frame(kind, resource, o)
}

func (c *converter) remove(resource int, key string) error {
	c.version++
	o := c.objects[key]
	delete(c.objects, key)
	meta := o["metadata"].(map[string]any) // as put here
	meta["resourceVersion"] = strconv.FormatUint(c.version, 10)
	return c.frame(trace.Deleted, resource, o)
}

// removeAll removes what a collection holds, in the order of the names.
func (c *converter) removeAll(resource int, r Request, t target) error {
	selector, err := labels.Parse(r.LabelSelector)
	if err != nil {
		return err // it was parsed before
	}
	t.name = ""
	prefix, found := t.key(), false
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		if !strings.HasPrefix(key, prefix) || t.namespace == "" && t.resource.Namespaced {
			continue
		}
		meta := c.objects[key]["metadata"].(map[string]any) // as put here
		set := labels.Set{}
		if have, ok := meta["labels"].(map[string]any); ok {
			for k, v := range have {
				set[k], _ = v.(string)
			}
		}
		if !selector.Matches(set) {
			continue
		}
		found = true
		if err := c.remove(resource, key); err != nil {
			return err
		}
	}
	if !found {
		c.counts.Refused++
	}
	return nil
}

func (c *converter) frame(kind trace.Type, resource int, o map[string]any) error {
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encoding an object: %w", err)
	}
	if data, err = c.names.Object(nil, masked(c.profile.resources[resource]), data); err != nil {
		return err
	}
	c.counts.Events++
	return c.out.Append(trace.Frame{At: c.at, Resource: resource, Type: kind, Object: data})
}

// masked is the kind by which data are masked. It goes by the path: what a profile calls a
// kind is free text.
func masked(r trace.Resource) string {
	switch r.String() {
	case "secrets":
		return "Secret"
	case "configmaps":
		return "ConfigMap"
	}
	return r.Kind
}

// patched applies a patch as the apiserver does to what kperf sends.
func patched(t target, was, patch map[string]any) (map[string]any, error) {
	gvk := schema.GroupVersionKind{Group: t.resource.Group, Version: t.resource.Version, Kind: t.resource.Kind}
	typed, err := scheme.Scheme.New(gvk)
	if err != nil { // a custom resource
		return merged(was, patch), nil
	}
	var own map[string]any // the patch works in place
	data, err := json.Marshal(was)
	if err == nil {
		err = json.Unmarshal(data, &own)
	}
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergeMapPatch(own, patch, typed)
}

// merged is a merge patch (RFC 7386).
func merged(was, patch map[string]any) map[string]any {
	out := maps.Clone(was)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			below, _ := out[k].(map[string]any)
			out[k] = merged(below, v)
		default:
			out[k] = v
		}
	}
	return out
}
