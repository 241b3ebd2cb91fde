package robustness

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// abuseQueries asks the resource watcher, which demands TLS and tokens, for what nobody may have, and then takes all
// its connections and holds them.
const abuseQueries = "abuse-queries"

const (
	// apiConnections and apiWatches are what the resource watcher allows.
	apiConnections = 256
	apiWatches     = 2
	// probeWorkers ask at the same time, each probeEvery.
	probeWorkers = 4
	probeEvery   = 20 * time.Millisecond
	// answerLimit bounds what is read of one answer.
	answerLimit = 4 << 20
	// deepJSON levels fit into a body that is taken.
	deepJSON = 30_000
	hugeBody = 10 << 20
	// goodAgain bounds the wait for an answer once the slow clients are gone.
	goodAgain = 30 * time.Second
)

// resourcesCA is the file of the CA of the resource watcher's certificate.
const resourcesCA = "resources-ca.pem"

// The accounts whose tokens are used.
const (
	readerAccount   = "reader"   // may read Pods, ConfigMaps and Secrets of its namespace
	strangerAccount = "stranger" // may nothing
)

// abuse is one cell's.
type abuse struct {
	roots    *x509.CertPool
	reader   string // tokens
	stranger string
	answers  *answers
}

func queryAbuse() faults.Family {
	a := &abuse{}
	return faults.Family{Arrange: a.arrange, Prepare: a.prepare, Rules: a.rules, Failpoints: []faults.Failpoint{
		{Name: abuseQueries, Takes: []string{"for", "count"}, Available: secrets, Inject: a.inject},
	}}
}

// abused is what came of it.
type abused struct {
	Probes []probed `json:"probes"`
	Slow   slowSeen `json:"slow"`
	// Again is how long after the end of the slow clients, in seconds, an honest one was answered; -1: it never was.
	Again float64 `json:"again"`
}

