// Package kubeapi is what the parts that speak with an API server, or as one, share: kubeconfigs, and the errors and
// frames that an API server sends.
package kubeapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// AppendEvent appends a frame of a watch: kind is ADDED, ERROR and so on, object is
// JSON.
func AppendEvent(b []byte, kind string, object []byte) []byte {
	b = append(append(append(b, `{"type":"`...), kind...), `","object":`...)
	return append(append(b, object...), "}\n"...)
}
