package faultlist

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

var errMethod = errors.New("want GET, POST or DELETE")

// Info describes a fault in force.
type Info struct {
	ID    int    `json:"id"`
	Spec  string `json:"spec"`
	Name  string `json:"name"`
	Fired int    `json:"fired"`
	// Keys is the number of distinct things it hit, counted up to MaxKeys.
	Keys int `json:"keys"`
}

// Ops is what can be done with a list of faults.
type Ops struct {
	List   func() []Info
	Add    func(text string) error // puts faults in force
	Remove func(id int) error      // ends a fault, or all when id is 0
}

// maxText bounds faults sent as a body.
const maxText = 64 << 10

// Handler serves a list: GET lists the faults, POST adds those of the body, and DELETE
// ends all, or with ?id=N one. Each answers with the list of Info then in force. It has
// no authentication: serve it on loopback.
func Handler(o Ops) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := o.change(w, req); err != nil {
			status := http.StatusBadRequest
			if errors.Is(err, errMethod) {
				status = http.StatusMethodNotAllowed
			}
			http.Error(w, err.Error(), status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(o.List())
	})
}

func (o Ops) change(w http.ResponseWriter, req *http.Request) error {
	switch req.Method {
	case http.MethodGet:
		return nil
	case http.MethodPost:
		b, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxText))
		if err != nil {
			return fmt.Errorf("reading the faults: %w", err)
		}
		return o.Add(strings.TrimSpace(string(b)))
	case http.MethodDelete:
		text := req.URL.Query().Get("id")
		if text == "" {
			return o.Remove(0)
		}
		id, err := strconv.Atoi(text)
		if err != nil || id < 1 {
			return fmt.Errorf("id=%s: want the number of a fault in force", text)
		}
		return o.Remove(id)
	}
	return fmt.Errorf("method %s: %w", req.Method, errMethod)
}
