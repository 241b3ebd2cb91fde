package party

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
)

// RunLabel marks what belongs to a run; ShardLabel says for which of several watchers a pod is.
const (
	RunLabel   = "watchbench.dev/run"
	ShardLabel = "watchbench.dev/shard"
)

// pageSize is the apiserver's page of a list: some MiB at usual object sizes.
const pageSize = 500

// APIServer reads the cluster's side of the truth with plain HTTP and JSON; it shares no code with the watcher.
type APIServer struct {
	Base string // URL
	REST *rest.Config
	http *http.Client
}

// NewAPIServer reads a kubeconfig; nothing is asked yet.
func NewAPIServer(kubeconfig string) (*APIServer, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load the cluster's kubeconfig: %w", err)
	}
	cfg.QPS, cfg.UserAgent = -1, apisim.Observer
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("build a client from the cluster's kubeconfig: %w", err)
	}
	base := cfg.Host
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	return &APIServer{Base: strings.TrimSuffix(base, "/"), REST: cfg, http: hc}, nil
}

// Close drops the connections that are kept.
func (a *APIServer) Close() { a.http.CloseIdleConnections() }

// Seen counts the requests to list (each page) and to watch that others sent to a simulated API server.
func (a *APIServer) Seen(ctx context.Context) (lists, watches int64, err error) {
	var s apisim.Stats
	data, err := a.Send(ctx, http.MethodGet, apisim.PathStats, nil)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read how many requests the simulated API server had: %w", err)
	}
	return int64(s.Lists + s.Pages), int64(s.Watches + s.Streams), nil
}

// list is one page of a list.
type list struct {
	Metadata struct {
		Continue string `json:"continue"`
	}
	Items []json.RawMessage
}

// Each lists a collection and passes on every item as the apiserver sent it.
func (a *APIServer) Each(ctx context.Context, path, selector string, item func(json.RawMessage) error) error {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	next := ""
	for {
		q := url.Values{"limit": {strconv.Itoa(pageSize)}}
		if selector != "" {
			q.Set("labelSelector", selector)
		}
		if next != "" {
			q.Set("continue", next)
		}
		page, err := a.page(ctx, path+"?"+q.Encode())
		if err != nil {
			return fmt.Errorf("list %s: %w", path, err)
		}
		for _, raw := range page.Items {
			if err := item(raw); err != nil {
				return err
			}
		}
		if next = page.Metadata.Continue; next == "" {
			return nil
		}
	}
}

func (a *APIServer) page(ctx context.Context, pathAndQuery string) (l list, err error) {
	data, err := a.Send(ctx, http.MethodGet, pathAndQuery, nil)
	if err == nil {
		err = l.read(data)
	}
	return l, err
}

