package robustness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
)

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	// customsDomain ends the group of every definition that a run makes; it begins with the run, so that two runs on one
	// cluster share none.
	customsDomain = ".customs.watchbench.dev"
	// customsEach is how many objects a new definition gets: enough for an event on one definition to prove something.
	customsEach = matrix.MinKeys
	// atOnce bounds the requests under way of one event.
	atOnce = 16
	// servedLimit bounds the wait until the apiserver has followed a change of definitions, servedPoll spaces the looks at
	// it.
	servedLimit = 30 * time.Second
	servedPoll  = 20 * time.Millisecond
)

// definition is a CustomResourceDefinition of the run with its objects.
type definition struct {
	kind, plural string
	version      string   // that is stored
	served       bool     // the version is served, too
	alone        bool     // v2 is not served before the switch
	objects      []string // names, the oldest first
	named        int      // names given so far
}

func newDefinition(n int) *definition {
	return &definition{kind: customKind(n), plural: strings.ToLower(customKind(n)) + "s", version: "v1", served: true}
}

func customKind(n int) string { return fmt.Sprintf("Custom%d", n) }

// customKinds are the kinds of the first n definitions.
func customKinds(n int) []string {
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = customKind(i)
	}
	return kinds
}

// customs are the custom resources of a cell. Their objects live in one namespace.
type customs struct {
	api                   *party.APIServer
	run, group, namespace string
	all                   []*definition
	live                  []*definition // the oldest first
	turn                  int           // of change
	before                int           // definitions that are there before the watcher
}

// belong makes them those of a cell.
func (u *customs) belong(run, namespace string) {
	u.run, u.group, u.namespace = run, run+customsDomain, namespace
}

// groupVersions are those that the watcher is to follow.
func (u *customs) groupVersions() []string { return []string{u.group + "/v1", u.group + "/v2"} }

func (u *customs) definitionPath(d *definition) string {
	return definitionsPath + "/" + d.plural + "." + u.group
}

func (u *customs) objectsPath(d *definition) string {
	return "/apis/" + u.group + "/" + d.version + "/namespaces/" + u.namespace + "/" + d.plural
}

