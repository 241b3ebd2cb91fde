package access_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/access"
)

// cluster is a namespace with ServiceAccounts in it.
type cluster struct {
	*kubernetes.Clientset
	config *rest.Config
	ns     string
	t      *testing.T
}

// account is a ServiceAccount; its token is for audiences, or for the apiserver.
func (c cluster) account(name string, audiences ...string) (token string) {
	c.t.Helper()
	accounts := c.CoreV1().ServiceAccounts(c.ns)
	_, err := accounts.Create(c.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	seconds := int64(600) // the least there is
	r, err := accounts.CreateToken(c.t.Context(), name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Status.Token
}

// allow lets an account do what the rule says, in the namespace.
func (c cluster) allow(name string, rule rbacv1.PolicyRule) {
	c.t.Helper()
	meta := metav1.ObjectMeta{Name: name}
	_, err := c.RbacV1().Roles(c.ns).Create(c.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	_, err2 := c.RbacV1().RoleBindings(c.ns).Create(c.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: name}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: c.ns}},
	}, metav1.CreateOptions{})
	if err := errors.Join(err, err2); err != nil {
		c.t.Fatal(err)
	}
}

// as is how the holder of a token reaches the apiserver.
func (c cluster) as(token string) *rest.Config {
	cfg := rest.AnonymousClientConfig(c.config)
	cfg.BearerToken = token
	return cfg
}

// TestRights: who gets which answer, decided by a real apiserver. The watcher has the
// rights that the documentation names, and no others.
func TestRights(t *testing.T) {
	cfg := clustertest.Start(t).Config
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{Clientset: client, config: cfg, ns: clustertest.Namespace(t, cfg), t: t}

	watcher, stranger := c.account("watcher"), c.account("stranger")
	pods, one, other := c.account("pods"), c.account("one"), c.account("other", "elsewhere")
	read := []string{"get", "list", "watch"}
	c.allow("pods", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: read})
	c.allow("one", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: read, ResourceNames: []string{"p"}})
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: c.ns + "-reviews"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "system:auth-delegator"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "watcher", Namespace: c.ns}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{})
	})

	ask := c.serve(watcher)
	inPods := access.Attributes{Verb: "list", Version: "v1", Resource: "pods", Namespace: c.ns}
	with := func(change func(*access.Attributes)) access.Attributes {
		a := inPods
		change(&a)
		return a
	}
	// RBAC is written before the apiserver's authorizer has heard of it.
	for deadline := time.Now().Add(10 * time.Second); ask(pods, inPods) != 200; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the rights do not arrive")
		}
		ask = c.serve(watcher) // a denial is remembered
	}
	for _, tc := range []struct {
		name, token string
		a           access.Attributes
		code        int
	}{
		{"no token", "", inPods, 401},
		{"bad token", "nonsense", inPods, 401},
		{"token of another signature", pods[:len(pods)-8] + "AAAAAAAA", inPods, 401},
		{"token for somebody else", other, inPods, 401},
		{"no rights", stranger, inPods, 403},
		{"rights", pods, inPods, 200},
		{"another namespace", pods, with(func(a *access.Attributes) { a.Namespace = "default" }), 403},
		{"all namespaces", pods, with(func(a *access.Attributes) { a.Namespace = "" }), 403},
		{"another resource", pods, with(func(a *access.Attributes) { a.Resource = "secrets" }), 403},
		{"a subresource", pods, with(func(a *access.Attributes) { a.Verb, a.Name, a.Subresource = "get", "p", "log" }), 403},
		{"another group", pods, with(func(a *access.Attributes) { a.Group = "metrics.k8s.io" }), 403},
		{"watch", pods, with(func(a *access.Attributes) { a.Verb = "watch" }), 200},
		{"selectors", pods, with(func(a *access.Attributes) { a.LabelSelector, a.FieldSelector = "a in (b,c),!d", "spec.nodeName!=n" }), 200},
		{"one object", one, with(func(a *access.Attributes) { a.Verb, a.Name = "get", "p" }), 200},
		{"another object", one, with(func(a *access.Attributes) { a.Verb, a.Name = "get", "q" }), 403},
		{"all objects", one, inPods, 403},
		{"watch of one object", one, with(func(a *access.Attributes) { a.Verb, a.FieldSelector = "watch", "metadata.name=p" }), 200},
		{"watch of another", one, with(func(a *access.Attributes) { a.Verb, a.FieldSelector = "watch", "metadata.name=q" }), 403},
		{"discovery", stranger, access.Attributes{Verb: "get", Path: "/apis"}, 200},
		{"another path", stranger, access.Attributes{Verb: "get", Path: "/metrics"}, 403},
	} {
		if got := ask(tc.token, tc.a); got != tc.code {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.code)
		}
	}

	// The account is gone: its token is no longer good, for a server that does not know it yet.
	if err := client.CoreV1().ServiceAccounts(c.ns).Delete(t.Context(), "pods", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := ask(pods, inPods); got != 200 {
		t.Errorf("within the minute: %d", got)
	}
	for deadline := time.Now().Add(15 * time.Second); c.serve(watcher)(pods, inPods) != 401; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the token of a deleted account is accepted")
		}
	}
	// A watcher without the right to ask can let nobody in.
	if got := c.serve(stranger)(one, inPods); got != 503 {
		t.Errorf("the watcher may not ask: %d", got)
	}
}

// serve starts a server that asks with the watcher's token; the function returned asks it
// and is answered with a status code.
func (c cluster) serve(watcher string) func(token string, a access.Attributes) int {
	c.t.Helper()
	dir := c.t.TempDir()
	ca, err := certs.NewAuthority("ca", time.Hour)
	if err != nil {
		c.t.Fatal(err)
	}
	cert, err := ca.Issue(certs.Server{Name: "here", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		c.t.Fatal(err)
	}
	cfg := access.Default()
	cfg.Port, cfg.Authentication, cfg.CertFile, cfg.KeyFile = 0, access.TokenReview, filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	if err := certs.WriteFiles(cert, cfg.CertFile, cfg.KeyFile); err != nil {
		c.t.Fatal(err)
	}
	guard, err := access.New(cfg, access.Settings{Kube: c.as(watcher)})
	if err != nil {
		c.t.Fatal(err)
	}
	asked := make(chan access.Attributes, 1)
	server, err := access.NewServer(c.t.Context(), cfg, access.ServerSettings{Guard: guard, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := guard.Authenticate(r)
		if err == nil {
			err = guard.Authorize(r.Context(), user, <-asked)
		}
		if _, forbidden := errors.AsType[*access.ForbiddenError](err); forbidden {
			w.WriteHeader(http.StatusForbidden)
		} else if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	c.t.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	})
	return func(token string, a access.Attributes) int {
		c.t.Helper()
		asked <- a
		req, err := http.NewRequest(http.MethodGet, "https://"+server.Addr().String(), nil)
		if err != nil {
			c.t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(req)
		if err != nil {
			c.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		select {
		case <-asked: // the handler was not reached
		default:
		}
		return resp.StatusCode
	}
}
