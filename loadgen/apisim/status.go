package apisim

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxWait is how long an apiserver waits for a version that is still to come.
// retryAfterTooLarge is what it then asks for, in seconds.
const (
	maxWait            = 3 // seconds
	retryAfterTooLarge = 1
)

func badRequest(format string, args ...any) *apierrors.StatusError {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

func invalidOptions(errs field.ErrorList) *apierrors.StatusError {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
}

func tooLarge(wanted, current uint64) *apierrors.StatusError {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), retryAfterTooLarge)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// expiredToken carries a token that continues a list whose version has expired.
func expiredToken(start string) *apierrors.StatusError {
	err := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. " +
		"The continue token of this answer goes on with the latest version instead.")
	err.ErrStatus.Continue = encodeToken(latest, start, 0)
	return err
}
