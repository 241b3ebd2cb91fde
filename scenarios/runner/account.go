package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
)

// account is a ServiceAccount of the watcher's own, with a token in a file that is
// replaced while the watcher runs. Each token is bound to a Secret and becomes invalid
// when that is deleted (TokenRequest, spec.boundObjectRef).
type account struct {
	api        *apiserver
	anonymous  *http.Client // the apiserver, with no other rights than the token's
	namespace  string
	run        string
	dir        string // of the token; not in the cell, whose files are searched for it
	kubeconfig string
	role       string
	tokens     []string // the last is in the file

	// Of the last rotation.
	refused int64 // when the apiserver first refused the former token
	ended   int64 // watches that the proxy had ended until then
	// Of the end of the cell: what the apiserver answers to the former token, and to the last.
	oldAnswer, newAnswer int
	endedAfter           int64 // watches that the proxy ended since refused
}

const (
	accountName = "watcher"
	// tokenLife is longer than any cell; an apiserver gives no token for less than ten
	// minutes.
	tokenLife = time.Hour
	// acceptLimit bounds the time until a new account may do something.
	acceptLimit = 10 * time.Second
	// refuseLimit bounds the time until a token whose Secret is gone is refused.
	// kube-apiserver believes a token that it has just examined for 10 s
	// (NewBuiltInAuthenticationOptions, TokenSuccessCacheTTL).
	refuseLimit = 30 * time.Second
	tokenPoll   = 100 * time.Millisecond
)

// createAccount makes the account with its rights and first token, and the watcher's
// kubeconfig that uses it by way of the proxy.
func (c *cellRun) createAccount(ctx context.Context) error {
	run := c.r.cellRunID(c.id)
	a := &account{api: c.api, namespace: c.extraNamespace(0), run: run, role: "watchbench-" + run, kubeconfig: filepath.Join(c.dir, "watcher.kubeconfig")}
	var err error
	if a.anonymous, err = rest.HTTPClientFor(rest.AnonymousClientConfig(c.api.rest)); err != nil {
		return fmt.Errorf("build a client for the watcher's account: %w", err)
	}
	if a.dir, err = os.MkdirTemp("", "watchbench-token-"); err != nil {
		return fmt.Errorf("make a folder for the watcher's token: %w", err)
	}
	c.account = a
	meta := func(name string) map[string]any {
		return map[string]any{"name": name, "labels": map[string]string{runLabel: run}}
	}
	rules := []any{map[string]any{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": []string{"get", "list", "watch"}}}
	if c.s.Watcher.LeaderElection {
		rules = append(rules, map[string]any{"apiGroups": []string{"coordination.k8s.io"}, "resources": []string{"leases"}, "verbs": []string{"create", "update"}})
	}
	for _, o := range []struct {
		path string
		body map[string]any
	}{
		{"/api/v1/namespaces/" + a.namespace + "/serviceaccounts", map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(accountName), "automountServiceAccountToken": false}},
		{rolePath, map[string]any{"apiVersion": rbacVersion, "kind": "ClusterRole", "metadata": meta(a.role), "rules": rules}},
		{bindingPath, map[string]any{
			"apiVersion": rbacVersion, "kind": "ClusterRoleBinding", "metadata": meta(a.role),
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": a.role},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": accountName, "namespace": a.namespace}},
		}},
	} {
		if _, err := a.api.send(ctx, http.MethodPost, o.path, o.body); err != nil {
			return err
		}
	}
	if err := a.issue(ctx); err != nil {
		return err
	}
	if err := a.until(ctx, 0, http.StatusOK, acceptLimit); err != nil {
		return err
	}
	c.canaries = append(c.canaries, secretPart(a.tokens[0]))
	return a.writeKubeconfig(c.proxy.kubeconfig)
}

const (
	rbacVersion = "rbac.authorization.k8s.io/v1"
	rolePath    = "/apis/" + rbacVersion + "/clusterroles"
	bindingPath = "/apis/" + rbacVersion + "/clusterrolebindings"
)

func (a *account) file() string { return filepath.Join(a.dir, "token") }

// secretName is that of the Secret to which a token is bound.
func secretName(token int) string { return fmt.Sprintf("bound-to-%d", token) }

// issue gets another token and puts it into the file, by renaming as kubelet does.
func (a *account) issue(ctx context.Context) error {
	name := secretName(len(a.tokens))
	secrets := "/api/v1/namespaces/" + a.namespace + "/secrets"
	data, err := a.api.send(ctx, http.MethodPost, secrets, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
		"name": name, "labels": map[string]string{runLabel: a.run}}})
	if err != nil {
		return err
	}
	var secret struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &secret); err != nil {
		return fmt.Errorf("read the secret %s: %w", name, err)
	}
	data, err = a.api.send(ctx, http.MethodPost, "/api/v1/namespaces/"+a.namespace+"/serviceaccounts/"+accountName+"/token", map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{
			"expirationSeconds": int(tokenLife.Seconds()),
			"boundObjectRef":    map[string]any{"apiVersion": "v1", "kind": "Secret", "name": name, "uid": secret.Metadata.UID},
		},
	})
	if err != nil {
		return err
	}
	var answer struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("read the answer to a TokenRequest: %w", err)
	}
	if secretPart(answer.Status.Token) == "" {
		return errors.New("the answer to a TokenRequest holds no signed token")
	}
	a.tokens = append(a.tokens, answer.Status.Token)
	next := a.file() + ".new"
	if err := os.WriteFile(next, []byte(answer.Status.Token), 0o600); err != nil {
		return fmt.Errorf("write the watcher's token: %w", err)
	}
	if err := os.Rename(next, a.file()); err != nil {
		return fmt.Errorf("replace the watcher's token: %w", err)
	}
	return nil
}