// versions is the definition's list of versions as it is to be now.
func (d *definition) versions() []any {
	version := func(name string, served bool) any {
		return map[string]any{"name": name, "served": served, "storage": name == d.version, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	}
	// Before the switch both are served, as where a new version is introduced.
	return []any{version("v1", d.served && d.version == "v1"), version("v2", d.served && (!d.alone || d.version != "v1"))}
}

// forEach does something to several definitions at once.
func forEach(ctx context.Context, all []*definition, do func(context.Context, *definition) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, d := range all {
		g.Go(func() error { return do(ctx, d) })
	}
	return g.Wait()
}

// add makes n definitions at once, and objects of each as soon as it is established.
func (u *customs) add(ctx context.Context, n int, alone bool) ([]*definition, error) {
	var added []*definition
	for range n {
		d := newDefinition(len(u.all))
		d.alone = alone
		u.all = append(u.all, d)
		added = append(added, d)
	}
	u.live = append(u.live, added...)
	return added, forEach(ctx, added, func(ctx context.Context, d *definition) error {
		_, err := u.api.Send(ctx, http.MethodPost, definitionsPath, map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": d.plural + "." + u.group, "labels": map[string]string{party.RunLabel: u.run}},
			"spec": map[string]any{
				"group": u.group, "scope": "Namespaced", "versions": d.versions(),
				"names": map[string]string{"plural": d.plural, "singular": strings.ToLower(d.kind), "kind": d.kind, "listKind": d.kind + "List"},
			},
		})
		if err != nil {
			return err
		}
		if err := u.until(ctx, d.kind+" to be established", func(ctx context.Context) (bool, error) { return u.established(ctx, d) }); err != nil {
			return err
		}
		for range customsEach {
			if err := u.create(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

func (u *customs) established(ctx context.Context, d *definition) (bool, error) {
	data, err := u.api.Send(ctx, http.MethodGet, u.definitionPath(d), nil)
	if err != nil {
		return false, err
	}
	var o struct {
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("read the definition of %s: %w", d.kind, err)
	}
	return slices.Contains(o.Status.Conditions, struct{ Type, Status string }{"Established", "True"}), nil
}

// until looks again and again, for a bounded time.
func (u *customs) until(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	for deadline := time.Now().Add(servedLimit); ; {
		ok, err := done(ctx)
		if ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the apiserver took more than %s for %s", servedLimit, what)
		}
		if err := lifecycle.Pause(ctx, servedPoll); err != nil {
			return err
		}
	}
}

// create makes one more object. A definition is served a moment after the apiserver says so; until then it answers 404.
// In the first two seconds it lets every creation wait two (crd_handler.go of apiextensions-apiserver), so that other
// servers catch up.
func (u *customs) create(ctx context.Context, d *definition) error {
	name := fmt.Sprintf("%s-%d", strings.ToLower(d.kind), d.named)
	d.named++
	err := u.until(ctx, d.kind+" to be served", func(ctx context.Context) (bool, error) {
		_, err := u.api.Send(ctx, http.MethodPost, u.objectsPath(d), map[string]any{
			"apiVersion": u.group + "/" + d.version, "kind": d.kind,
			"metadata": map[string]any{"name": name, "labels": map[string]string{party.RunLabel: u.run}},
			"spec":     map[string]any{"turn": 0, "text": "of " + name},
		})
		if party.NotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	d.objects = append(d.objects, name)
	return nil
}

// change creates, changes and deletes objects in turn, of one definition after the other: n writes in all.
func (u *customs) change(ctx context.Context, n int) error {
	for range n {
		d, what := u.live[u.turn%len(u.live)], u.turn/len(u.live)%3
		u.turn++
		var err error
		switch what {
		case 0:
			err = u.create(ctx, d)
		case 1:
			newest := d.objects[len(d.objects)-1]
			_, err = u.api.Send(ctx, http.MethodPatch, u.objectsPath(d)+"/"+newest, map[string]any{"spec": map[string]any{"turn": u.turn}})
		default:
			_, err = u.api.Send(ctx, http.MethodDelete, u.objectsPath(d)+"/"+d.objects[0], nil)
			d.objects = d.objects[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// oldest are the first n definitions that a condition holds for.
func (u *customs) oldest(n int, is func(*definition) bool) []*definition {
	var out []*definition
	for _, d := range u.live {
		if len(out) < n && is(d) {
			out = append(out, d)
		}
	}
	return out
}

// serve changes definitions and returns when the apiserver serves them so, or no longer.
func (u *customs) serve(ctx context.Context, some []*definition, edit func(*definition)) error {
	return forEach(ctx, some, func(ctx context.Context, d *definition) error {
		edit(d)
		if _, err := u.api.Send(ctx, http.MethodPatch, u.definitionPath(d), map[string]any{"spec": map[string]any{"versions": d.versions()}}); err != nil {
			return err
		}
		return u.until(ctx, d.kind+" to be served as the definition says", func(ctx context.Context) (bool, error) {
			_, err := u.api.Send(ctx, http.MethodGet, u.objectsPath(d)+"?limit=1", nil)
			if party.NotFound(err) {
				return !d.served, nil
			}
			return err == nil && d.served, err
		})
	})
}

// drop removes the oldest definitions and returns when the apiserver has none of them.
func (u *customs) drop(ctx context.Context, some []*definition) error {
	u.live = slices.DeleteFunc(u.live, func(d *definition) bool { return slices.Contains(some, d) })
	return forEach(ctx, some, func(ctx context.Context, d *definition) error {
		if err := u.delete(ctx, d.plural+"."+u.group, ""); err != nil {
			return err
		}
		d.served = false
		return nil
	})
}

func (u *customs) delete(ctx context.Context, name, uid string) error {
	path := definitionsPath + "/" + url.PathEscape(name)
	var body any
	if uid != "" {
		body = map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]string{"uid": uid}}
	}
	if _, err := u.api.Send(ctx, http.MethodDelete, path, body); err != nil && !party.NotFound(err) {
		return err
	}
	return u.until(ctx, name+" to be removed", func(ctx context.Context) (bool, error) {
		_, err := u.api.Send(ctx, http.MethodGet, path, nil)
		if party.NotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// removeAll deletes what is left of the run's definitions, by what the cluster says: one that was made just before an
// interruption is known to nobody else. The label and the group must both be the run's.
func (u *customs) removeAll(ctx context.Context) error {
	type own struct{ name, uid string }
	var left []own
	err := u.api.Each(ctx, definitionsPath, party.RunLabel+"="+u.run, func(raw json.RawMessage) error {
		var o struct {
			Metadata struct{ Name, UID string }
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			return fmt.Errorf("read a definition: %w", err)
		}
		if strings.HasSuffix(o.Metadata.Name, "."+u.group) {
			left = append(left, own{o.Metadata.Name, o.Metadata.UID})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("find the custom resource definitions of the run: %w", err)
	}
	var g errgroup.Group
	g.SetLimit(atOnce)
	errs := make([]error, len(left))
	for i, o := range left {
		g.Go(func() error { errs[i] = u.delete(ctx, o.name, o.uid); return nil })
	}
	_ = g.Wait()
	return errors.Join(errs...)
}

// state is what the apiserver serves of the custom resources.
func (u *customs) state(ctx context.Context, rules check.Rules) ([]history.StateRecord, error) {
	var out []history.StateRecord
	for _, d := range u.live {
		if !d.served {
			continue
		}
		err := u.api.Each(ctx, u.objectsPath(d), "", func(raw json.RawMessage) error {
			rec, err := party.DigestItem(raw, u.group+"/"+d.version, d.kind, rules)
			out = append(out, rec)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
