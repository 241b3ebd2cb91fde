// Package apistatus writes errors as an apiserver does: as a Status.
package apistatus

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContentType of a Status.
const ContentType = "application/json"

// JSON is the Status of an error on one line, without the line's end. An error that
// has no Status becomes an internal one.
func JSON(err error) (text []byte, status metav1.Status) {
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

// Write answers a request with the Status of an error.
func Write(w http.ResponseWriter, err error) {
	text, st := JSON(err)
	w.Header().Set("Content-Type", ContentType)
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(st.Details.RetryAfterSeconds)))
	}
	w.WriteHeader(int(st.Code))
	_, _ = w.Write(append(text, '\n'))
}

// AppendEvent appends a frame of a watch: kind is ADDED, ERROR and so on, object is
// JSON.
func AppendEvent(b []byte, kind string, object []byte) []byte {
	b = append(append(append(b, `{"type":"`...), kind...), `","object":`...)
	return append(append(b, object...), "}\n"...)
}
