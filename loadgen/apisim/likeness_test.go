package apisim_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/pipetest"
	"github.com/watchbench/watchbench/loadgen/apisim"
)

// side is an apiserver, real or simulated, with the same objects.
type side struct {
	name   string
	client *http.Client
	host   string
	ns     string
	rv     uint64 // of a list after the last object was made
	first  uint64 // of the first object
	uids   []string
	token  string // of a first page of one
}

// ask fills the side's own versions and token into a query and returns what came of it in short, with its own names
// taken out.
func (s *side) ask(t *testing.T, path, accept string) string {
	t.Helper()
	path = strings.NewReplacer("{ns}", s.ns, "{rv}", fmt.Sprint(s.rv), "{first}", fmt.Sprint(s.first), "{future}", fmt.Sprint(s.rv+1_000_000), "{token}", s.token).Replace(path)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.host+path, nil)
	if err != nil {
		return err.Error()
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	out := []string{fmt.Sprint(resp.StatusCode)}
	if resp.StatusCode == http.StatusOK && strings.Contains(path, "watch=") {
		return strings.Join(append(out, s.frames(resp.Body)...), " ")
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	var v struct {
		Kind, APIVersion, Reason string
		Metadata                 struct {
			Name, Continue     string
			RemainingItemCount int
			ShardInfo          *metav1.ShardInfo
		}
		Details struct {
			RetryAfterSeconds int
			Causes            []struct{ Reason string }
		}
		Items             []item
		ColumnDefinitions []struct{ Name string }
		Rows              []struct{ Cells []any }
	}
	if json.Unmarshal(body, &v) != nil {
		return strings.Join(append(out, strings.TrimSpace(string(body))), " ")
	}
	out = append(out, v.Kind, v.APIVersion, v.Reason, v.Metadata.Name, fmt.Sprint(v.Metadata.Continue != "", v.Metadata.RemainingItemCount, v.Details))
	if v.Metadata.ShardInfo != nil {
		out = append(out, v.Metadata.ShardInfo.Selector)
	}
	for _, i := range v.Items {
		out = append(out, i.Kind, i.APIVersion, i.Metadata.Name)
	}
	for _, r := range v.Rows { // the last cell is an age
		out = append(out, fmt.Sprint(r.Cells[:len(r.Cells)-1]))
	}
	return strings.Join(append(out, fmt.Sprint(v.ColumnDefinitions)), " ")
}

// frames reads a watch to its end.
func (s *side) frames(body io.Reader) []string {
	var out []string
	in := bufio.NewReader(body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			slices.Sort(out) // initial events have no order
			return out
		}
		var f struct {
			Type   string
			Object struct {
				item
				Code   int
				Reason string
			}
		}
		if json.Unmarshal([]byte(line), &f) != nil {
			return append(out, line)
		}
		o := f.Object
		end := o.Metadata.Annotations["k8s.io/initial-events-end"]
		if f.Type == "BOOKMARK" && end == "" {
			continue // their times differ
		}
		out = append(out, fmt.Sprintf("%s/%s/%s/%s/%d/%s/%s", f.Type, o.Kind, o.APIVersion, o.Metadata.Name, o.Code, o.Reason, end))
	}
}

