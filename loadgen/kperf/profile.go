package kperf

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/loadgen/trace"
)

// Bounds of a profile. One of 100,000 requests has about 1,000,000 values.
const (
	maxBytes    = 64 << 20
	maxNodes    = 4_000_000
	maxRequests = 200_000
)

var format = strictyaml.Format{
	Noun: "kperf replay profile", Start: "version: 1",
	MaxBytes: maxBytes, MaxDepth: 16, MaxNodes: maxNodes,
}

// Profile is a replay profile that has no mistakes.
type Profile struct {
	Document
	decoded   *strictyaml.Decoder
	targets   []target         // by request
	bodies    []map[string]any // by request; nil where there is none
	resources []trace.Resource // that are written
}

// Document is what the file holds. Of Spec, which says how kperf spreads the requests
// over its clients, nothing matters here.
type Document struct {
	Version     int       `json:"version"`
	Description string    `json:"description,omitempty"`
	Spec        Spec      `json:"spec"`
	Requests    []Request `json:"requests"`
}

// Spec is read so that mistakes in it are found.
type Spec struct {
	RunnerCount      int    `json:"runnerCount"`
	ConnsPerRunner   int    `json:"connsPerRunner"`
	ClientsPerRunner int    `json:"clientsPerRunner"`
	ContentType      string `json:"contentType"`
	DisableHTTP2     bool   `json:"disableHTTP2"`
}

// Request is one request to the apiserver.
type Request struct {
	Timestamp     int64  `json:"timestamp"` // milliseconds since the start
	Verb          string `json:"verb"`
	Namespace     string `json:"namespace,omitempty"`
	ResourceKind  string `json:"resourceKind"`
	Name          string `json:"name,omitempty"`
	APIPath       string `json:"apiPath"`
	Body          string `json:"body,omitempty"` // JSON or YAML
	LabelSelector string `json:"labelSelector,omitempty"`
}

// Verbs of requests.
const (
	verbCreate           = "CREATE"
	verbApply            = "APPLY"
	verbPatch            = "PATCH"
	verbDelete           = "DELETE"
	verbDeleteCollection = "DELETECOLLECTION"
	verbGet              = "GET"
	verbList             = "LIST"
	verbWatch            = "WATCH"
)

var verbs = []string{verbCreate, verbApply, verbPatch, verbDelete, verbDeleteCollection, verbGet, verbList, verbWatch}

// ReadFile reads the profile at path, plain or compressed with gzip.
func ReadFile(path string) (*Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return Parse(path, data)
}

// Parse reads a profile. An error is a *strictyaml.Error: one line with the file, the line
// and the field.
func Parse(name string, data []byte) (*Profile, error) {
	data, err := unpacked(name, data)
	if err != nil {
		return nil, err
	}
	tree, err := format.Parse(name, data)
	if err != nil {
		return nil, err
	}
	var p Profile
	if p.decoded, err = tree.Decode(tree.Root, &p.Document); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, p.decoded.Locate(err)
	}
	if err := p.understand(); err != nil {
		return nil, p.decoded.Locate(err)
	}
	return &p, nil
}

func unpacked(name string, data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return data, nil
	}
	fail := func(err error) error {
		return &strictyaml.Error{Place: name, Problem: "gzip: " + err.Error(), Remedy: "copy the file anew"}
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fail(err)
	}
	if data, err = io.ReadAll(io.LimitReader(z, maxBytes+1)); err != nil {
		return nil, fail(err)
	}
	return data, nil
}

func (p *Document) validate() error {
	switch {
	case p.Version != 1:
		return strictyaml.Bad("version", "use 1", "%d is not known", p.Version)
	case p.Spec.RunnerCount <= 0:
		return strictyaml.Bad("spec.runnerCount", "use at least 1", "%d is out of range", p.Spec.RunnerCount)
	case p.Spec.ConnsPerRunner <= 0:
		return strictyaml.Bad("spec.connsPerRunner", "use at least 1", "%d is out of range", p.Spec.ConnsPerRunner)
	case p.Spec.ClientsPerRunner < 0:
		return strictyaml.Bad("spec.clientsPerRunner", "use at least 0", "%d is out of range", p.Spec.ClientsPerRunner)
	case len(p.Requests) == 0:
		return strictyaml.Bad("requests", "a profile has at least one", "there are none")
	case len(p.Requests) > maxRequests:
		return strictyaml.Bad("requests", fmt.Sprintf("a profile has at most %d; split it", maxRequests), "there are %d", len(p.Requests))
	}
	last := int64(0)
	for i, r := range p.Requests {
		if err := r.validate(fmt.Sprintf("requests[%d]", i), last); err != nil {
			return err
		}
		last = r.Timestamp
	}
	return nil
}

