package kubeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StatusType is the content type of a Status.
const StatusType = "application/json"

// StatusJSON is the Status of an error on one line, without the line's end. An error that
// has no Status becomes an internal one.
func StatusJSON(err error) (text []byte, status metav1.Status) {
	var se *apierrors.StatusError
	if !errors.As(err, &se) {
		se = apierrors.NewInternalError(err)
	}
	status = se.ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	text, merr := json.Marshal(&status)
	if merr != nil { // a Status always has a form
		panic(merr)
	}
	return text, status
}

// WriteStatus answers a request with the Status of an error.
func WriteStatus(w http.ResponseWriter, err error) {
	text, st := StatusJSON(err)
	w.Header().Set("Content-Type", StatusType)
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(st.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(st.Code))
	_, _ = w.Write(append(text, '\n'))
}

// AppendEvent appends a frame of a watch: kind is ADDED, ERROR and so on, object is JSON.
func AppendEvent(b []byte, kind string, object []byte) []byte {
	b = append(append(append(b, `{"type":"`...), kind...), `","object":`...)
	return append(append(b, object...), "}\n"...)
}

// WriteJSON answers with a value.
func WriteJSON(w http.ResponseWriter, contentType string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", contentType)
	_, err = w.Write(append(text, '\n'))
	return err
}

// retryAfter is how long refused clients should wait, in seconds.
const retryAfter = 1

// Status is an error with a Status of its own.
func Status(code int32, reason metav1.StatusReason, format string, args ...any) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf(format, args...),
		Details: &metav1.StatusDetails{},
	}}
}

// BadRequest refuses what cannot be read.
func BadRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// NoResource is an apiserver's answer to an unknown path.
func NoResource() error {
	return Status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// NotAcceptable refuses an Accept header.
func NotAcceptable() error {
	const text = "only the following media types are accepted: " + StatusType
	return Status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, text)
}

// MethodNotAllowed refuses a write of a resource.
func MethodNotAllowed(r *http.Request, group, resource, why string) error {
	of := schema.GroupResource{Group: group, Resource: resource}
	err := apierrors.NewMethodNotSupported(of, strings.ToLower(r.Method))
	err.ErrStatus.Message += ": " + why
	return err
}

// Unavailable asks the client to come back.
func Unavailable(format string, args ...any) error {
	err := Status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, format, args...)
	err.ErrStatus.Details.RetryAfterSeconds = retryAfter
	return err
}

// TooMany refuses a request beyond a limit.
func TooMany(text string) error { return apierrors.NewTooManyRequests(text, retryAfter) }

// TooLarge says that a version is still to come.
func TooLarge(wanted, current uint64) error {
	text := fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current)
	err := apierrors.NewTimeoutError(text, retryAfter)
	cause := metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}
	err.ErrStatus.Details.Causes = []metav1.StatusCause{cause}
	return err
}

// TooOld ends a watch that cannot go on from a version.
func TooOld(version, current uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, current))
}

// Expired refuses a list of a state that is forgotten. To the token of a page it gives one that goes on with the
// latest state instead.
func Expired(t Token) error {
	if t.Version <= 0 {
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	err := apierrors.NewResourceExpired(
		"The provided continue parameter is too old to display a consistent list result. " +
			"You must start a new list without the continue parameter, or use the continue token in this response to go on " +
			"with the latest version.")
	t.Version, t.Left = latest, -1
	err.ErrStatus.Continue = t.String()
	return err
}