// TestAnswersLikeAnApiserver asks a real apiserver and a simulated one the same questions.
func TestAnswersLikeAnApiserver(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	actual := realSide(t, env.Config, ns)
	sim := simSide(t, ns, actual.uids, apisim.Config{})
	const maps, all = "/api/v1/namespaces/{ns}/configmaps", "/api/v1/configmaps"
	const stream = "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	questions := []question{
		{maps, ""}, {maps + "?limit=2", ""}, {maps + "?limit=2&continue={token}", ""}, {maps + "?resourceVersion=0&limit=2", ""},
		{maps + "?labelSelector=app%3Dweb", ""}, {maps + "?labelSelector=app%3Dweb&limit=1", ""}, {maps + "?labelSelector=app%3Ddb&limit=1", ""}, {maps + "?fieldSelector=metadata.name%3Dc", ""},
		{maps + "?resourceVersion={first}&resourceVersionMatch=Exact", ""}, {maps + "?resourceVersion={first}&limit=10", ""},
		{maps + "?resourceVersion={first}", ""}, {maps + "?resourceVersion={first}&resourceVersionMatch=NotOlderThan&limit=1", ""},
		{maps + "?resourceVersion={future}", ""}, {maps + "?resourceVersion={future}&resourceVersionMatch=Exact", ""},
		{maps + "/b", ""}, {maps + "/none", ""}, {"/api/v1/namespaces/{ns}/nothing", ""}, {"/api/v1/nothing", ""}, {"/apis/apps/v1/nothing", ""}, {"/api/v2/configmaps", ""}, {"/apis/apps/v9/deployments", ""}, {"/api/v1/namespaces/{ns}/nodes", ""}, {maps + "/b/nothing", ""}, {"/apis/none/v1/things", ""}, {"/apis/none", ""}, {"/none", ""},
		{maps + "?limit=x", ""}, {maps + "?resourceVersion=x", ""}, {maps + "?labelSelector=%21%21", ""}, {maps + "?fieldSelector=a", ""},
		{maps + "?fieldSelector=spec.x%3D1", ""}, {maps + "?continue=x", ""}, {maps + "?continue={token}&resourceVersion={rv}", ""},
		{maps + "?resourceVersionMatch=Exact", ""}, {maps + "?resourceVersionMatch=Exact&resourceVersion=0", ""},
		{maps + "?resourceVersionMatch=Newest&resourceVersion=5", ""}, {maps + "?sendInitialEvents=true", ""},
		{maps + "?continue={token}&resourceVersionMatch=Exact&resourceVersion=5", ""},
		{maps + "?watch=1&sendInitialEvents=true", ""}, {maps + "?watch=1&resourceVersionMatch=NotOlderThan", ""},
		{maps + "?watch=1&resourceVersionMatch=Exact&sendInitialEvents=true", ""}, {maps + "?watch=1&timeoutSeconds=x", ""},
		{maps + "?watch=1&resourceVersion=x", ""}, {maps, "application/xml"}, {maps, "application/xml,application/json"},
		{maps, "application/json;as=Nothing;v=v1;g=meta.k8s.io,application/json"},
		{maps + "?watch=1&timeoutSeconds=1&resourceVersion={first}", ""}, {maps + "?watch=true&timeoutSeconds=1&resourceVersion={rv}", ""},
		{maps + "?watch=1&timeoutSeconds=1&resourceVersion={future}", ""},
		{maps + "?watch=1&timeoutSeconds=1", ""}, {maps + "?watch=1&timeoutSeconds=1&resourceVersion=0", ""},
		{maps + "?watch=1&timeoutSeconds=1&allowWatchBookmarks=1", ""}, {maps + "?" + stream, ""}, {maps + "?" + stream + "&allowWatchBookmarks=true", ""},
		{maps + "?" + stream + "&allowWatchBookmarks=true&labelSelector=app%3Dweb&resourceVersion={first}", ""},
		{maps + "?" + strings.Replace(stream, "Events=true", "Events=false", 1) + "&allowWatchBookmarks=true", ""},
		{maps + "?" + stream + "&resourceVersion={future}", ""}, {maps + "/b?watch=1&timeoutSeconds=1", ""},
		{all + "?fieldSelector=metadata.namespace%3D{ns}", ""},
		{maps, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}, {maps + "/b", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
		{"/api/v1/namespaces/{ns}/pods?fieldSelector=spec.nodeName%3Dn,status.phase!%3DRunning", ""}, {"/api/v1/namespaces/{ns}/pods?fieldSelector=spec.none%3Dn", ""},
		{"/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue", ""},
	}
	compare(t, actual, sim, questions)
}

type question struct{ path, accept string }

// compare asks both sides. The real one's answers are returned.
func compare(t *testing.T, actual, sim *side, questions []question) []string {
	t.Helper()
	answers, simulated := make([]string, len(questions)), make([]string, len(questions))
	var asked sync.WaitGroup
	for i, q := range questions { // all at once: most of the time is waiting
		asked.Go(func() { answers[i] = actual.ask(t, q.path, q.accept) })
		asked.Go(func() { simulated[i] = sim.ask(t, q.path, q.accept) })
	}
	asked.Wait()
	for i, q := range questions {
		if d := cmp.Diff(answers[i], simulated[i]); d != "" {
			t.Errorf("%s %s (-real +simulated):\n%s", q.path, q.accept, d)
		}
	}
	return answers
}

var contents = []struct{ name, app string }{{"a", "web"}, {"b", "db"}, {"c", "web"}, {"d", "web"}}

func realSide(t *testing.T, cfg *rest.Config, ns string) *side {
	t.Helper()
	cs, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &side{name: "real", ns: ns, host: strings.TrimSuffix(cfg.Host, "/")}
	for _, c := range contents {
		o, err := cs.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: map[string]string{"app": c.app}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.uids = append(s.uids, string(o.UID))
		if s.first == 0 {
			if _, err := fmt.Sscan(o.ResourceVersion, &s.first); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s.client, err = rest.HTTPClientFor(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.CloseIdleConnections)
	return s.ready(t)
}

func simSide(t *testing.T, ns string, uids []string, c apisim.Config) *side {
	t.Helper()
	c.Resources = []apisim.Resource{apisim.ConfigMaps, apisim.Deployments, apisim.Nodes, apisim.Pods}
	srv := newServer(t, c)
	s := &side{name: "simulated", ns: ns, host: "http://apisim", client: &http.Client{Transport: pipetest.Direct(srv)}}
	for i, c := range contents {
		o, err := srv.Apply("configmaps", fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q,"uid":%q,"labels":{"app":%q}}}`, ns, c.name, uids[i], c.app))
		if err != nil {
			t.Fatal(err)
		}
		if s.first == 0 {
			s.first = o.ResourceVersion
		}
	}
	return s.ready(t)
}

// ready reads the version and a token.
func (s *side) ready(t *testing.T) *side {
	t.Helper()
	resp, err := s.client.Get(s.host + "/api/v1/namespaces/" + s.ns + "/configmaps?limit=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var l list
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(l.Metadata.ResourceVersion, &s.rv); err != nil {
		t.Fatal(err)
	}
	s.token = l.Metadata.Continue
	return s
}