// arrange has the watcher serve as it must beyond loopback.
func (a *abuse) arrange(c faults.Cell) error {
	if !asks(c.Scenario(), abuseQueries) {
		return nil
	}
	ca, err := certs.NewAuthority("watchbench resource watcher", certLife)
	if err != nil {
		return err
	}
	cert, err := ca.Issue(certs.Server{Name: "k8s-watch", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		return err
	}
	certFile, keyFile := filepath.Join(c.Dir(), "resources.pem"), filepath.Join(c.Dir(), "resources-key.pem")
	if err := errors.Join(certs.WriteFiles(cert, certFile, keyFile), certs.WriteFile(filepath.Join(c.Dir(), resourcesCA), ca.PEM())); err != nil {
		return err
	}
	a.roots = x509.NewCertPool()
	a.roots.AppendCertsFromPEM(ca.PEM())
	c.Setup().Serving = &party.Serving{
		Server: map[string]any{"certFile": certFile, "keyFile": keyFile, "authentication": "tokenReview", "maxConnections": apiConnections},
		Query:  map[string]any{"maxWatches": apiWatches},
	}
	return nil
}

// prepare makes the accounts and their tokens.
func (a *abuse) prepare(ctx context.Context, c faults.Cell) error {
	if a.roots == nil {
		return nil
	}
	ns, api := faults.Namespace(c, 0), c.API()
	rbac := "/apis/" + rbacVersion + "/namespaces/" + ns
	err := permit(ctx, api, c.Run(), ns, rbac+"/roles", rbac+"/rolebindings", readerAccount, []any{
		map[string]any{"apiGroups": []string{""}, "resources": []string{"pods", "configmaps", "secrets"}, "verbs": []string{"get", "list", "watch"}},
	}, readerAccount, strangerAccount)
	if err != nil {
		return err
	}
	if a.reader, err = tokenOf(ctx, api, ns, readerAccount, nil); err == nil {
		a.stranger, err = tokenOf(ctx, api, ns, strangerAccount, nil)
	}
	if err == nil {
		c.AddCanary(secretPart(a.reader))
		c.AddCanary(secretPart(a.stranger))
	}
	return err
}

// tokenOf requests a token of an account, bound to an object if there is one.
func tokenOf(ctx context.Context, api *party.APIServer, ns, account string, bound map[string]any) (string, error) {
	spec := map[string]any{"expirationSeconds": int(tokenLife.Seconds())}
	if bound != nil {
		spec["boundObjectRef"] = bound
	}
	data, err := api.Send(ctx, http.MethodPost, "/api/v1/namespaces/"+ns+"/serviceaccounts/"+account+"/token", map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec,
	})
	if err != nil {
		return "", err
	}
	var answer struct{ Status struct{ Token string } }
	if err := json.Unmarshal(data, &answer); err != nil || secretPart(answer.Status.Token) == "" {
		return "", fmt.Errorf("the answer to a TokenRequest holds no signed token: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return answer.Status.Token, nil
}

// permit makes accounts of a run in a namespace, a role with rules, and its binding to the first of them. role and
// binding are the paths of both kinds.
func permit(ctx context.Context, api *party.APIServer, run, ns, role, binding, name string, rules []any, accounts ...string) error {
	meta := func(name string) map[string]any {
		return map[string]any{"name": name, "labels": map[string]string{party.RunLabel: run}}
	}
	kind := "Role"
	if role == rolePath {
		kind = "ClusterRole"
	}
	type object struct {
		path string
		body map[string]any
	}
	var all []object
	for _, account := range accounts {
		all = append(all, object{"/api/v1/namespaces/" + ns + "/serviceaccounts", map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(account), "automountServiceAccountToken": false}})
	}
	all = append(all, object{role, map[string]any{"apiVersion": rbacVersion, "kind": kind, "metadata": meta(name), "rules": rules}},
		object{binding, map[string]any{
			"apiVersion": rbacVersion, "kind": kind + "Binding", "metadata": meta(name),
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": accounts[0], "namespace": ns}},
		}})
	for _, o := range all {
		if _, err := api.Send(ctx, http.MethodPost, o.path, o.body); err != nil {
			return err
		}
	}
	return nil
}

// client asks by connections of its own. Without keep-alive, each request is a handshake.
func (a *abuse) client() *http.Client {
	return &http.Client{
		Timeout:   askLimit,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: probeWorkers},
	}
}

// inject probes for half of the time, and then has connections held for the other.
func (a *abuse) inject(ctx context.Context, c faults.Cell, e spec.Event) (faults.Done, error) {
	half := e.For.Std() / 2
	target := c.Watcher().Resources()
	a.answers = &answers{}
	seen := &abused{Again: -1}
	client := a.client()
	defer client.CloseIdleConnections()
	asking, cancel := context.WithTimeout(ctx, half)
	err := a.probe(asking, c, client, target)
	cancel()
	if err != nil {
		return faults.Done{}, err
	}
	seen.Probes = a.answers.sum()
	slow := slowClients{
		Address: strings.TrimPrefix(target, "https://"), CAFile: filepath.Join(c.Dir(), resourcesCA), Count: e.Number(), For: half,
	}
	if seen.Slow, err = runSlow(ctx, slow); err != nil {
		return faults.Done{}, err
	}
	client.CloseIdleConnections() // a connection is what an honest one has to get
	honest := probesOf(c, a)[0]
	for gone := time.Now(); time.Since(gone) < goodAgain; {
		if code, _, err := honest.ask(ctx, client, target); err == nil && code == http.StatusOK {
			seen.Again = time.Since(gone).Seconds()
			break
		}
		if err := lifecycle.Pause(ctx, probeEvery); err != nil {
			return faults.Done{}, err
		}
	}
	return faults.Done{Keys: int64(len(seen.Probes)), Seen: seen}, keepCaptured(c, "answers.txt", a.answers.text())
}

