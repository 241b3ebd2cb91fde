package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/kubefile"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// abuseQueries sends the read API what it must refuse: requests without rights, selectors on
// what is masked, bodies that are too deep or too large, and clients that never end a request.
const abuseQueries = "abuse-queries"

// abuse is a read API that asks the apiserver who may read what, and accounts that may read
// little.
type abuse struct {
	ca     []byte // PEM
	tokens map[string]string
	seen   []abused
}

// abused is one request, and what came of it.
type abused struct {
	What string `json:"what"`
	Code int    `json:"code"` // 0: no answer
	Want []int  `json:"want"`
}

// holdFor is how long slow clients stay.
const holdFor = 3 * time.Second

func abusing() family {
	a := &abuse{tokens: map[string]string{}}
	return family{shared: a, injectors: []Injector{kind{
		name: abuseQueries, takes: []string{"count"}, inject: a.inject,
		validate: func(t *spec.Timeline, e spec.Event) error {
			if err := t.Need(t.Readers.Served() && !t.Readers.Read() && !t.Readers.Follower, "the readers' access would be refused as well", "set readers: {from: watcher} and nothing else"); err != nil {
				return err
			}
			return t.Need(t.Extra.Namespaces > 1, "abuse-queries without a namespace for accounts and one for others", "set extra.namespaces: 2")
		},
	}}}
}

var (
	_ Arranger = (*abuse)(nil)
	_ Preparer = (*abuse)(nil)
	_ Ruler    = (*abuse)(nil)
)

// Arrange has the read API serve over TLS and ask for tokens.
func (a *abuse) Arrange(c Cell) error {
	if !hasEvent(c.Scenario(), abuseQueries) {
		return nil
	}
	ca, err := certs.NewAuthority("watchbench CA", certLife)
	if err != nil {
		return err
	}
	cert, err := ca.Issue(certs.Server{Name: "k8s-watch", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		return err
	}
	guard := &party.Guard{CertFile: filepath.Join(c.Dir(), "query.pem"), KeyFile: filepath.Join(c.Dir(), "query-key.pem"), CA: ca.PEM()}
	a.ca, c.Setup().Guard = guard.CA, guard
	return certs.WriteFiles(cert, guard.CertFile, guard.KeyFile)
}

// Prepare makes the accounts: one may read Pods and Secrets of one namespace, one nothing.
func (a *abuse) Prepare(ctx context.Context, c Cell) error {
	if a.ca == nil {
		return nil
	}
	ns := "/namespaces/" + namespace(c, 0)
	send := func(group, under string, body map[string]any) ([]byte, error) {
		return c.API().Send(ctx, http.MethodPost, group+ns+under, body)
	}
	rbac := "/apis/" + rbacVersion
	meta := func(name string) map[string]any { return map[string]any{"name": name} }
	for _, o := range []struct {
		path, under string
		body        map[string]any
	}{
		{"/api/v1", "/serviceaccounts", map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("reader")}},
		{"/api/v1", "/serviceaccounts", map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("nobody")}},
		{rbac, "/roles", map[string]any{"apiVersion": rbacVersion, "kind": "Role", "metadata": meta("reader"), "rules": []any{
			map[string]any{"apiGroups": []string{""}, "resources": []string{"pods", "secrets"}, "verbs": []string{"get", "list", "watch"}}}}},
		{rbac, "/rolebindings", map[string]any{"apiVersion": rbacVersion, "kind": "RoleBinding", "metadata": meta("reader"),
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "reader", "namespace": namespace(c, 0)}}}},
	} {
		if _, err := send(o.path, o.under, o.body); err != nil {
			return err
		}
	}
	for _, name := range []string{"reader", "nobody"} {
		data, err := send("/api/v1", "/serviceaccounts/"+name+"/token", map[string]any{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{"expirationSeconds": 3600}})
		if err != nil {
			return err
		}
		var t struct{ Status struct{ Token string } }
		if err := json.Unmarshal(data, &t); err != nil || t.Status.Token == "" {
			return fmt.Errorf("read the token of the account %s: %w", name, err)
		}
		a.tokens[name] = t.Status.Token
	}
	return nil
}

