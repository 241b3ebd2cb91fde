package query_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/view"
)

// refusal is a request that most likely no apiserver carries out.
type refusal struct {
	request string // a path; NS is a namespace
	accept  string
	ours    string // the answer where it is not the apiserver's
}

var refusals = []refusal{
	// Paths.
	{request: "/api/v1/namespaces/NS/pods/none"},
	{request: "/api/v1/namespaces/none/pods/none"},
	{request: "/api/v1/namespaces/NS/configmaps/none"},
	{request: "/api/v1/nodes/none"},
	{request: "/apis/apps/v1/namespaces/NS/deployments/none"},
	{request: "/api/v1/nothings"},
	{request: "/api/v1/namespaces/NS/nothings/x"},
	{request: "/api/v2/pods"},
	{request: "/apis/none.example/v1/things", ours: `404 NotFound: the server could not find the requested resource`},
	{request: "/apis/apps/v9/deployments"},
	{request: "/api/v1/namespaces/NS/nodes"},
	{request: "/nothing", ours: `404 NotFound: the server could not find the requested resource`},
	{request: "/api/v1/pods/"},
	// Options.
	{request: "/api/v1/pods?labelSelector=!!"},
	{request: "/api/v1/pods?labelSelector=a%3D%3D%3Db"},
	{request: "/api/v1/pods?labelSelector=a+in+b"},
	{request: "/api/v1/pods?labelSelector=a%3Db%20c"},
	{request: "/api/v1/pods?labelSelector=-a%3Db"},
	{request: "/api/v1/pods?labelSelector=a%3D" + strings.Repeat("b", 64)},
	{request: "/api/v1/pods?fieldSelector=a"},
	{request: "/api/v1/pods?fieldSelector=a%3Db", ours: `400 BadRequest: field label not supported: a; supported are metadata.name, metadata.namespace, spec.hostNetwork, spec.nodeName, spec.restartPolicy, spec.schedulerName, spec.serviceAccountName, status.nominatedNodeName, status.phase, status.podIP`},
	{request: "/api/v1/pods?fieldSelector=spec.nodename%3Da", ours: `400 BadRequest: field label not supported: spec.nodename; supported are metadata.name, metadata.namespace, spec.hostNetwork, spec.nodeName, spec.restartPolicy, spec.schedulerName, spec.serviceAccountName, status.nominatedNodeName, status.phase, status.podIP`},
	{request: "/api/v1/configmaps?fieldSelector=data.a%3Db", ours: `400 BadRequest: field label not supported: data.a; supported are metadata.name, metadata.namespace`},
	{request: "/api/v1/pods?limit=x"},
	{request: "/api/v1/pods?limit=-1"},
	{request: "/api/v1/pods?limit=1.5"},
	{request: "/api/v1/pods?timeoutSeconds=x&watch=true"},
	{request: "/api/v1/pods?watch=maybe&limit=1"},
	{request: "/api/v1/pods?allowWatchBookmarks=maybe&limit=1"},
	{request: "/api/v1/pods?resourceVersion=x", ours: `400 BadRequest: resourceVersion: Invalid value: "x": want a whole number`},
	{request: "/api/v1/pods?resourceVersion=-1", ours: `400 BadRequest: resourceVersion: Invalid value: "-1": want a whole number`},
	{request: "/api/v1/pods?resourceVersion=1x&watch=true", ours: `400 BadRequest: resourceVersion: Invalid value: "1x": want a whole number`},
	{request: "/api/v1/pods?resourceVersionMatch=Exact"},
	{request: "/api/v1/pods?resourceVersionMatch=x&resourceVersion=1"},
	{request: "/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=0"},
	{request: "/api/v1/pods?resourceVersionMatch=NotOlderThan&resourceVersion=1&watch=true"},
	{request: "/api/v1/pods?sendInitialEvents=true"},
	{request: "/api/v1/pods?sendInitialEvents=true&watch=true"},
	{request: "/api/v1/pods?sendInitialEvents=true&watch=true&resourceVersionMatch=Exact&resourceVersion=1"},
	{request: "/api/v1/pods?continue=x", ours: `400 BadRequest: invalid continue token: it is not encoded as a token`},
	{request: "/api/v1/pods?continue=e30", ours: `400 BadRequest: invalid continue token: version 0`},
	{request: "/api/v1/pods?continue=e30&resourceVersionMatch=Exact&resourceVersion=1"},
	{request: "/api/v1/namespaces/NS/configmaps/none?resourceVersion=x", ours: `400 BadRequest: resourceVersion: Invalid value: "x": want a whole number`},
	// Odd.
	{request: "/api/v1/pods?sendInitialEvents=maybe&limit=1"},
	{request: "/api/v1/pods?labelSelector=a+in+()"},
	{request: "/api/v1/pods?labelSelector=a+in+(b"},
	{request: "/api/v1/pods?labelSelector=,"},
	{request: "/api/v1/pods?labelSelector=a%3Db,"},
	{request: "/api/v1/pods?labelSelector=a+gt+b"},
	{request: "/api/v1/pods?labelSelector=a%3Eb"},
	{request: "/api/v1/pods?labelSelector=!a%3Db"},
	{request: "/api/v1/pods?labelSelector=a/b/c%3Dd"},
	{request: "/api/v1/pods?fieldSelector=,"},
	{request: "/api/v1/pods?fieldSelector=metadata.name"},
	{request: "/api/v1/pods?fieldSelector=metadata.name%3Da%5C"},
	{request: "/api/v1/pods?fieldSelector=metadata.name%3Da%5Cx"},
	{request: "/api/v1/pods?fieldSelector=metadata.name%3D%3D%3Da"},
	{request: "/api/v1/pods?resourceVersionMatch=NotOlderThan"},
	{request: "/api/v1/pods?resourceVersionMatch=NotOlderThan&resourceVersion=1&continue=e30"},
	{request: "/api/v1/pods?resourceVersion=1&continue=e30", ours: `400 BadRequest: specifying resource version is not allowed when using continue`},
	{request: "/api/v1/pods?watch=true&continue=e30&timeoutSeconds=1"},
	{request: "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=e30"},
	{request: "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"},
	{request: "/api/v1/pods?watch=true&sendInitialEvents=false&timeoutSeconds=1"},
	{request: "/api/v1/namespaces//pods", ours: `404 NotFound: the server could not find the requested resource`},
	{request: "/api//v1/pods"},
	{request: "/api/v1/namespaces/NS/pods/a%2Fb"},
	{request: "/api/v1/namespaces/NS/pods/a/nothing"},
	{request: "/api/v1/namespaces/NS/pods/none/status", ours: `404 NotFound: the server could not find the requested resource`},
	{request: "/api/v1/namespaces/NS/pods/none/log", ours: `404 NotFound: the server could not find the requested resource`},
	{request: "/api/v1/namespaces/none"},
	{request: "/api/v1/watch/nothings"},
	{request: "/apis/apps/v1/nothings/x"},
	{request: "/apis/apps/v1/namespaces/NS/nothings"},
	{request: "/api/v1/pods?limit=99999999999999999999"},
	{request: "/api/v1/pods?timeoutSeconds=-1&watch=true&resourceVersion=x", ours: `400 BadRequest: resourceVersion: Invalid value: "x": want a whole number`},
	{request: "/api/v1/pods?limit=1&limit=x"},
	{request: "/api/v1/pods?resourceVersion=99999999999999999999", ours: `400 BadRequest: resourceVersion: Invalid value: "99999999999999999999": want a whole number`},
	{request: "/api/v1/pods?resourceVersionMatch=exact&resourceVersion=1"},
	{request: "/apis/"},
	{request: "/api/v1/"},
	{request: "/api/"},
	{request: "/api/v1/pods?shardSelector=x", ours: `400 BadRequest: shardSelector is not supported`},
	{request: "/version/x"},
	{request: "/api/v1/namespaces/NS/pods?labelSelector=a%00b"},
	// Forms.
	{request: "/api/v1/pods?limit=1", accept: "application/yaml2", ours: `406 NotAcceptable: only the following media types are accepted: application/json`},
	{request: "/api/v1/pods?limit=1", accept: "text/html", ours: `406 NotAcceptable: only the following media types are accepted: application/json`},
	{request: "/api/v1/pods?limit=1", accept: "application/json;as=Table;g=meta.k8s.io;v=v2", ours: `406 NotAcceptable: only the following media types are accepted: application/json`},
	{request: "/api/v1/pods?limit=1", accept: "application/json;as=Nothing;g=meta.k8s.io;v=v1", ours: `406 NotAcceptable: only the following media types are accepted: application/json`},
	{request: "/api/v1/pods?includeObject=All", accept: "application/json;as=Table;g=meta.k8s.io;v=v1", ours: `400 BadRequest: includeObject: Invalid value: "All": want None, Metadata or Object`},
}

