package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

const (
	// pageObjects bounds the memory for a list: with 15 KiB each a page is 4 MiB.
	pageObjects = 250
	// A watch is asked to end after this many seconds, and up to as many more: as reflectors do, so that apiservers can
	// share the load anew.
	watchSeconds = 300
)

// newClient returns a client for paths, which asks for JSON and has no rate limit.
func newClient(cfg *rest.Config) (rest.Interface, error) {
	own := rest.CopyConfig(cfg)
	own.UserAgent = "watchbench-record"
	own.QPS = -1
	own.AcceptContentTypes, own.ContentType = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	own.GroupVersion = &schema.GroupVersion{}
	own.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // for Status objects only
	client, err := rest.UnversionedRESTClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return client, nil
}

// metadataForm asks for the metadata of an object alone; a list of such is a form of its own.
const metadataForm = "application/json;v=v1;g=meta.k8s.io;as=PartialObjectMetadata"

// path is where a resource is listed and watched, over all namespaces.
func path(r Resource) string {
	if r.Group == "" {
		return "/api/" + r.Version + "/" + r.Name
	}
	return "/apis/" + r.Group + "/" + r.Version + "/" + r.Name
}

// page is one page of a list.
type page struct {
	items     [][]byte // as in the list: without apiVersion and kind, mostly
	version   string
	continued string
}

func list(ctx context.Context, client rest.Interface, r Resource, metadata bool, token string) (page, error) {
	req := client.Get().AbsPath(path(r)).Param("limit", strconv.Itoa(pageObjects))
	if metadata {
		req = req.SetHeader("Accept", metadataForm+"List")
	}
	if token != "" {
		req = req.Param("continue", token)
	}
	body, err := req.Do(ctx).Raw()
	if err != nil {
		return page{}, err
	}
	p, err := parsePage(body)
	if err != nil {
		return page{}, fmt.Errorf("answer to the list: %w", err)
	}
	return p, nil
}

func parsePage(body []byte) (p page, err error) {
	if err := jsonscan.ValidWithin(body, jsonscan.MaxDepth); err != nil {
		return p, err
	}
	p.version = jsonscan.Unquote(jsonscan.Lookup(body, "metadata", "resourceVersion"))
	p.continued = jsonscan.Unquote(jsonscan.Lookup(body, "metadata", "continue"))
	if p.version == "" {
		return p, errors.New("no metadata.resourceVersion")
	}
	for item := range jsonscan.Elements(jsonscan.Lookup(body, "items")) {
		p.items = append(p.items, item)
	}
	return p, nil
}

// event is one event of a watch.
type event struct {
	Type   Type            `json:"type"`
	Object json.RawMessage `json:"object"`
}

// events calls take with each event after the last version until the watch ends. An event of type ERROR is returned as
// its Status.
func (s *stream) events(ctx context.Context, take func(event) error) error {
	seconds := watchSeconds + rand.IntN(watchSeconds)
	req := s.client.Get().AbsPath(path(s.resource)).Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersion", s.version).Param("timeoutSeconds", strconv.Itoa(seconds))
	if s.metadata {
		req = req.SetHeader("Accept", metadataForm)
	}
	body, err := req.Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	s.counts.down.Store(false)
	dec := json.NewDecoder(body)
	for {
		var e event
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the watch: %w", err)
		}
		if e.Type == "ERROR" {
			var status metav1.Status
			if err := json.Unmarshal(e.Object, &status); err != nil || status.Code == 0 {
				return errors.New("the watch sent an ERROR without a Status")
			}
			return apierrors.FromObject(&status)
		}
		if err := take(e); err != nil {
			return err
		}
	}
}

// expired reports whether a version is too old to go on from.
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// refused reports whether trying again cannot help.
func refused(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) ||
		apierrors.IsMethodNotSupported(err)
}
