package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/watchbench/watchbench/internal/cluster/owned"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Changes to the objects beside the load. The load's own are not to be touched, because
// its op log is the record of them.
const (
	createObjects   = "create-objects"
	deleteObjects   = "delete-objects"
	recreate        = "recreate" // delete and create under the same name
	deleteNamespace = "delete-namespace"
)

// besideLoad are the namespaces and pods of a scenario's section extra.
type besideLoad struct {
	namespaces []string // to be deleted
	next       int      // of the pods to take, so that each is used once
	added      int
}

func beside() Family {
	b := &besideLoad{}
	return Family{Prepare: b.prepare, Remove: b.remove, Rules: b.rules, Failpoints: append(b.tampering(),
		Failpoint{Name: createObjects, Takes: []string{"count", "bytes"}, Inject: b.create},
		Failpoint{Name: deleteObjects, Takes: []string{"count"}, Available: needsPods, Inject: b.delete},
		Failpoint{Name: recreate, Takes: []string{"count"}, Available: needsPods, Inject: b.recreate},
		Failpoint{Name: deleteNamespace, Inject: b.deleteLast, Available: func(t *spec.Timeline, _ spec.Event) error {
			return t.Need(t.Extra.Namespaces > 1, "delete-namespace without a namespace to spare", "set extra.namespaces: 2")
		}},
	)}
}

// Namespace is one of the cell's own.
func Namespace(c Cell, i int) string { return fmt.Sprintf("watchbench-%s-extra-%d", c.Run(), i) }

func besidePod(i int) string { return fmt.Sprintf("beside-%d", i) }

// take names one of the cell's own pods that was not touched yet.
func (b *besideLoad) take(c Cell) string {
	name := besidePod(b.next % c.Scenario().Extra.Pods)
	b.next++
	return name
}

// repeat does something to as many objects as an event asks for.
func repeat(e spec.Event, do func() error) (Done, error) {
	for i := range e.Number() {
		if err := do(); err != nil {
			return Done{Keys: int64(i)}, err
		}
	}
	return Done{Keys: int64(e.Number())}, nil
}

func (b *besideLoad) create(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	return repeat(e, func() error {
		b.added++
		_, err := c.API().CreatePod(ctx, Namespace(c, 0), fmt.Sprintf("added-%d", b.added), c.Run(), int(e.Bytes))
		return err
	})
}

func (b *besideLoad) delete(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	return repeat(e, func() error { return c.API().DeletePod(ctx, Namespace(c, 0), b.take(c)) })
}

// recreated is a name that got a new object.
type recreated struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

func (b *besideLoad) recreate(ctx context.Context, c Cell, e spec.Event) (Done, error) {
	var all []recreated
	done, err := repeat(e, func() error {
		r := recreated{Namespace: Namespace(c, 0), Name: b.take(c)}
		if err := c.API().DeletePod(ctx, r.Namespace, r.Name); err != nil {
			return err
		}
		var err error
		r.UID, err = c.API().CreatePod(ctx, r.Namespace, r.Name, c.Run(), 0)
		all = append(all, r)
		return err
	})
	done.Seen = all
	return done, err
}

func (b *besideLoad) deleteLast(ctx context.Context, c Cell, _ spec.Event) (Done, error) {
	last := len(b.namespaces) - 1
	ns := b.namespaces[last]
	if err := owned.DeleteNamespace(ctx, c.API().REST, ns, c.Run()); err != nil {
		return Done{}, fmt.Errorf("delete the namespace %s: %w", ns, err)
	}
	b.namespaces = b.namespaces[:last]
	return Done{Keys: int64(c.Scenario().Extra.Pods)}, nil
}

// prepare makes the namespaces and pods.
func (b *besideLoad) prepare(ctx context.Context, c Cell) error {
	run, extra := c.Run(), c.Scenario().Extra
	for n := range extra.Namespaces {
		ns := Namespace(c, n)
		body := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
			"name": ns, "labels": map[string]string{party.RunLabel: run, "pod-security.kubernetes.io/enforce": "privileged"}}}
		if _, err := c.API().Send(ctx, http.MethodPost, "/api/v1/namespaces", body); err != nil {
			return err
		}
		b.namespaces = append(b.namespaces, ns)
		for i := range extra.Pods {
			if _, err := c.API().CreatePod(ctx, ns, besidePod(i), run, 0); err != nil {
				return err
			}
		}
	}
	if extra.Canaries {
		return plant(ctx, c)
	}
	return nil
}