// secretPart is a token's signature, without which it is worth nothing. Of a token only
// this is looked for, and kept among the canaries: what comes before names the account.
func secretPart(token string) string {
	return token[strings.LastIndexByte(token, '.')+1:]
}

// writeKubeconfig is the proxy's kubeconfig with the token's file.
func (a *account) writeKubeconfig(proxy string) error {
	cfg, err := clientcmd.LoadFromFile(proxy)
	if err != nil {
		return fmt.Errorf("read the proxy's kubeconfig: %w", err)
	}
	for _, user := range cfg.AuthInfos {
		user.TokenFile = a.file()
	}
	if err := clientcmd.WriteToFile(*cfg, a.kubeconfig); err != nil {
		return fmt.Errorf("write the watcher's kubeconfig: %w", err)
	}
	return nil
}

// ask is the status that the apiserver answers to a token.
func (a *account) ask(ctx context.Context, token int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.api.base+"/api/v1/namespaces?limit=1", nil)
	if err != nil {
		return 0, fmt.Errorf("ask with token %d: %w", token, err)
	}
	req.Header.Set("Authorization", "Bearer "+a.tokens[token])
	resp, err := a.anonymous.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask with token %d: %w", token, err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxObject)) // so that the connection is used again
	return resp.StatusCode, resp.Body.Close()
}

// until waits for an answer to a token.
func (a *account) until(ctx context.Context, token, status int, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; {
		got, err := a.ask(ctx, token)
		if err != nil {
			return err
		}
		if got == status {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the apiserver answers %d to token %d, and not within %s %d", got, token, limit, status)
		}
		if err := pause(ctx, tokenPoll); err != nil {
			return err
		}
	}
}

// rotateToken replaces the watcher's token, makes the former one invalid and waits until
// the apiserver refuses it.
func (c *cellRun) rotateToken(ctx context.Context) error {
	a := c.account
	old := len(a.tokens) - 1
	if err := a.issue(ctx); err != nil {
		return err
	}
	c.canaries = append(c.canaries, secretPart(a.tokens[old+1]))
	c.mark(history.MarkTokenReplaced)
	if _, err := a.api.send(ctx, http.MethodDelete, "/api/v1/namespaces/"+a.namespace+"/secrets/"+secretName(old), nil); err != nil {
		return err
	}
	if err := a.until(ctx, old, http.StatusUnauthorized, refuseLimit); err != nil {
		return err
	}
	a.refused = time.Now().UnixNano()
	c.mark(history.MarkTokenRefused)
	fired, err := faultsOf(ctx, c.proxy.http, c.proxy.admin)
	if err != nil {
		return err
	}
	a.ended = c.watchesEnded(fired)
	return nil
}

// examine asks the apiserver once more about the last two tokens, at the end of the cell.
func (a *account) examine(ctx context.Context) error {
	var err error
	if len(a.tokens) < 2 {
		return errors.New("the watcher's token was never replaced")
	}
	if a.oldAnswer, err = a.ask(ctx, len(a.tokens)-2); err != nil {
		return err
	}
	a.newAnswer, err = a.ask(ctx, len(a.tokens)-1)
	return err
}

// remove deletes what lies outside of the account's namespace. Calling it again has no
// effect.
func (a *account) remove(ctx context.Context) error {
	errs := []error{os.RemoveAll(a.dir)}
	for _, path := range []string{bindingPath, rolePath} {
		_, err := a.api.send(ctx, http.MethodDelete, path+"/"+a.role, nil)
		var status *statusError
		if errors.As(err, &status) && status.code == http.StatusNotFound {
			err = nil
		}
		errs = append(errs, err)
	}
	a.anonymous.CloseIdleConnections()
	return errors.Join(errs...)
}

// tokenFacts: everything that was done reached storage in time, before and after the
// former token was refused, and it is refused indeed.
func (c *cellRun) tokenFacts(within bounded, add func(result.Fact), limit float64) {
	a := c.account
	if a == nil {
		return
	}
	later := longestDelay(c.evidence.changes, a.refused)
	f := delayFact(within, "longest delay of a change after the former token was refused", later, limit)
	if f.OK = f.OK && later.changes > 0; later.changes == 0 {
		f.Detail = "there was no change"
	}
	add(f)
	s, ok := measure.Recovery(c.evidence.changes, a.refused)
	f = within("T", "recovery of what had happened until then", "s", s, limit)
	if !ok {
		f.OK, f.Detail = false, "storage never had it"
	}
	add(f)
	add(result.Fact{Column: "T", Name: "the apiserver's answer to the former token", Value: float64(a.oldAnswer), OK: a.oldAnswer == http.StatusUnauthorized})
	add(result.Fact{Column: "T", Name: "the apiserver's answer to the new token", Value: float64(a.newAnswer), OK: a.newAnswer == http.StatusOK})
	add(result.Fact{Column: "T", Name: "watches ended after that", Value: float64(a.endedAfter), OK: a.endedAfter >= int64(len(c.kinds))})
}

// vacuous says why the rotation of the token proves nothing.
func (a *account) vacuous(kinds int) (reasons []string) {
	if a.oldAnswer != http.StatusUnauthorized {
		reasons = append(reasons, fmt.Sprintf("the apiserver answers %d to the former token, not 401: the watcher could have gone on with it", a.oldAnswer))
	}
	if a.newAnswer != http.StatusOK {
		reasons = append(reasons, fmt.Sprintf("the apiserver answers %d to the new token, not 200", a.newAnswer))
	}
	if a.endedAfter < int64(kinds) {
		reasons = append(reasons, fmt.Sprintf("%d watches ended after the former token was refused; at least one of each of %d kinds must be opened again", a.endedAfter, kinds))
	}
	return reasons
}