// probe asks all probes in turn until ctx ends, while watches take all that there may be.
func (a *abuse) probe(ctx context.Context, c faults.Cell, client *http.Client, target string) error {
	if err := a.selfTest(ctx, c); err != nil {
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	all, ctx := errgroup.WithContext(ctx)
	holder := a.client()
	holder.Timeout = 0
	defer holder.CloseIdleConnections()
	for range apiWatches {
		resp, err := (&probe{token: a.reader, path: podsIn(c, 0) + "?watch=true"}).send(watching, holder, target)
		if err != nil {
			return fmt.Errorf("hold a watch: %w", err)
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("hold a watch: the answer is %s", resp.Status)
		}
		defer resp.Body.Close()
	}
	probes := probesOf(c, a)
	for n := range probeWorkers {
		all.Go(func() error {
			for i := n; ; i++ {
				p := &probes[i%len(probes)]
				if code, body, err := p.ask(ctx, client, target); ctx.Err() == nil {
					a.answers.add(p, code, body, err)
				}
				if lifecycle.Pause(ctx, probeEvery) != nil {
					return nil
				}
			}
		})
	}
	return all.Wait()
}

// selfTest makes sure that there is something to be found: the apiserver itself, with the runner's rights, finds the
// Pod by its masked label.
func (a *abuse) selfTest(ctx context.Context, c faults.Cell) error {
	data, err := c.API().Send(ctx, http.MethodGet, podsIn(c, 0)+"?labelSelector="+faults.CanaryLabel+"%3D"+faults.CanaryWord(c, "label"), nil)
	if err != nil {
		return err
	}
	items, err := itemsIn(data)
	if err == nil {
		a.answers.there = items
	}
	return err
}

// probe is a request of which it is known how it must be answered.
type probe struct {
	name   string
	want   int    // status
	items  int    // of a list that must have none: 0; -1: any number; 1: at least that
	token  string // empty: none
	method string // empty: GET
	path   string
	body   func() io.Reader // nil: none
	header http.Header
}

// anyItems is for answers that are no lists.
const anyItems = -1

// podsIn is the path of the Pods of a namespace of the cell's own.
func podsIn(c faults.Cell, n int) string {
	return "/api/v1/namespaces/" + faults.Namespace(c, n) + "/pods"
}

// probesOf are the requests; the first is an honest one.
func probesOf(c faults.Cell, a *abuse) []probe {
	ns := "/api/v1/namespaces/" + faults.Namespace(c, 0)
	pods := podsIn(c, 0)
	head, _, _ := strings.Cut(a.reader, ".")
	return []probe{
		{name: "an honest list", want: http.StatusOK, items: 1, token: a.reader, path: pods + "?labelSelector=" + party.RunLabel + "%3D" + c.Run()},
		{name: "an honest list of all", want: http.StatusOK, items: 1, token: a.reader, path: pods},
		{name: "an honest get", want: http.StatusOK, items: anyItems, token: a.reader, path: pods + "/with-canary"},
		{name: "an honest get of a masked ConfigMap", want: http.StatusOK, items: anyItems, token: a.reader, path: ns + "/configmaps/with-canary"},
		{name: "no token", want: http.StatusUnauthorized, items: anyItems, path: pods},
		{name: "no token, discovery", want: http.StatusUnauthorized, items: anyItems, path: "/api/v1"},
		{name: "a token that is none", want: http.StatusUnauthorized, items: anyItems, token: "guess", path: pods},
		{name: "a token with another signature", want: http.StatusUnauthorized, items: anyItems, token: forgedToken(a.reader), path: pods},
		{name: "a token without a signature", want: http.StatusUnauthorized, items: anyItems, token: head + ".e30.", path: pods},
		{name: "a token without rights", want: http.StatusForbidden, items: anyItems, token: a.stranger, path: pods},
		{name: "another namespace", want: http.StatusForbidden, items: anyItems, token: a.reader, path: podsIn(c, 1)},
		{name: "all namespaces", want: http.StatusForbidden, items: anyItems, token: a.reader, path: "/api/v1/pods"},
		{name: "another kind", want: http.StatusForbidden, items: anyItems, token: a.reader, path: ns + "/services"},
		{name: "a Secret", want: http.StatusForbidden, items: anyItems, token: a.reader, path: ns + "/secrets/with-canary"},
		{name: "all Secrets", want: http.StatusForbidden, items: anyItems, token: a.reader, path: ns + "/secrets"},
		{name: "another user", want: http.StatusForbidden, items: anyItems, token: a.reader, path: pods, header: http.Header{"Impersonate-User": {"system:admin"}}},
		{name: "a web page", want: http.StatusForbidden, items: anyItems, token: a.reader, path: pods, header: http.Header{"Origin": {"https://elsewhere.example"}}},
		{name: "a masked label, by its value", want: http.StatusOK, items: 0, token: a.reader, path: pods + "?labelSelector=" + faults.CanaryLabel + "%3D" + faults.CanaryWord(c, "label")},
		{name: "a masked label, if it is there", want: http.StatusOK, items: 0, token: a.reader, path: pods + "?labelSelector=" + faults.CanaryLabel},
		{name: "a field that none may select by", want: http.StatusBadRequest, items: anyItems, token: a.reader, path: pods + "?fieldSelector=spec.hostAliases%3Dx"},
		{name: "deep JSON", want: http.StatusMethodNotAllowed, items: anyItems, token: a.reader, method: http.MethodPost, path: pods, body: func() io.Reader {
			return strings.NewReader(strings.Repeat("[", deepJSON) + strings.Repeat("]", deepJSON))
		}},
		{name: "a body of 10 MiB", want: http.StatusRequestEntityTooLarge, items: anyItems, token: a.reader, method: http.MethodPost, path: pods, body: func() io.Reader {
			return bytes.NewReader(make([]byte, hugeBody))
		}},
		{name: "a header of 64 KiB", want: http.StatusRequestHeaderFieldsTooLarge, items: anyItems, token: a.reader, path: pods, header: http.Header{"X-Padding": {strings.Repeat("x", 64<<10)}}},
		{name: "a watch more than there may be", want: http.StatusTooManyRequests, items: anyItems, token: a.reader, path: pods + "?watch=true"},
	}
}

// forgedToken is a token whose signature is another's.
func forgedToken(token string) string {
	i := strings.LastIndexByte(token, '.') + 1
	return token[:i] + strings.Repeat("A", len(token)-i)
}

func (p *probe) send(ctx context.Context, client *http.Client, target string) (*http.Response, error) {
	var body io.Reader
	if p.body != nil {
		body = p.body()
	}
	method := p.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, target+p.path, body)
	if err != nil {
		return nil, err
	}
	if p.header != nil {
		req.Header = p.header.Clone()
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	return client.Do(req)
}

// ask returns the status and what could be read of the body.
func (p *probe) ask(ctx context.Context, client *http.Client, target string) (int, []byte, error) {
	resp, err := p.send(ctx, client, target)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	return resp.StatusCode, body, err
}

// itemsIn counts the items of a list.
func itemsIn(data []byte) (int, error) {
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(data, &list); err != nil {
		return 0, fmt.Errorf("read a list: %w", err)
	}
	return len(list.Items), nil
}

// probed is how a probe was answered.
type probed struct {
	Name  string        `json:"name"`
	Want  int           `json:"want"`
	Codes map[int]int64 `json:"codes"`           // 0: no answer
	Items int64         `json:"items,omitempty"` // answers with another number of items than they must have
	There int           `json:"there,omitempty"` // of a masked label: how many the apiserver finds
	Error string        `json:"error,omitempty"` // the last
}

// answers are those to all probes, with what they said.
type answers struct {
	there int // Pods that the apiserver finds by their masked label

	mu    sync.Mutex
	order []string           // guarded by mu
	all   map[string]*probed // guarded by mu
	said  bytes.Buffer       // guarded by mu
}

// mostSaid bounds what is kept of the answers, in bytes.
const mostSaid = 64 << 20

func (a *answers) add(p *probe, code int, body []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[string]*probed{}
	}
	x := a.all[p.name]
	if x == nil {
		x = &probed{Name: p.name, Want: p.want, Codes: map[int]int64{}}
		a.all[p.name], a.order = x, append(a.order, p.name)
	}
	if p.items == 0 {
		x.There = a.there
	}
	if err != nil {
		x.Error = err.Error()
	}
	x.Codes[code]++
	if a.said.Len()+len(body) < mostSaid {
		fmt.Fprintf(&a.said, "%s: %d\n%s\n", p.name, code, body)
	}
	if code != http.StatusOK || p.items == anyItems {
		return
	}
	if n, err := itemsIn(body); err != nil || p.items == 0 && n > 0 || n < p.items {
		x.Items++
	}
}

