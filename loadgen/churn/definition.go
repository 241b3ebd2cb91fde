package churn

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const (
	kindDefinition = "CustomResourceDefinition"
	// servedLimit bounds the time until an apiserver serves a new definition, or is done with an old one.
	servedLimit = time.Minute
	servedPoll  = 100 * time.Millisecond
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

//go:embed definition.yaml
var definitionText []byte

// definition is the CustomResourceDefinition of the profiles' custom resource.
func definition(labels map[string]string) *unstructured.Unstructured {
	d := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(definitionText, &d.Object); err != nil {
		panic("churn: " + err.Error()) // it is the program's own
	}
	d.SetLabels(labels)
	return d
}

// define makes the definition of the custom resource, if needed, and returns once it is served. Another's is used.
func (e *Engine) define(ctx context.Context) error {
	if !e.cfg.HasWidgets() {
		return nil
	}
	d := definition(runLabels(&e.cfg))
	if e.plan.Shard().First() {
		if err := e.createOnce(ctx, definitions, kindDefinition, d); err != nil && !errors.Is(err, ErrInUse) {
			return err
		}
	}
	widgets := e.client.meta.Resource(resource("Widget"))
	return e.poll(ctx, servedLimit, "the apiserver to serve "+d.GetName(), func(ctx context.Context) error {
		_, err := widgets.List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}

func (e *Engine) poll(ctx context.Context, limit time.Duration, what string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if !e.clock.sleepUntil(ctx, e.clock.now()+int64(servedPoll)) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}
