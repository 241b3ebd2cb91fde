package robustness

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

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// rotateToken replaces the watcher's token for the apiserver in its file, makes the former one invalid, and waits until
// the apiserver refuses it.
const rotateToken = "rotate-token"

const (
	accountName = "watcher"
	// tokenLife is longer than any cell; an apiserver gives no token for less than ten minutes.
	tokenLife = time.Hour
	// acceptLimit bounds the time until a new account may do something.
	acceptLimit = 10 * time.Second
	// refuseLimit bounds the time until a token whose Secret is gone is refused. kube-apiserver believes a token that it
	// has just examined for 10 s (NewBuiltInAuthenticationOptions, TokenSuccessCacheTTL).
	refuseLimit = 30 * time.Second
	tokenPoll   = 100 * time.Millisecond
	// askLimit bounds one request with a token, maxAnswer what is read of its answer.
	askLimit  = 5 * time.Second
	maxAnswer = 4 << 20
)

// serviceAccount is a ServiceAccount of the watcher's own, with a token in a file that is replaced while the watcher
// runs. Each token is bound to a Secret and becomes invalid when that is deleted (TokenRequest, spec.boundObjectRef).
type serviceAccount struct {
	api        *party.APIServer
	anonymous  *http.Client // the apiserver, with no other rights than the token's
	namespace  string
	run        string
	dir        string // of the token; not in the cell, whose files are searched for it
	kubeconfig string
	role       string
	tokens     []string // the last is in the file
	last       *rotation
}

// rotation is what was seen of a change of the token.
type rotation struct {
	Refused int64 `json:"refused"` // when the apiserver first refused the former token
	Ended   int64 `json:"ended"`   // watches that the proxy had ended until then
	// What the apiserver answers at the end of the cell to the former token, and to the new one; 0 if it was not asked.
	OldAnswer int `json:"oldAnswer,omitempty"`
	NewAnswer int `json:"newAnswer,omitempty"`
}

func account() faults.Family {
	a := &serviceAccount{}
	return faults.Family{Arrange: a.arrange, Prepare: a.prepare, Finish: a.finish, Remove: a.remove, Rules: a.rules, Failpoints: []faults.Failpoint{
		{Name: rotateToken, Available: secrets, Inject: a.rotate},
	}}
}

// arrange has the proxy pass on the watcher's own credentials.
func (a *serviceAccount) arrange(c faults.Cell) error {
	c.Setup().OwnRights = asks(c.Scenario(), rotateToken)
	return nil
}

// prepare makes the account with its rights and first token, and the watcher's kubeconfig that uses it by way of the
// proxy.
func (a *serviceAccount) prepare(ctx context.Context, c faults.Cell) error {
	if !c.Setup().OwnRights {
		return nil
	}
	a.api, a.namespace, a.run = c.API(), faults.Namespace(c, 0), c.Run()
	a.role, a.kubeconfig = "watchbench-"+a.run, filepath.Join(c.Dir(), "watcher.kubeconfig")
	var err error
	if a.anonymous, err = rest.HTTPClientFor(rest.AnonymousClientConfig(a.api.REST)); err != nil {
		return fmt.Errorf("build a client for the watcher's account: %w", err)
	}
	if a.dir, err = os.MkdirTemp("", "watchbench-token-"); err != nil {
		return fmt.Errorf("make a folder for the watcher's token: %w", err)
	}
	rules := []any{map[string]any{"apiGroups": []string{"*"}, "resources": []string{"*"}, "verbs": []string{"get", "list", "watch"}}}
	if c.Scenario().Watcher.LeaderElection {
		rules = append(rules, map[string]any{"apiGroups": []string{"coordination.k8s.io"}, "resources": []string{"leases"}, "verbs": []string{"create", "update"}})
	}
	if err := permit(ctx, a.api, a.run, a.namespace, rolePath, bindingPath, a.role, rules, accountName); err != nil {
		return err
	}
	if err := a.issue(ctx); err != nil {
		return err
	}
	if err := a.until(ctx, 0, http.StatusOK, acceptLimit); err != nil {
		return err
	}
	c.AddCanary(secretPart(a.tokens[0]))
	c.Setup().Kubeconfig = a.kubeconfig
	return a.writeKubeconfig(c.Proxy().Kubeconfig)
}

const (
	rbacVersion = "rbac.authorization.k8s.io/v1"
	rolePath    = "/apis/" + rbacVersion + "/clusterroles"
	bindingPath = "/apis/" + rbacVersion + "/clusterrolebindings"
)

func (a *serviceAccount) file() string { return filepath.Join(a.dir, "token") }

// secretName is that of the Secret to which a token is bound.
func secretName(token int) string { return fmt.Sprintf("bound-to-%d", token) }

// issue gets another token and puts it into the file, by renaming as kubelet does.
func (a *serviceAccount) issue(ctx context.Context) error {
	name := secretName(len(a.tokens))
	secrets := "/api/v1/namespaces/" + a.namespace + "/secrets"
	data, err := a.api.Send(ctx, http.MethodPost, secrets, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
		"name": name, "labels": map[string]string{party.RunLabel: a.run}}})
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
	token, err := tokenOf(ctx, a.api, a.namespace, accountName, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "name": name, "uid": secret.Metadata.UID})
	if err != nil {
		return err
	}
	a.tokens = append(a.tokens, token)
	next := a.file() + ".new"
	if err := os.WriteFile(next, []byte(token), 0o600); err != nil {
		return fmt.Errorf("write the watcher's token: %w", err)
	}
	if err := os.Rename(next, a.file()); err != nil {
		return fmt.Errorf("replace the watcher's token: %w", err)
	}
	return nil
}

