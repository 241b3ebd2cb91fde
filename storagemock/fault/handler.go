package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxText bounds a specification sent as a body.
const maxText = 64 << 10

// ErrNone is returned when faults are to be added and there is none.
var ErrNone = errors.New("no fault given; want for example 503:1%,stall(5s):0.1%")

// Handler serves a set's faults: GET tells them, POST adds those of the body, as
// text, and DELETE ends all, or with ?id=N one. Each answers with the faults then
// in force. add puts faults in force.
func Handler(set *Set, add func(text string) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := change(set, add, w, req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(set.List())
	})
}

func change(set *Set, add func(string) error, w http.ResponseWriter, req *http.Request) error {
	switch req.Method {
	case http.MethodGet:
		return nil
	case http.MethodPost:
		b, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxText))
		if err != nil {
			return fmt.Errorf("reading the faults: %w", err)
		}
		return add(strings.TrimSpace(string(b)))
	case http.MethodDelete:
		text := req.URL.Query().Get("id")
		if text == "" {
			return set.Remove(0)
		}
		id, err := strconv.Atoi(text)
		if err != nil || id < 1 {
			return fmt.Errorf("id=%s: want the number of a fault in force", text)
		}
		return set.Remove(id)
	}
	return fmt.Errorf("method %s: want GET, POST or DELETE", req.Method)
}
