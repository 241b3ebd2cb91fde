package faults

import (
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
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/loadgen/readers"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// abuseQueries asks the resource watcher, which demands TLS and tokens, for what nobody may
// have, and then takes all its connections and holds them.
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

func queryAbuse() family {
	a := &abuse{}
	return family{shared: a, injectors: []Injector{
		kind{name: abuseQueries, takes: []string{"for", "count"}, inject: a.inject, validate: func(t *spec.Timeline, e spec.Event) error {
			t.Secrets = true
			if err := needsOwnWatcher(t, e); err != nil {
				return err
			}
			if e.For == 0 {
				return t.Bad("for", "write for example for: 12s", "missing: half of it is for probes, half for slow clients")
			}
			return t.Need(t.Extra.Namespaces > 1 && t.Extra.Canaries, "abuse-queries without two namespaces and secrets", "set extra: {pods: 5, namespaces: 2, canaries: true}")
		}},
	}}
}

// abused is what came of it.
type abused struct {
	Probes []probed     `json:"probes"`
	Slow   readers.Seen `json:"slow"`
	// Again is how long after the end of the slow clients, in seconds, an honest one was
	// answered; -1: it never was.
	Again float64 `json:"again"`
}

var (
	_ Arranger = (*abuse)(nil)
	_ Preparer = (*abuse)(nil)
	_ Ruler    = (*abuse)(nil)
)

// Arrange has the watcher serve as it must beyond loopback.
func (a *abuse) Arrange(c Cell) error {
	if !hasEvent(c.Scenario(), abuseQueries) {
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

// Prepare makes the accounts and their tokens.
func (a *abuse) Prepare(ctx context.Context, c Cell) error {
	if a.roots == nil {
		return nil
	}
	ns, api := namespace(c, 0), c.API()
	meta := func(name string) map[string]any {
		return map[string]any{"name": name, "labels": map[string]string{party.RunLabel: c.Run()}}
	}
	rbac := "/apis/" + rbacVersion + "/namespaces/" + ns
	for _, o := range []struct {
		path string
		body map[string]any
	}{
		{"/api/v1/namespaces/" + ns + "/serviceaccounts", map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(readerAccount)}},
		{"/api/v1/namespaces/" + ns + "/serviceaccounts", map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(strangerAccount)}},
		{rbac + "/roles", map[string]any{"apiVersion": rbacVersion, "kind": "Role", "metadata": meta(readerAccount), "rules": []any{
			map[string]any{"apiGroups": []string{""}, "resources": []string{"pods", "configmaps", "secrets"}, "verbs": []string{"get", "list", "watch"}},
		}}},
		{rbac + "/rolebindings", map[string]any{
			"apiVersion": rbacVersion, "kind": "RoleBinding", "metadata": meta(readerAccount),
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": readerAccount},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": readerAccount, "namespace": ns}},
		}},
	} {
		if _, err := api.Send(ctx, http.MethodPost, o.path, o.body); err != nil {
			return err
		}
	}
	var err error
	if a.reader, err = tokenOf(ctx, api, ns, readerAccount); err == nil {
		a.stranger, err = tokenOf(ctx, api, ns, strangerAccount)
	}
	if err == nil {
		c.AddCanary(secretPart(a.reader))
		c.AddCanary(secretPart(a.stranger))
	}
	return err
}

// tokenOf requests a token of an account.
func tokenOf(ctx context.Context, api *party.APIServer, ns, account string) (string, error) {
	data, err := api.Send(ctx, http.MethodPost, "/api/v1/namespaces/"+ns+"/serviceaccounts/"+account+"/token", map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{"expirationSeconds": int(tokenLife.Seconds())},
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

// client asks by connections of its own. Without keep-alive, each request is a handshake.
func (a *abuse) client() *http.Client {
	return &http.Client{
		Timeout:   askLimit,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: probeWorkers},
	}
}

// inject probes for half of the time, and then has connections held for the other.
func (a *abuse) inject(ctx context.Context, c Cell, e spec.Event) (Done, error) {
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
		return Done{}, err
	}
	seen.Probes = a.answers.sum()
	slow := readers.Slow{
		Address: strings.TrimPrefix(target, "https://"), CAFile: filepath.Join(c.Dir(), resourcesCA), Count: e.Number(), For: half,
	}
	if seen.Slow, err = c.SlowClients(ctx, slow); err != nil {
		return Done{}, err
	}
	client.CloseIdleConnections() // a connection is what an honest one has to get
	honest := probesOf(c, a)[0]
	for gone := time.Now(); time.Since(gone) < goodAgain; {
		if code, _, err := honest.ask(ctx, client, target); err == nil && code == http.StatusOK {
			seen.Again = time.Since(gone).Seconds()
			break
		}
		if err := lifecycle.Pause(ctx, probeEvery); err != nil {
			return Done{}, err
		}
	}
	return Done{Keys: int64(len(seen.Probes)), Seen: seen}, keepCaptured(c, "answers.txt", a.answers.text())
}

// probe asks all probes in turn until ctx ends, while watches take all that there may be.
func (a *abuse) probe(ctx context.Context, c Cell, client *http.Client, target string) error {
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

// selfTest makes sure that there is something to be found: the apiserver itself, with the
// runner's rights, finds the Pod by its masked label.
func (a *abuse) selfTest(ctx context.Context, c Cell) error {
	data, err := c.API().Send(ctx, http.MethodGet, podsIn(c, 0)+"?labelSelector="+canaryLabel+"%3D"+canaryWord(c, "label"), nil)
	if err != nil {
		return err
	}
	items, err := itemsIn(data)
	if err == nil {
		a.answers.there = items
	}
	return err
}