// secretPart is a token's signature, without which it is worth nothing. Of a token only this is looked for, and kept
// among the canaries: what comes before names the account.
func secretPart(token string) string {
	return token[strings.LastIndexByte(token, '.')+1:]
}

// writeKubeconfig is the proxy's kubeconfig with the token's file.
func (a *serviceAccount) writeKubeconfig(proxy string) error {
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
func (a *serviceAccount) ask(ctx context.Context, token int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.api.Base+"/api/v1/namespaces?limit=1", nil)
	if err != nil {
		return 0, fmt.Errorf("ask with token %d: %w", token, err)
	}
	req.Header.Set("Authorization", "Bearer "+a.tokens[token])
	resp, err := a.anonymous.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask with token %d: %w", token, err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // so that the connection is used again
	return resp.StatusCode, resp.Body.Close()
}

// until waits for an answer to a token.
func (a *serviceAccount) until(ctx context.Context, token, status int, limit time.Duration) error {
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
		if err := lifecycle.Pause(ctx, tokenPoll); err != nil {
			return err
		}
	}
}

// rotate replaces the watcher's token, makes the former one invalid and waits until the apiserver refuses it.
func (a *serviceAccount) rotate(ctx context.Context, c faults.Cell, _ spec.Event) (faults.Done, error) {
	old := len(a.tokens) - 1
	if err := a.issue(ctx); err != nil {
		return faults.Done{}, err
	}
	c.AddCanary(secretPart(a.tokens[old+1]))
	c.Mark(history.Mark{What: history.MarkTokenReplaced})
	if _, err := a.api.Send(ctx, http.MethodDelete, "/api/v1/namespaces/"+a.namespace+"/secrets/"+secretName(old), nil); err != nil {
		return faults.Done{}, err
	}
	if err := a.until(ctx, old, http.StatusUnauthorized, refuseLimit); err != nil {
		return faults.Done{}, err
	}
	a.last = &rotation{Refused: time.Now().UnixNano()}
	c.Mark(history.Mark{What: history.MarkTokenRefused})
	fired, err := c.Proxy().Faults(ctx)
	a.last.Ended = watchesEnded(c.Scenario().Watch, fired)
	return faults.Done{Seen: a.last}, err
}

// watchesEnded is how many watches the proxy has ended.
func watchesEnded(w spec.Watch, fired []history.Firing) (n int64) {
	for _, s := range w.FaultSpecs() {
		for _, f := range fired {
			if f.Name == s.Name && s.EndsWatches() {
				n += f.Fired
			}
		}
	}
	return n
}

// finish asks the apiserver once more about the last two tokens.
func (a *serviceAccount) finish(ctx context.Context, c faults.Cell) error {
	if !c.Setup().OwnRights {
		return nil
	}
	if a.last == nil {
		return errors.New("the watcher's token was never replaced")
	}
	var err error
	if a.last.OldAnswer, err = a.ask(ctx, len(a.tokens)-2); err != nil {
		return err
	}
	a.last.NewAnswer, err = a.ask(ctx, len(a.tokens)-1)
	return err
}

// remove deletes what lies outside of the account's namespace.
func (a *serviceAccount) remove(ctx context.Context, _ faults.Cell) error {
	if a.dir == "" {
		return nil
	}
	errs := []error{os.RemoveAll(a.dir)}
	for _, path := range []string{bindingPath, rolePath} {
		if _, err := a.api.Send(ctx, http.MethodDelete, path+"/"+a.role, nil); err != nil && !party.NotFound(err) {
			errs = append(errs, err)
		}
	}
	a.anonymous.CloseIdleConnections()
	return errors.Join(errs...)
}

// rules: everything that was done reached storage in time, before and after the former token was refused, and it is
// refused indeed.
func (a *serviceAccount) rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[rotation](c.Deeds, rotateToken)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	r, limit, kinds := all[len(all)-1], c.Recovery(), int64(len(c.Cell.Kinds))
	ended := watchesEnded(c.Cell.Scenario.Watch, c.Cell.WatchFired) - r.Ended
	facts := func(seen matrix.Seen) []result.Fact {
		return []result.Fact{
			matrix.DelayFact("longest delay of a change after the former token was refused", seen.Changes, r.Refused, limit),
			matrix.RecoveryFact("recovery of what had happened until then", seen.Changes, r.Refused, limit),
			matrix.Fact("C", "the apiserver's answer to the former token", "", float64(r.OldAnswer), r.OldAnswer == http.StatusUnauthorized),
			matrix.Fact("C", "the apiserver's answer to the new token", "", float64(r.NewAnswer), r.NewAnswer == http.StatusOK),
			matrix.Fact("C", "watches ended after that", "", float64(ended), ended >= kinds),
		}
	}
	vacuous := func(matrix.Seen) (why []string) {
		if r.OldAnswer != http.StatusUnauthorized {
			why = append(why, fmt.Sprintf("the apiserver answers %d to the former token, not 401: the watcher could have gone on with it", r.OldAnswer))
		}
		if r.NewAnswer != http.StatusOK {
			why = append(why, fmt.Sprintf("the apiserver answers %d to the new token, not 200", r.NewAnswer))
		}
		if ended < kinds {
			why = append(why, fmt.Sprintf("%d watches ended after the former token was refused; at least one of each of %d kinds must be opened again", ended, kinds))
		}
		return why
	}
	return []matrix.Rule{{First: true, Facts: facts, Vacuous: vacuous}}, nil
}
