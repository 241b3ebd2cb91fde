package churn

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

type answer struct {
	status  int // HTTP; 0 when none came
	uid     types.UID
	version uint64 // of the state that the write produced; for a delete of the deletion
	gone    bool   // the object is no more: it had no time to end in
	err     error
}

// deleteWithin asks for a deletion of this uid and no other, after so many seconds of grace at the latest.
func deleteWithin(grace int64, uid types.UID) *metav1.DeleteOptions {
	opts := &metav1.DeleteOptions{GracePeriodSeconds: &grace}
	if uid != "" {
		opts.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return opts
}

// do sends a request once: client-go's own retries would hide answers. object says that the answer holds one.
func do(ctx context.Context, r *rest.Request, object bool) answer {
	var a answer
	if object {
		r = r.SetHeader("Accept", metadataAccepted)
	}
	result := r.MaxRetries(0).Do(ctx).StatusCode(&a.status)
	if a.err = result.Error(); a.err != nil {
		var status apierrors.APIStatus
		if a.status == 0 && errors.As(a.err, &status) {
			a.status = int(status.Status().Code)
		}
		return a
	}
	if !object {
		return a
	}
	body, err := result.Raw()
	if err != nil {
		a.err = fmt.Errorf("reading the apiserver's answer: %w", err)
		return a
	}
	m, ok, err := readMetadata(body)
	if a.err = err; err == nil && ok {
		a.uid = m.UID
		a.gone = m.DeletionGracePeriodSeconds != nil && *m.DeletionGracePeriodSeconds == 0
		a.version, a.err = parseVersion(m.ResourceVersion)
	}
	return a
}

func parseVersion(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the apiserver's answer has resourceVersion %q, not a number", s)
	}
	return v, nil
}