// read takes a list apart; the items are parts of data.
func (l *list) read(data []byte) error {
	s := jsonscan.New(data)
	err := s.Object(func(name jsonscan.Str) error {
		if first, err := s.Peek(); err != nil || first != '[' || !name.Is(data, "items") {
			v, err := s.Value()
			if err == nil && name.Is(data, "metadata") {
				err = json.Unmarshal(v.Of(data), &l.Metadata)
			}
			return err
		}
		more, err := s.EnterArray()
		for more && err == nil {
			var item jsonscan.Range
			if item, err = s.Value(); err == nil {
				l.Items = append(l.Items, item.Of(data))
				more, err = s.NextElement()
			}
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

type named struct {
	Metadata struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
}

// Namespaces lists the names of namespaces, all or those a selector picks.
func (a *APIServer) Namespaces(ctx context.Context, selector string) ([]string, error) {
	var names []string
	err := a.Each(ctx, "/api/v1/namespaces", selector, func(raw json.RawMessage) error {
		var n named
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("read a namespace: %w", err)
		}
		names = append(names, n.Metadata.Name)
		return nil
	})
	sort.Strings(names)
	return names, err
}

// NodeLeases is the namespace of the nodes' Leases, which every cluster has.
const NodeLeases = "kube-node-lease"

// WatchesNodeLeases reports whether the Leases of nodes are among the kinds.
func WatchesNodeLeases(watched []string) bool { return slices.Contains(watched, kindLease) }

// State reads the kinds in the namespaces, in all if one is empty, as the watcher does.
func (a *APIServer) State(ctx context.Context, watched, namespaces []string, rules check.Rules) ([]history.StateRecord,
	error) {
	var out []history.StateRecord
	for _, kind := range watched {
		version := groupVersion(kind)
		take := func(raw json.RawMessage) error {
			rec, err := DigestItem(raw, version, kind, rules)
			out = append(out, rec)
			return err
		}
		in := namespaces
		if !kinds[kind].Namespaced {
			in = []string{""}
		}
		for _, ns := range in {
			if err := a.Each(ctx, collection(kind, ns), "", take); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// collection is the path of a built-in kind's objects, in a namespace if it is not empty.
func collection(kind, namespace string) string {
	path := "/apis/" + groupVersion(kind)
	if kinds[kind].Group == "" {
		path = "/api/v1"
	}
	if namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	return path + "/" + kinds[kind].Name
}

// Object reads one object of a built-in kind, nil for another kind.
func (a *APIServer) Object(ctx context.Context, k history.Key) ([]byte, error) {
	if kinds[k.Kind].Name == "" {
		return nil, nil
	}
	return a.Send(ctx, http.MethodGet, collection(k.Kind, k.Namespace)+"/"+url.PathEscape(k.Name), nil)
}

// DigestItem is one item of a list in the apiserver's form.
func DigestItem(raw json.RawMessage, version, kind string, rules check.Rules) (history.StateRecord, error) {
	rec, err := check.Digest(check.Raw{Side: history.SideApiserver, APIVersion: version, Kind: kind, JSON: raw}, rules)
	if err != nil {
		return rec, fmt.Errorf("digest %s/%s/%s of the apiserver: %w", kind, rec.Namespace, rec.Name, err)
	}
	return rec, nil
}

// PodBody is a pod that no scheduler takes.
func PodBody(name, run string, size int) map[string]any {
	container := map[string]any{"name": "app", "image": "registry.example/app:1", "imagePullPolicy": "IfNotPresent"}
	const frame = 900 // bytes of a pod without padding, about
	if size > frame {
		container["env"] = []any{map[string]any{"name": "PADDING", "value": strings.Repeat("x", size-frame)}}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "labels": map[string]string{RunLabel: run}},
		"spec": map[string]any{
			"schedulerName": "watchbench.dev-runner", "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
			"enableServiceLinks": false, "containers": []any{container},
		},
	}
}

// CreatePod creates a pod of PodBody and returns its uid.
func (a *APIServer) CreatePod(ctx context.Context, ns, name, run string, size int) (uid string, err error) {
	data, err := a.Send(ctx, http.MethodPost, "/api/v1/namespaces/"+ns+"/pods", PodBody(name, run, size))
	if err != nil {
		return "", err
	}
	var o struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return "", fmt.Errorf("read the pod %s/%s: %w", ns, name, err)
	}
	return o.Metadata.UID, nil
}

// DeletePod deletes a pod at once.
func (a *APIServer) DeletePod(ctx context.Context, ns, name string) error {
	_, err := a.Send(ctx, http.MethodDelete, "/api/v1/namespaces/"+ns+"/pods/"+name+"?gracePeriodSeconds=0", nil)
	return err
}

// Send sends one request, with body as JSON.
func (a *APIServer) Send(ctx context.Context, method, path string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	header := []string{"Accept", "application/json"}
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		form := "application/json"
		if method == http.MethodPatch {
			form = "application/merge-patch+json"
		}
		in, header = bytes.NewReader(data), append(header, "Content-Type", form)
	}
	return answer(ask(ctx, a.http, method, a.Base+path, in, header...))
}

// NotFound reports whether the apiserver answered 404.
func NotFound(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == http.StatusNotFound
}
