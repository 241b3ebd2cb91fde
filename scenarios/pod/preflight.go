package pod

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
)

// Preflight tries whether the cluster takes these parties, all at once: the user's rights, the ServiceAccounts, and for
// each party Pods with its images and limits, whose agents start nothing. What would fix it is one error of bad input.
// The Pods are gone when it returns; those of a process that was killed end by themselves.
func Preflight(ctx context.Context, cfg *rest.Config, namespace string, parties ...Spec) (err error) {
	at, err := newPlace(cfg, namespace)
	if err != nil {
		return err
	}
	defer at.close()
	if err := at.mayRun(ctx, parties); err != nil {
		return err
	}
	try, within := errgroup.WithContext(ctx)
	defer func() {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
		defer cancel()
		var remove errgroup.Group
		for _, s := range parties {
			remove.Go(func() error { return at.remove(removing, trial(s).Job) })
		}
		err = errors.Join(err, remove.Wait())
	}()
	for _, s := range parties {
		s := trial(s)
		try.Go(func() error {
			job, err := at.ensure(within, s.job(), "")
			for s.Index = 0; err == nil && s.Index < s.Of; s.Index++ {
				_, err = at.await(within, &s, job)
			}
			return err
		})
	}
	return try.Wait()
}

func trial(s Spec) Spec {
	s.Job += "-preflight"
	return s
}

// mayRun asks for the rights of whom the kubeconfig names, and for the parties' accounts.
func (p *place) mayRun(ctx context.Context, parties []Spec) error {
	var missing []string
	for _, rule := range runnerRules {
		resource, sub, _ := strings.Cut(rule.Resources[0], "/")
		for _, verb := range rule.Verbs {
			review, err := p.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
				&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: p.namespace, Verb: verb,
						Group: rule.APIGroups[0], Resource: resource, Subresource: sub}}}, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("ask for this user's rights: %w", err)
			}
			if !review.Status.Allowed {
				missing = append(missing, verb+" "+rule.Resources[0])
			}
		}
	}
	if len(missing) > 0 {
		return badinput.New(p.rbacRemedy(), "this user lacks rights in the namespace %s: %s", p.namespace,
			strings.Join(missing, ", "))
	}
	for _, s := range parties {
		if s.ServiceAccount == "" {
			continue
		}
		_, err := p.client.CoreV1().ServiceAccounts(p.namespace).Get(ctx, s.ServiceAccount, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return badinput.New(p.rbacRemedy(), "the cluster has no ServiceAccount %s in the namespace %s", s.ServiceAccount,
				p.namespace)
		}
		if err != nil {
			return fmt.Errorf("find the ServiceAccount %s: %w", s.ServiceAccount, err)
		}
	}
	return nil
}