// TestRefusesAsAnApiserver: the answer is the one that the apiserver gives to the same request,
// or says more. Its own to versions that are no number are 500 for a watch and a GET.
func TestRefusesAsAnApiserver(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	served, _ := live(t, env.Config, view.Config{})
	for _, r := range refusals {
		theirs, ours := refuse(t, env.Config, ns, r), refuse(t, served, ns, r)
		if ours != cmp.Or(r.ours, theirs) || theirs == r.ours {
			t.Errorf("%s %s\n an apiserver: %s\n          ours: %s", r.accept, r.request, theirs, ours)
		}
	}
}

func refuse(t *testing.T, c *rest.Config, ns string, r refusal) string {
	t.Helper()
	client := must(rest.HTTPClientFor(c))
	client.Timeout = 10 * time.Second
	u := must(url.Parse(strings.TrimSuffix(c.Host, "/") + strings.ReplaceAll(r.request, "NS", ns)))
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil))
	req.Header.Set("Accept", cmp.Or(r.accept, "application/json"))
	resp := must(client.Do(req))
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK { // perhaps a watch
		return resp.Status
	}
	body := must(io.ReadAll(io.LimitReader(resp.Body, 1<<20)))
	var s metav1.Status
	if err := json.Unmarshal(body, &s); err != nil || s.Kind != "Status" || int(s.Code) != resp.StatusCode {
		return fmt.Sprintf("%d %.300s", resp.StatusCode, body)
	}
	text := fmt.Sprintf("%d %s: %s", s.Code, s.Reason, s.Message)
	if d := s.Details; d != nil && d.Kind != "" {
		text += fmt.Sprintf(" (%s %s %s)", d.Group, d.Kind, d.Name)
	}
	return text
}