// maxTimestamp is a year in milliseconds.
const maxTimestamp = 366 * 24 * 3600 * 1000

func (r Request) validate(at string, last int64) error {
	named := slices.Contains([]string{verbApply, verbPatch, verbDelete, verbGet}, r.Verb)
	bodied := slices.Contains([]string{verbCreate, verbApply, verbPatch}, r.Verb)
	switch {
	case r.Timestamp < 0 || r.Timestamp > maxTimestamp:
		return strictyaml.Bad(at+".timestamp", "use milliseconds since the start", "%d is out of range", r.Timestamp)
	case r.Timestamp < last:
		return strictyaml.Bad(at+".timestamp", "sort the requests by time", "%d comes after %d", r.Timestamp, last)
	case !slices.Contains(verbs, r.Verb):
		return strictyaml.Bad(at+".verb", "use one of "+strings.Join(verbs, ", "), "%q is not known", r.Verb)
	case r.ResourceKind == "":
		return strictyaml.Bad(at+".resourceKind", "name the kind, such as Pod", "it is missing")
	case r.APIPath == "":
		return strictyaml.Bad(at+".apiPath", "write the path of the request, such as /api/v1/namespaces/a/pods", "it is missing")
	case named && r.Name == "":
		return strictyaml.Bad(at+".name", "name the object", "%s needs one", r.Verb)
	case bodied && strings.TrimSpace(r.Body) == "":
		return strictyaml.Bad(at+".body", "write the object or the patch", "%s needs one", r.Verb)
	}
	return nil
}

// understand reads the paths and the bodies of the requests.
func (p *Profile) understand() error {
	for i, r := range p.Requests {
		at := fmt.Sprintf("requests[%d]", i)
		t, err := r.target(at)
		if err != nil {
			return err
		}
		var body map[string]any
		if r.writes() {
			if body, err = r.content(at, &t); err != nil {
				return err
			}
			if err := p.written(at, t); err != nil {
				return err
			}
		}
		p.targets, p.bodies = append(p.targets, t), append(p.bodies, body)
	}
	if len(p.resources) == 0 {
		return strictyaml.Bad("requests", "take a profile with writes", "none of them changes anything")
	}
	return nil
}

// content decodes the body, JSON or YAML, and sees that the object has a name.
func (r Request) content(at string, t *target) (map[string]any, error) {
	if r.Verb == verbDelete || r.Verb == verbDeleteCollection {
		if _, err := labels.Parse(r.LabelSelector); err != nil {
			return nil, strictyaml.Bad(at+".labelSelector", "write it like app=web", "%v", err)
		}
		return nil, nil
	}
	var body map[string]any
	if err := yaml.UnmarshalStrict([]byte(r.Body), &body); err != nil || body == nil {
		return nil, strictyaml.Bad(at+".body", "write one object, in JSON or YAML", "it is no object")
	}
	if t.name == "" && t.subresource == "" {
		meta, _ := body["metadata"].(map[string]any)
		t.name, _ = meta["name"].(string)
		if t.generate, _ = meta["generateName"].(string); t.name == "" && t.generate == "" {
			return nil, strictyaml.Bad(at+".body", "give it metadata.name or generateName", "the object has no name")
		}
	}
	return body, nil
}

// written notes a resource of which there are writes. A subresource may have a kind of
// its own (Scale, Binding), which says nothing of the object.
func (p *Profile) written(at string, t target) error {
	if t.subresource != "" && t.subresource != "status" {
		return nil
	}
	r := t.resource
	k := slices.IndexFunc(p.resources, func(x trace.Resource) bool { return same(x, r) })
	switch {
	case k < 0:
		p.resources = append(p.resources, r)
	case p.resources[k].Kind != r.Kind:
		return strictyaml.Bad(at+".resourceKind", "make them agree", "%s of %s, which was %s before", r.Kind, r.Name, p.resources[k].Kind)
	case r.Namespaced:
		p.resources[k].Namespaced = true
	}
	return nil
}

// same reports whether two paths lead to the same objects: every version of a group
// shows them, and the one that a profile names first is written.
func same(a, b trace.Resource) bool { return a.Group == b.Group && a.Name == b.Name }

func (r Request) writes() bool {
	return r.Verb != verbGet && r.Verb != verbList && r.Verb != verbWatch
}