func (a *answers) sum() (out []probed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range a.order {
		out = append(out, *a.all[name])
	}
	return out
}

func (a *answers) text() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.said.Bytes())
}

const (
	// leastProbed is how often each probe must have been answered.
	leastProbed = 5
	// leastSlow is how many slow clients must have connected: enough that several times as many wait as are served.
	leastSlow = 4 * apiConnections
	// againLimit is how long after the slow clients, in seconds, an honest one may have to wait: those that the kernel has
	// connected are looked at first.
	againLimit = 10.0
)

// rules: each request is answered as it must be, nothing is found by what is masked, and the server comes back once
// slow clients are gone. That its connections are bounded is G7.
func (*abuse) rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[abused](c.Deeds, abuseQueries)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	a := &all[len(all)-1]
	return []matrix.Rule{{Facts: func(matrix.Seen) []result.Fact { return a.facts() }, Vacuous: func(matrix.Seen) []string { return a.vacuous() }}}, nil
}

func (a *abused) facts() []result.Fact {
	const wrong, found = "requests that were answered otherwise than they must be", "lists that have other items than they must"
	if len(a.Probes) == 0 {
		return []result.Fact{matrix.Missing("S", wrong, "", "nothing was asked")}
	}
	var others, lists, answered int64
	example, list := "", ""
	for _, p := range a.Probes {
		for code, n := range p.Codes {
			answered += n
			if code != p.Want {
				others += n
				example = fmt.Sprintf("%s: %d, want %d %s", p.Name, code, p.Want, p.Error)
			}
		}
		if p.Items > 0 {
			lists += p.Items
			list = p.Name
		}
	}
	facts := []result.Fact{
		matrix.None("S", wrong, others, example), matrix.None("S", found, lists, list),
		matrix.Within("S", "requests that were answered", "", float64(answered), 0),
	}
	const again = "an honest client is answered after the slow ones"
	if a.Again < 0 {
		return append(facts, matrix.Missing("I", again, "s", fmt.Sprintf("it was not within %s", goodAgain)))
	}
	return append(facts, matrix.Within("I", again, "s", a.Again, againLimit))
}

func (a *abused) vacuous() (why []string) {
	for _, p := range a.Probes {
		n := int64(0)
		for _, m := range p.Codes {
			n += m
		}
		if n < leastProbed {
			why = append(why, fmt.Sprintf("%s was asked %d times; at least %d are needed", p.Name, n, leastProbed))
		}
	}
	there := 0
	for _, p := range a.Probes {
		there = max(there, p.There)
	}
	if there == 0 {
		why = append(why, "no object has the masked label that is looked for")
	}
	switch s := a.Slow; {
	case s.Connected < leastSlow:
		why = append(why, fmt.Sprintf("%d slow clients connected; at least %d are needed, with %d served at a time %s", s.Connected, leastSlow, apiConnections, s.Error))
	case s.Shaken == 0 || s.Cut == 0:
		why = append(why, fmt.Sprintf("of the slow clients %d got through the handshake and %d were cut off; some are needed", s.Shaken, s.Cut))
	}
	return why
}