// inject sends one request after the other, then holds as many slow connections as the event
// says, and asks once more.
func (a *abuse) inject(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	access, err := kubefile.Read(filepath.Join(c.Dir(), "watcher.kubeconfig"), "")
	if err != nil {
		return Done{}, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.ca)
	hc := &http.Client{Timeout: askLimit, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	defer hc.CloseIdleConnections()
	own, other := "/api/v1/namespaces/"+namespace(c, 0), "/api/v1/namespaces/"+namespace(c, 1)
	reader, nobody := a.tokens["reader"], a.tokens["nobody"]
	deep := `{"gvk":"v1/Pod","x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	field := func(selector string) string { return own + "/pods?fieldSelector=" + url.QueryEscape(selector) }
	ask := func(what, path, token, body string, want ...int) {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		a.seen = append(a.seen, abused{what, send(ctx, hc, method, access.Host+path, token, body), want})
	}
	ask("rights", own+"/pods", reader, "", 200)
	ask("no token", own+"/pods", "", "", 401)
	ask("a bad token", own+"/pods", "not-a-token", "", 401)
	ask("a token without rights", own+"/pods", nobody, "", 403)
	ask("another namespace", other+"/pods", reader, "", 403)
	ask("all namespaces", "/api/v1/pods", reader, "", 403)
	ask("Secrets", own+"/secrets", reader, "", 403, 404)
	ask("a field that is masked", field("spec.hostAliases=x"), reader, "", 400)
	ask("an annotation", field("metadata.annotations=x"), reader, "", 400)
	ask("a body that nests deep", "/v1/objects:query", reader, deep, 400)
	ask("a body of 10 MB", "/v1/objects:query", reader, strings.Repeat("x", 10<<20), 413)
	ask("a write", own+"/pods", reader, "{}", 405, 403)
	held, err := a.hold(ctx, strings.TrimPrefix(access.Host, "https://"), e.Number())
	if err != nil {
		return Done{}, err
	}
	ask("rights after slow clients", own+"/pods", reader, "", 200)
	return Done{Keys: int64(held), Seen: a.seen}, nil
}

// send returns the status of the answer, 0 for none.
func send(ctx context.Context, hc *http.Client, method, url, token, body string) int {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := hc.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // only the status counts
	return resp.StatusCode
}

// hold opens connections that begin a handshake and never end it, and returns how many could
// be opened.
func (a *abuse) hold(ctx context.Context, addr string, n int) (held int, err error) {
	var mu sync.Mutex // guards conns
	var conns []net.Conn
	var opening sync.WaitGroup
	for range 32 {
		opening.Go(func() {
			d := net.Dialer{Timeout: time.Second}
			for range n / 32 {
				conn, err := d.DialContext(ctx, "tcp", addr)
				if err != nil {
					return // it takes no more
				}
				_, _ = conn.Write([]byte{0x16}) // the first byte of a handshake
				mu.Lock()
				conns = append(conns, conn)
				mu.Unlock()
			}
		})
	}
	opening.Wait()
	err = lifecycle.Pause(ctx, holdFor)
	for _, conn := range conns {
		_ = conn.Close()
	}
	return len(conns), err
}

// Rules: every request has the answer that it must have, and the pipeline does not notice.
func (*abuse) Rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[[]abused](c.Deeds, abuseQueries)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	wrong, first := int64(0), ""
	for _, some := range all {
		for _, x := range some {
			if !slices.Contains(x.Want, x.Code) {
				wrong++
				first = fmt.Sprintf("%s: %d, want %v", x.What, x.Code, x.Want)
			}
		}
	}
	return []matrix.Rule{{Facts: func(seen matrix.Seen) []result.Fact {
		return []result.Fact{matrix.None("S", "answers of the read API that are others than they must be", wrong, first), freshAsBase(c, seen)}
	}}}, nil
}
