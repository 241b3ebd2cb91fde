package faultlist

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Info describes a fault in force.
type Info struct {
	ID    int    `json:"id"`
	Spec  string `json:"spec"`
	Name  string `json:"name"`
	Fired int    `json:"fired"`
	// Keys is the number of distinct things it hit, counted up to MaxKeys.
	Keys int `json:"keys"`
}

// Ops are the operations on a list of faults.
type Ops struct {
	List   func() []Info
	Add    func(text string) error // puts faults in force
	Remove func(id int) error      // ends a fault, or all when id is 0
}

// maxText bounds faults sent as a body.
const maxText = 64 << 10

// Handler serves a list: GET lists the faults, POST adds those of the body, and DELETE ends all, or with ?id=N one.
// Each answers with the list of Info then in force. It has no authentication: serve it on loopback.
func Handler(o Ops) http.Handler {
	mux := http.NewServeMux()
	for method, change := range map[string]func(*http.Request) error{
		http.MethodGet:    func(*http.Request) error { return nil },
		http.MethodPost:   o.add,
		http.MethodDelete: o.remove,
	} {
		mux.HandleFunc(method+" /", func(w http.ResponseWriter, req *http.Request) {
			req.Body = http.MaxBytesReader(w, req.Body, maxText)
			if err := change(req); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(o.List())
		})
	}
	return mux
}

func (o Ops) add(req *http.Request) error {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("reading the faults: %w", err)
	}
	return o.Add(strings.TrimSpace(string(text)))
}

func (o Ops) remove(req *http.Request) error {
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
