package churn

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/shape"
)

const (
	kindDefinition = "CustomResourceDefinition"
	definitionName = "widgets." + shape.WidgetGroup
	definitionPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgetsPath    = "/apis/" + shape.WidgetGroup + "/v1/widgets"
	// servedLimit bounds the time until an apiserver serves a new definition, which takes
	// a second or two.
	servedLimit = time.Minute
	servedPoll  = 100 * time.Millisecond
)

// definition is the CustomResourceDefinition of the profiles' custom resource.
func definition(labels map[string]string) *unstructured.Unstructured {
	type m = map[string]any
	open := m{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &unstructured.Unstructured{Object: m{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": kindDefinition,
		"metadata": m{"name": definitionName, "labels": labels},
		"spec": m{
			"group": shape.WidgetGroup, "scope": "Namespaced",
			"names": m{"plural": "widgets", "singular": "widget", "kind": shape.KindWidget, "listKind": "WidgetList"},
			"versions": []m{{
				"name": "v1", "served": true, "storage": true,
				"schema": m{"openAPIV3Schema": m{"type": "object", "properties": m{"spec": open, "status": open}}},
			}},
		},
	}}
}

// established is a definition as an apiserver shows it that serves its objects.
func established(d *unstructured.Unstructured) *unstructured.Unstructured {
	type m = map[string]any
	d.Object["status"] = m{
		"acceptedNames": d.Object["spec"].(m)["names"], "storedVersions": []string{"v1"},
		"conditions": []m{
			{"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
			{"type": "Established", "status": "True", "reason": "InitialNamesAccepted",
				"message": "the initial names have been accepted"},
		},
	}
	return d
}

// customResource is the profiles' custom resource of a cluster: the run defines it, waits until it is
// served, and takes the definition away.
type customResource struct {
	*journal
	*wire
	created *created
}

// define makes the definition of the custom resource, if the profile has any, and returns
// once its objects are served. One that another run made is used and left to that run.
func (r *customResource) define(ctx context.Context) error {
	if !r.cfg.HasWidgets() {
		return nil
	}
	rec := r.free(kindDefinition, "", definitionName, oplog.TypeCreate)
	d := definition(runLabels(&r.cfg))
	d.SetAnnotations(Marks(rec.ID, rec.Intended))
	body, err := d.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encoding the definition: %w", err)
	}
	client := r.client.controlSet.CoreV1().RESTClient()
	a := func() answer {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		return do(ctx, client.Post().AbsPath(definitionPath).SetHeader("Content-Type", "application/json").Body(body), true)
	}()
	r.record(rec, a)
	switch {
	case a.err == nil:
		r.created.keep(nil, func(c *created) { c.definition = true })
	case !apierrors.IsAlreadyExists(a.err):
		r.created.keep(a.err, func(c *created) { c.definition = true })
		return fmt.Errorf("creating %s %s: %w", kindDefinition, definitionName, a.err)
	}
	return r.awaitServed(ctx)
}

func (r *customResource) awaitServed(ctx context.Context) error {
	client := r.client.controlSet.CoreV1().RESTClient()
	err := r.poll(ctx, func(ctx context.Context) error {
		_, err := client.Get().AbsPath(widgetsPath).Param("limit", "1").MaxRetries(0).DoRaw(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the apiserver to serve %s: %w", definitionName, err)
	}
	return nil
}

// poll repeats a question until it has no error, at most for servedLimit, and returns the
// last one.
func (r *customResource) poll(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil || !r.clock.sleepUntil(ctx, r.clock.now()+int64(servedPoll)) {
			return err
		}
	}
}

// undefine deletes the definition, if this run made it and nobody took it over, and returns
// once it is gone: a run that begins before would use one that is about to go.
func (r *customResource) undefine(ctx context.Context) error {
	r.created.mu.Lock()
	made := r.created.definition
	r.created.mu.Unlock()
	if !made {
		return nil
	}
	client := r.client.controlSet.CoreV1().RESTClient()
	var found answer
	var m metav1.ObjectMeta
	body, err := client.Get().AbsPath(definitionPath, definitionName).SetHeader("Accept",
		metadataAccepted).MaxRetries(0).DoRaw(ctx)
	if err == nil {
		m, _, err = readMetadata(body)
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("%s %s: %w", kindDefinition, definitionName, err)
	case m.Labels[RunLabel] == r.cfg.RunID:
		rec := r.free(kindDefinition, "", definitionName, oplog.TypeDelete)
		found = do(ctx, client.Delete().AbsPath(definitionPath, definitionName).Body(deleteWithin(0, m.UID)), false)
		others := apierrors.IsNotFound(found.err) || apierrors.IsConflict(found.err)
		if others {
			found = answer{status: http.StatusOK}
		}
		found.uid = m.UID
		found.version, _ = parseVersion(m.ResourceVersion)
		if r.record(rec, found); found.err != nil {
			return fmt.Errorf("%s %s: %w", kindDefinition, definitionName, found.err)
		}
		if !others {
			if err := r.awaitUndefined(ctx); err != nil {
				return err
			}
		}
	}
	r.created.keep(nil, func(c *created) { c.definition = false })
	return nil
}

// awaitUndefined waits for the apiserver to finish with the deletion, which it does by itself.
func (r *customResource) awaitUndefined(ctx context.Context) error {
	client := r.client.controlSet.CoreV1().RESTClient()
	return r.poll(ctx, func(ctx context.Context) error {
		_, err := client.Get().AbsPath(definitionPath, definitionName).SetHeader("Accept",
			metadataAccepted).MaxRetries(0).DoRaw(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("waiting for the end of %s %s: it is still there", kindDefinition, definitionName)
	})
}