// CanaryMasks are the fields that hold canaries.
var CanaryMasks = []check.Mask{
	{Kind: "Secret", Path: []string{"data"}},
	{Kind: "ConfigMap", Path: []string{"data"}},
	{Kind: "Pod", Path: []string{"metadata", "annotations", "watchbench.dev-token"}},
	{Kind: "Pod", Path: []string{"spec", "hostAliases"}},
	{Kind: "Pod", Path: []string{"metadata", "labels", CanaryLabel}},
}

// CanaryLabel is a label that is masked: a selector must not find out its value.
const CanaryLabel = "canary"

// CanaryWord is the secret in one kind of field.
func CanaryWord(c Cell, where string) string {
	return fmt.Sprintf("canary-%s-%s-%d", where, c.Run(), c.Seed()*2654435761%1e9)
}

// plant puts canaries into masked fields of objects that repeat themselves in kubectl's annotation.
func plant(ctx context.Context, c Cell) error {
	word := func(where string) string {
		w := CanaryWord(c, where)
		c.AddCanary(w)
		return w
	}
	run, ns := c.Run(), Namespace(c, 0)
	meta := func(name string) map[string]any {
		return map[string]any{"name": name, "labels": map[string]string{party.RunLabel: run}}
	}
	pod := party.PodBody("with-canary", run, 0)
	pm := pod["metadata"].(map[string]any)
	pm["labels"].(map[string]string)[CanaryLabel] = word("label")
	pm["annotations"] = map[string]string{"watchbench.dev-token": word("annotation")}
	pod["spec"].(map[string]any)["hostAliases"] = []any{map[string]any{"ip": "192.0.2.1",
		"hostnames": []string{word("spec")}}}
	for _, o := range []struct {
		path string
		body map[string]any
	}{
		{"secrets", map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": meta("with-canary"),
			"stringData": map[string]string{"password": word("secret")}}},
		{"configmaps", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("with-canary"),
			"data": map[string]string{"password": word("configmap")}}},
		{"pods", pod},
	} {
		if err := asApplied(o.body); err != nil {
			return err
		}
		if _, err := c.API().Send(ctx, http.MethodPost, "/api/v1/namespaces/"+ns+"/"+o.path, o.body); err != nil {
			return err
		}
	}
	return nil
}

// asApplied adds the annotation of kubectl apply.
func asApplied(body map[string]any) error {
	applied, err := json.Marshal(body)
	if err != nil {
		return err
	}
	meta := body["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]string)
	all := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(applied)}
	maps.Copy(all, annotations)
	meta["annotations"] = all
	return nil
}

// remove deletes the namespaces.
func (b *besideLoad) remove(ctx context.Context, c Cell) error {
	var errs []error
	for len(b.namespaces) > 0 {
		if _, err := b.deleteLast(ctx, c, spec.Event{}); err != nil {
			errs = append(errs, err)
			b.namespaces = b.namespaces[:len(b.namespaces)-1]
		}
	}
	return errors.Join(errs...)
}

// rules: a re-created name ends with the uid of its last object, and tampered rows are repaired.
func (*besideLoad) rules(c *matrix.Case) ([]matrix.Rule, error) {
	all, err := history.Deeds[[]recreated](c.Deeds, recreate)
	if err != nil {
		return nil, err
	}
	rules := repairRules(c)
	if len(all) == 0 {
		return rules, nil
	}
	want := map[recreated]string{} // by name
	for _, some := range all {
		for _, r := range some {
			want[recreated{Namespace: r.Namespace, Name: r.Name}] = r.UID
		}
	}
	have := map[recreated]string{}
	return append(rules, matrix.Rule{
		State: func(s *history.StateRecord) {
			id := recreated{Namespace: s.Namespace, Name: s.Name}
			if _, ours := want[id]; ours && s.Side == history.SideStorage && s.Kind == podKind {
				have[id] = s.UID
			}
		},
		Facts: func(matrix.Seen) []result.Fact {
			wrong, first := int64(0), ""
			for id, uid := range want {
				if have[id] != uid {
					wrong++
					first = max(first, fmt.Sprintf("%s/%s ends with uid %q, its last object is %s", id.Namespace, id.Name, have[id],
						uid))
				}
			}
			return []result.Fact{matrix.None("O", "re-created names with a wrong uid", wrong, first)}
		},
	}), nil
}
